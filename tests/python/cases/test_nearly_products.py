"""The cases of tilec_cases.nearly_products on the CPU executor."""

from tilec_cases.nearly_products import *  # noqa: F403
