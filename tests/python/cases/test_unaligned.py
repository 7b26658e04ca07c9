"""The cases of tilec_cases.unaligned on the CPU executor."""

from tilec_cases.unaligned import *  # noqa: F403
