"""What kernel authors write: values, dtypes and functions; one call emits one op."""
