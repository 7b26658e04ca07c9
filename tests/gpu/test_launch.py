"""The cases of tilec_cases.launch on a GPU."""

import tilec_cases.gpu  # noqa: F401
from tilec_cases.launch import *  # noqa: F403
