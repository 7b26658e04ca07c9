"""The kernel library on the CPU executor."""

from tilec_cases.library import *  # noqa: F403
