"""The cases of tilec_cases.expressions on a GPU."""

import tilec_cases.gpu  # noqa: F401
from tilec_cases.expressions import *  # noqa: F403
