"""The cases of tilec_cases.bounds on a GPU."""

import tilec_cases.gpu  # noqa: F401
from tilec_cases.bounds import *  # noqa: F403
