"""Kernels compiled when they are first launched, and the cache that spares the compilation."""
