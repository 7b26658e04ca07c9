"""What kernel authors write: values, dtypes and functions; one call emits one op."""

# First, because the modules behind the values' methods import `values` in turn.
from tilec.lang import values

__all__ = ["values"]
