"""The cases of tilec_cases.nearly_products on a GPU."""

import tilec_cases.gpu  # noqa: F401
from tilec_cases.nearly_products import *  # noqa: F403
