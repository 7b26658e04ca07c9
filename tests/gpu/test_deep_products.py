"""The cases of tilec_cases.deep_products on a GPU."""

import tilec_cases.gpu  # noqa: F401
from tilec_cases.deep_products import *  # noqa: F403
