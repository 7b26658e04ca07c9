"""A library of worked kernels, written with the public ``tilec`` alone.

Every module holds a kernel and a plain function that picks the tile shape and launches it, output
first. The arrays decide where it runs: NumPy arrays on the CPU executor, device arrays on their
GPU.
"""

from __future__ import annotations

from tilec.kernels.add import add
from tilec.kernels.layernorm import layernorm
from tilec.kernels.linear import linear
from tilec.kernels.matmul import grouped_matmul, matmul
from tilec.kernels.rmsnorm import rmsnorm
from tilec.kernels.softmax import softmax
from tilec.kernels.sums import column_sum, row_sum
from tilec.kernels.transpose import transpose

__all__ = [
    "add",
    "column_sum",
    "grouped_matmul",
    "layernorm",
    "linear",
    "matmul",
    "rmsnorm",
    "row_sum",
    "softmax",
    "transpose",
]
