"""A `tile` module to machine code; needs no GPU."""
