"""The cases of tilec_cases.attention on a GPU."""

import tilec_cases.gpu  # noqa: F401
from tilec_cases.attention import *  # noqa: F403
