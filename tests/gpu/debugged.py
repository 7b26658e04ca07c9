"""Kernels that print or fail an assertion: test_debugging runs each in a process of its own.

    python debugged.py KERNEL (cuda | cpu)

A failed assertion ends the CUDA context, and what kernels print goes past Python's streams.
"""

import sys

import numpy as np

import tilec as tl


@tl.kernel
def scalars(y, x, n, flag):
    i, j = y.index
    tl.print("100% of {}: {}, {} and {}", n, flag, tl.max(x.load_like(y)), i * 10 + j)
    tl.print(n, not flag, tl.sum(y.load()))
    for k in range(n):
        if k > 0:
            tl.print("turn", k)


@tl.kernel
def tiles(y, x):
    tile = x.load_like(y)
    half = tile.to(tl.float16)
    tl.print("{} {} {} {}", tile, half / 3, tile > 2, tile.to(tl.bfloat16) / 3)
    tl.print("{} of {}", (tile * 60).to(tl.uint8), tl.sum(tile, axis=1))


def check(tile):
    tl.assert_(tile > 0, "x must be positive")  # the test looks for this line


@tl.kernel
def assertion(y, x):
    check(x.load_like(y))
    y.store(x.load_like(y))


def launch(name: str, array: np.ndarray, place: str) -> None:
    y, x = np.zeros_like(array), array
    if place == "cuda":
        import torch

        y, x = torch.from_numpy(y).cuda(), torch.from_numpy(x).cuda()
    if name == "scalars":
        scalars(tl.partition(y, (2, 8)), x, 3, True)
    elif name == "tiles":
        tiles(tl.partition(y, (2, 4)), x)
    else:
        assertion(tl.partition(y, (2, 8)), x)
    if place == "cuda":
        torch.cuda.synchronize()


def main() -> None:
    name, place = sys.argv[1:]
    x = np.arange(64, dtype=np.float32).reshape(4, 16) + 1
    launch(name, x[:2, :8] if name == "tiles" else x, place)
    if name == "assertion":
        print("the first launch is done", flush=True)
        x[2, 9] = -1  # in program (1, 1) of (2, 2)
        launch(name, x, place)


if __name__ == "__main__":
    main()
