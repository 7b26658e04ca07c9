"""The cases of tilec_cases.grouped on the CPU executor."""

from tilec_cases.grouped import *  # noqa: F403
