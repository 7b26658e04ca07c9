"""The cases of tilec_cases.automatic on a GPU."""

import tilec_cases.gpu  # noqa: F401
from tilec_cases.automatic import *  # noqa: F403
