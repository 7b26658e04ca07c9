"""The cases of tilec_cases.exchanged_products on the CPU executor."""

from tilec_cases.exchanged_products import *  # noqa: F403
