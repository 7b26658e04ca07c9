"""The cases of tilec_cases.numerics on the CPU executor."""

from tilec_cases.numerics import *  # noqa: F403
