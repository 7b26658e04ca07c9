"""A first kernel: softmax, on NumPy arrays here; torch, CuPy or JAX arrays run on their GPU.

python examples/softmax.py
tilec compile examples/softmax.py --target sm_90a
"""

import numpy as np

import tilec as tl


@tl.kernel
def softmax(y, x):
    row = x.load_like(y).to(tl.float32)  # the tile of x at y's index, in y's tile shape
    e = tl.exp(row - tl.max(row, axis=-1, keepdims=True))
    y.store((e / tl.sum(e, axis=-1, keepdims=True)).to(y.dtype))


__tilec_examples__ = {"softmax": "f32[8,1185]:partition(1,1185) f32[8,1185]"}
"""What `tilec compile` and `tilec inspect` compile for."""

if __name__ == "__main__":
    x = np.random.default_rng().standard_normal((8, 1185), dtype=np.float32)
    y = np.empty_like(x)
    softmax(tl.partition(y, (1, y.shape[1])), x)  # one row a program: eight programs
    print("rows sum to", y.sum(axis=1))
