"""The cases of tilec_cases.automatic on the CPU executor."""

from tilec_cases.automatic import *  # noqa: F403
