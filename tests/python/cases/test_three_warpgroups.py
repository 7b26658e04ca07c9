"""The cases of tilec_cases.three_warpgroups on the CPU executor."""

from tilec_cases.three_warpgroups import *  # noqa: F403
