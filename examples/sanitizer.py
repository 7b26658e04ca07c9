"""The sanitizer names the race in a kernel that writes around its partition.

TILEC_SANITIZE=1 python examples/sanitizer.py
"""

import numpy as np

import tilec as tl


@tl.kernel
def histogram(counts, x):
    """Wrong on purpose: programs add to the same counters without an atomic."""
    i = tl.program_id(0)
    bucket = x.gather((tl.full((1,), i, tl.int32),))
    count = counts.gather((bucket,))
    counts.store((bucket.item(),), count + 1)


__tilec_examples__ = {"histogram": "i32[4]:unchecked i32[4] grid=(4,)"}

if __name__ == "__main__":
    x = np.array([0, 1, 1, 2], np.int32)
    counts = np.zeros(4, np.int32)
    try:
        histogram(tl.unchecked(counts), x, grid=(4,))
    except tl.TilecError as error:
        print(error.render())
    else:
        print("counts", counts, "(run with TILEC_SANITIZE=1 to see the race)")
