"""mma: results on small integers, and every refusal to the letter."""

import ml_dtypes
import numpy as np
import pytest

import tilec as tl


@pytest.mark.parametrize(
    ("operand", "accumulator"),
    [
        (np.float16, np.float32),
        (np.float16, np.float16),
        (ml_dtypes.bfloat16, np.float32),
        (np.float32, np.float32),
        (np.float64, np.float64),
        (np.int8, np.int32),
        (np.uint8, np.int32),
        (ml_dtypes.float8_e4m3fn, np.float32),
    ],
)
def test_mma_small_integers_exact(tools, operand, accumulator):
    def kernel(c, a, b):
        acc = tl.full((16, 8), 3, c.dtype)
        c.store(tl.mma(a.load((0, 0), (16, 24)), b.load((0, 0), (24, 8)), acc))

    rng = np.random.default_rng(7)
    a = rng.integers(0, 4, (16, 24)).astype(operand)
    b = rng.integers(0, 4, (24, 8)).astype(operand)
    c = np.zeros((16, 8), accumulator)
    tools.run(kernel, tools.part(c, (16, 8)), a, b)
    np.testing.assert_array_equal(c, a.astype(np.int64) @ b.astype(np.int64) + 3)


def test_matmul_operator_accumulates_wide(tools):
    def kernel(c, a, b):
        c.store(a.load((0, 0), (4, 4)) @ b.load((0, 0), (4, 4)))

    a = np.full((4, 4), 200, np.uint8)
    c = np.zeros((4, 4), np.int32)
    tools.run(kernel, tools.part(c, (4, 4)), a, a)
    assert (c == 160000).all()


@pytest.mark.parametrize(
    ("dtype", "flags"),
    [(tl.tfloat32, "{allow_tf32}"), (tl.float32, ":"), (tl.uint8, "{lhs_unsigned, rhs_unsigned}")],
)
def test_mma_flags_follow_dtype(tools, dtype, flags):
    def kernel(y, x):
        a = tl.zeros((8, 8), dtype)
        acc = tl.zeros((8, 8), tl.float32 if dtype.is_float else tl.int32)
        tl.mma(a, a, acc)

    text = tools.text(kernel, tools.view(tl.float32, 1, (8,)), tools.view(tl.float32, 1))
    line = next(line for line in text.splitlines() if "tile.mma" in line)
    assert flags in line.split("%cst")[-1]


@pytest.mark.parametrize(
    ("lhs", "rhs", "acc", "message", "hint"),
    [
        (
            ((64, 32), tl.float16),
            ((64, 32), tl.float16),
            ((64, 64), tl.float32),
            "mma operands disagree on K: lhs is (64, 32), rhs is (64, 32)",
            "transpose the right operand: b.T",
        ),
        (
            ((64, 32), tl.float16),
            ((64, 128), tl.float16),
            ((64, 128), tl.float32),
            "mma operands disagree on K: lhs is (64, 32), rhs is (64, 128)",
            None,
        ),
        (
            ((64, 32), tl.float16),
            ((32, 16), tl.float16),
            ((64, 32), tl.float32),
            "mma accumulator must be (64, 16), found (64, 32)",
            None,
        ),
        (
            ((8, 8), tl.float16),
            ((8, 8), tl.bfloat16),
            ((8, 8), tl.float32),
            "mma operands must have one dtype, found float16 and bfloat16",
            "convert one of them: x.to(tl.float16)",
        ),
        (
            ((8, 8), tl.int32),
            ((8, 8), tl.int32),
            ((8, 8), tl.float32),
            "mma of int32 accumulates in int32, found float32",
            None,
        ),
        (
            ((8, 8), tl.float16),
            ((8, 8), tl.float16),
            ((8, 8), tl.float64),
            "mma of float16 accumulates in float32 or float16, found float64",
            None,
        ),
        (
            ((8,), tl.float16),
            ((8, 8), tl.float16),
            ((8, 8), tl.float32),
            "mma: lhs must be a tile of rank 2, found a tile of float16 (8,)",
            None,
        ),
    ],
)
def test_mma_that_does_not_fit_refused(tools, lhs, rhs, acc, message, hint):
    def kernel(y, x):
        tl.mma(tl.zeros(*lhs), tl.zeros(*rhs), tl.zeros(*acc))

    error = tools.error(kernel, tools.view(tl.float32, 1, (8,)), tools.view(tl.float32, 1))
    assert (error.message, error.hint) == (message, hint)
