"""The cases of tilec_cases.bounds on the CPU executor."""

from tilec_cases.bounds import *  # noqa: F403
