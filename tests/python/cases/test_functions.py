"""The cases of tilec_cases.functions on the CPU executor."""

from tilec_cases.functions import *  # noqa: F403
