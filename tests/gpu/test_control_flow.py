"""The cases of tilec_cases.control_flow on a GPU."""

import tilec_cases.gpu  # noqa: F401
from tilec_cases.control_flow import *  # noqa: F403
