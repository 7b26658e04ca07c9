"""The cases of tilec_cases.launch on the CPU executor."""

from tilec_cases.launch import *  # noqa: F403
