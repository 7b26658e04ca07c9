"""What kernel authors write: values, dtypes and functions; one call emits one op."""

# First, because the modules behind the values' methods import `values` in turn.
import tilec.lang.values  # noqa: F401
