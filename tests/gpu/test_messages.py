"""The cases of tilec_cases.messages on a GPU."""

import tilec_cases.gpu  # noqa: F401
from tilec_cases.messages import *  # noqa: F403
