"""The cases of tilec_cases.products on a GPU."""

import tilec_cases.gpu  # noqa: F401
from tilec_cases.products import *  # noqa: F403
