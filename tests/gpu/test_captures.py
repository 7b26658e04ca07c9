"""The cases of tilec_cases.captures on a GPU."""

import tilec_cases.gpu  # noqa: F401
from tilec_cases.captures import *  # noqa: F403
