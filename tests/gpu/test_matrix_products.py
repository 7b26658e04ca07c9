"""The cases of tilec_cases.matrix_products on a GPU."""

import tilec_cases.gpu  # noqa: F401
from tilec_cases.matrix_products import *  # noqa: F403
