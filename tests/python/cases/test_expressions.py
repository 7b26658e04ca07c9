"""The cases of tilec_cases.expressions on the CPU executor."""

from tilec_cases.expressions import *  # noqa: F403
