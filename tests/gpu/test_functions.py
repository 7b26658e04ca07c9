"""The cases of tilec_cases.functions on a GPU."""

import tilec_cases.gpu  # noqa: F401
from tilec_cases.functions import *  # noqa: F403
