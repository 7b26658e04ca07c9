"""From a Python function to a module of the `tile` dialect."""
