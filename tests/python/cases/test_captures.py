"""The cases of tilec_cases.captures on the CPU executor."""

from tilec_cases.captures import *  # noqa: F403
