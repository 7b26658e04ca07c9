"""The cases of tilec_cases.unaligned on a GPU."""

import tilec_cases.gpu  # noqa: F401
from tilec_cases.unaligned import *  # noqa: F403
