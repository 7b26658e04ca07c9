"""The cases of tilec_cases.exchanged_products on a GPU."""

import tilec_cases.gpu  # noqa: F401
from tilec_cases.exchanged_products import *  # noqa: F403
