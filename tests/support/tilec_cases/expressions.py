"""Random programs of elementwise operations, reductions, transposes and reshapes, exactly.

The same list of steps is run by a kernel and by NumPy, tile by tile, over ragged arrays and tiles
of any extents.
"""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tilec as tl

TILE_STEPS = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "invert": lambda a, b: ~a + b,
    "negate": lambda a, b: -a - b,
    "maximum": lambda a, b: tl.maximum(a, b),
    "minimum": lambda a, b: tl.minimum(a, b),
    "select": lambda a, b: tl.where(a > b, a, b - a),
    "shift_left": lambda a, b: a << (b & 7),
    "shift_right": lambda a, b: a >> (b & 15),
    "divide": lambda a, b: a // (b | 1),
    "remainder": lambda a, b: a % (b | 1),
    "row_sum": lambda a, b: a + tl.sum(b, axis=1, keepdims=True).to(a.dtype),
    "column_sum": lambda a, b: a - tl.sum(b, axis=0, keepdims=True).to(a.dtype),
    "row_maximum": lambda a, b: a ^ tl.max(b, axis=1, keepdims=True),
    "column_minimum": lambda a, b: a | tl.min(b, axis=0, keepdims=True),
    "row_argmax": lambda a, b: a + tl.argmax(b, axis=1, keepdims=True).to(a.dtype),
    "column_argmin": lambda a, b: a * tl.argmin(b, axis=0, keepdims=True).to(a.dtype),
    "transpose": lambda a, b: (a.T * 3 + b.T).T,
    "across": lambda a, b: (a.T + tl.sum(b, axis=1).to(a.dtype)).T,
    "flatten": lambda a, b: (a.reshape(-1) - b.reshape(-1)).reshape(a.shape),
    "refold": lambda a, b: (a.reshape(a.shape[1], a.shape[0]).T ^ b).reshape(a.shape),
    "positions": lambda a, b: a + tl.arange(b.shape[1], dtype=a.dtype)[None, :] * 5,
}
NUMPY_STEPS = {
    **TILE_STEPS,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "select": lambda a, b: np.where(a > b, a, b - a),
    "row_sum": lambda a, b: a + b.sum(1, keepdims=True, dtype=a.dtype),
    "column_sum": lambda a, b: a - b.sum(0, keepdims=True, dtype=a.dtype),
    "row_maximum": lambda a, b: a ^ b.max(1, keepdims=True),
    "column_minimum": lambda a, b: a | b.min(0, keepdims=True),
    "row_argmax": lambda a, b: a + b.argmax(1, keepdims=True).astype(a.dtype),
    "column_argmin": lambda a, b: a * b.argmin(0, keepdims=True).astype(a.dtype),
    "across": lambda a, b: (a.T + b.sum(1, dtype=a.dtype)).T,
    "positions": lambda a, b: a + np.arange(b.shape[1], dtype=a.dtype)[None, :] * 5,
}


def interpret(steps, values, program):
    for name, i, j in program:
        values.append(steps[name](values[i % len(values)], values[j % len(values)]))
    return values[-1]


@tl.kernel
def run_program(z, x, y, *, program: tl.Constant):
    z.store(interpret(TILE_STEPS, [x.load_like(z), y.load_like(z)], program))


def by_numpy(x, y, tile, program):
    """Run the program on every tile, zeros standing for what lies outside the arrays."""
    grid = [-(-size // extent) for size, extent in zip(x.shape, tile, strict=True)]
    padded = [(0, n * extent - size) for n, extent, size in zip(grid, tile, x.shape, strict=True)]
    x, y, z = np.pad(x, padded), np.pad(y, padded), np.pad(np.zeros_like(x), padded)
    for i, j in np.ndindex(*grid):
        here = np.s_[i * tile[0] : (i + 1) * tile[0], j * tile[1] : (j + 1) * tile[1]]
        with np.errstate(all="ignore"):
            z[here] = interpret(NUMPY_STEPS, [x[here], y[here]], program)
    return z


def check(place, program, tile, x, y):
    z = place.output(x.shape, x.dtype)
    run_program(tl.partition(z.array, tile), place.array(x), place.array(y), program=program)
    expected = by_numpy(x, y, tile, program)[: x.shape[0], : x.shape[1]]
    found = z.read()
    if x.dtype.kind not in "iu":  # NumPy compares no ml_dtypes; −0 and +0 may differ
        found, expected = found.astype(np.float64), expected.astype(np.float64)
    np.testing.assert_array_equal(found, expected)


def ragged_shape(tile, more):
    return tuple(max(1, extent + extra) for extent, extra in zip(tile, more, strict=True))


steps = st.tuples(st.sampled_from(sorted(TILE_STEPS)), st.integers(0, 9), st.integers(0, 9))
extents = st.one_of(st.integers(1, 40), st.sampled_from([16, 32, 48, 64, 96, 128]))


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    program=st.lists(steps, min_size=1, max_size=6).map(tuple),
    tile=st.tuples(extents, extents),
    ragged=st.tuples(st.integers(-9, 9), st.integers(-9, 9)),
    dtype=st.sampled_from([np.int32, np.int64, np.uint32, np.int16, np.uint8]),
    seed=st.integers(0, 2**32 - 1),
)
def test_random_program_agrees_with_numpy(place, program, tile, ragged, dtype, seed):
    shape = ragged_shape(tile, ragged)
    limits = np.iinfo(dtype)
    rng = np.random.default_rng(seed)
    x, y = (rng.integers(limits.min, limits.max, shape, dtype, endpoint=True) for _ in range(2))
    check(place, program, tile, x, y)


# Sums and differences of small integers: exact in every float type, however they are grouped.
EXACT_IN_FLOATS = ["add", "subtract", "negate", "maximum", "minimum", "select", "transpose"]
EXACT_IN_WIDE_FLOATS = [
    *EXACT_IN_FLOATS, "row_sum", "column_sum", "across", "row_argmax", "flatten", "positions",
]  # fmt: skip


@pytest.mark.parametrize(
    ("dtype", "names"),
    [
        (np.float16, EXACT_IN_FLOATS),
        (ml_dtypes.bfloat16, EXACT_IN_FLOATS),
        (np.float32, EXACT_IN_WIDE_FLOATS),
        (np.float64, EXACT_IN_WIDE_FLOATS),
    ],
)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    choices=st.lists(
        st.tuples(st.integers(0, 99), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=3
    ),
    tile=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    ragged=st.tuples(st.integers(-9, 9), st.integers(-9, 9)),
    seed=st.integers(0, 2**32 - 1),
)
def test_random_float_program_agrees_with_numpy(place, dtype, names, choices, tile, ragged, seed):
    program = tuple((names[choice % len(names)], i, j) for choice, i, j in choices)
    shape = ragged_shape(tile, ragged)
    x, y = np.random.default_rng(seed).integers(-2, 3, (2, *shape)).astype(dtype)
    check(place, program, tile, x, y)
