"""The cases of tilec_cases.messages on the CPU executor."""

from tilec_cases.messages import *  # noqa: F403
