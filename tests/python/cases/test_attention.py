"""The cases of tilec_cases.attention on the CPU executor."""

from tilec_cases.attention import *  # noqa: F403
