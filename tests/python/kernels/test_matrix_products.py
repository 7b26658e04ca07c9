"""The library's matrix products on the CPU executor."""

from tilec_cases.matrix_products import *  # noqa: F403
