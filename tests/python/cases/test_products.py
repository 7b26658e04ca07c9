"""The cases of tilec_cases.products on the CPU executor."""

from tilec_cases.products import *  # noqa: F403
