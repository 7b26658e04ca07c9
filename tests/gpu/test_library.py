"""The cases of tilec_cases.library on a GPU."""

import tilec_cases.gpu  # noqa: F401
from tilec_cases.library import *  # noqa: F403
