"""The cases of tilec_cases.deep_products on the CPU executor."""

from tilec_cases.deep_products import *  # noqa: F403
