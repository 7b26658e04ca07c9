"""The cases of tilec_cases.numerics on a GPU."""

import tilec_cases.gpu  # noqa: F401
from tilec_cases.numerics import *  # noqa: F403
