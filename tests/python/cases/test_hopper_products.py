"""Some cases of tilec_cases.hopper_products on the CPU executor."""

from tilec_cases.hopper_products import (  # noqa: F401
    test_nan_and_infinities_stay_in_their_rows_and_columns,
    test_types_in_all_orders,
)
