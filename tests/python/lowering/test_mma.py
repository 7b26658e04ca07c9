"""Lowered matrix products, run thread by thread against NumPy."""

import ml_dtypes
import numpy as np
import pytest
from layouts import mma_acc, mma_lhs, smem, spread, tile

NUMPY = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "i8": np.int8,
    "i32": np.int32,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
}


def random(shape, element, seed):
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(NUMPY[element])


class Product:
    """c + a @ b with both operands through shared memory, or the left one in registers."""

    def __init__(self, run_kernel, m, n, k, element, acc_element):
        self.run_kernel, self.shape = run_kernel, (m, n, k)
        self.element, self.acc_element = element, acc_element
        self.a, self.b = random((m, k), element, 1), random((k, n), element, 2)
        self.c = random((m, n), acc_element, 3)

    def run(self, kind, acc, orders, swizzles=(0, 0), lhs_registers=None, flags=""):
        m, n, k = self.shape
        element, acc_type = self.element, tile((m, n), self.acc_element, acc)
        free = "." * len(acc.warps)
        lhs = tile((m, k), element, spread((m, k), "", "11111", free))
        rhs = tile((k, n), element, spread((k, n), "", "11111", free))
        lhs_shared = smem((m, k), element, orders[0], swizzles[0])
        rhs_shared = smem((k, n), element, orders[1], swizzles[1])
        left = f"""
            %a = tile.load %a0[%c0, %c0] : !v0 -> {lhs}
            %s = tilegpu.local_alloc %a {{tilegpu.shared_offset = 0 : i64}} : {lhs} -> {lhs_shared}
        """
        if lhs_registers is not None:
            lhs_shared = tile((m, k), element, lhs_registers)
            left = f"%s = tile.load %a0[%c0, %c0] : !v0 -> {lhs_shared}"
        y = np.zeros_like(self.c)
        machine = self.run_kernel(
            f"""
            {left}
            %b = tile.load %a1[%c0, %c0] : !v1 -> {rhs}
            %c = tile.load %a2[%c0, %c0] : !v2 -> {acc_type}
            %t = tilegpu.local_alloc %b {{tilegpu.shared_offset = 32768 : i64}}
                : {rhs} -> {rhs_shared}
            tilegpu.barrier
            %d = tilegpu.mma {kind} %s, %t, %c {flags} : {lhs_shared}, {rhs_shared}, {acc_type}
            tile.store %d, %a3[%c0, %c0] : {acc_type}, !v3
            """,
            [self.a, self.b, self.c, y],
            [element, element, self.acc_element, self.acc_element],
            warps=1 << len(acc.warps),
        )
        return y, machine

    def expected(self):
        wide = np.float64 if self.acc_element.startswith("f") else np.int64
        a, b, c = (x.astype(wide) for x in (self.a, self.b, self.c))
        return (a @ b + c).astype(self.c.dtype)


ROWS, COLUMNS = (1, 0), (0, 1)
SYNC_TYPES = [("bf16", "f32"), ("f16", "f32"), ("f16", "f16")]


@pytest.mark.parametrize(("element", "acc_element"), SYNC_TYPES)
@pytest.mark.parametrize("lhs_order", [ROWS, COLUMNS])
@pytest.mark.parametrize("rhs_order", [ROWS, COLUMNS])
def test_mma_sync_from_shared_memory_equals_numpy(
    run_kernel, element, acc_element, lhs_order, rhs_order
):
    product = Product(run_kernel, 64, 64, 64, element, acc_element)
    y, machine = product.run("mma_sync", mma_acc((64, 64), 2, 2), (lhs_order, rhs_order), (3, 3))
    np.testing.assert_array_equal(y, product.expected())
    # A warp computes 32 x 32. A step of 16 along K takes two rows of A, two pairs of columns of B,
    # and 2 x 4 products.
    assert machine.counts["nvvm.ldmatrix"] == 4 * 4
    assert machine.counts["nvvm.mma.sync"] == 4 * 8


SHAPES = [(16, 8, 16, 1, 1), (48, 24, 32, 1, 1), (32, 96, 16, 2, 2)]


@pytest.mark.parametrize(("m", "n", "k", "warps_m", "warps_n"), SHAPES)
def test_mma_sync_of_any_multiple_equals_numpy(run_kernel, m, n, k, warps_m, warps_n):
    product = Product(run_kernel, m, n, k, "bf16", "f32")
    y, _ = product.run("mma_sync", mma_acc((m, n), warps_m, warps_n), (ROWS, ROWS))
    np.testing.assert_array_equal(y, product.expected())


@pytest.mark.parametrize("element", ["bf16", "f16"])
def test_mma_sync_with_left_operand_in_registers_equals_numpy(run_kernel, element):
    product = Product(run_kernel, 64, 32, 64, element, "f32")
    acc = mma_acc((64, 32), 4, 1)
    lhs = mma_lhs(acc, 64, 16)
    y, machine = product.run("mma_sync", acc, (ROWS, ROWS), (3, 2), lhs_registers=lhs)
    np.testing.assert_array_equal(y, product.expected())
    assert machine.counts["nvvm.ldmatrix"] == 4 * 2


OTHER_TYPES = [("i8", "i32", ""), ("f8E4M3FN", "f32", ""), ("f32", "f32", "{allow_tf32}")]


@pytest.mark.parametrize(("element", "acc_element", "flags"), OTHER_TYPES)
def test_mma_sync_of_other_types_reads_k_major_operands(run_kernel, element, acc_element, flags):
    product = Product(run_kernel, 32, 32, 64, element, acc_element)
    y, _ = product.run("mma_sync", mma_acc((32, 32), 2, 1), (ROWS, COLUMNS), (2, 2), flags=flags)
    np.testing.assert_array_equal(y, product.expected())


FMA_LAYOUTS = {
    "vectors": ((32, 64), ("11", "11110", "00")),
    "one_element_a_thread": ((8, 8), ("", "11100", "0")),
    "rows_and_columns": ((32, 32), ("1100", "11100", "0.")),
    "ragged": ((5, 19), ("1", "11110", "00")),
}
FMA_TYPES = [
    *(("f32", "f32"), ("f64", "f64"), ("bf16", "f32")),
    *(("i8", "i32"), ("i32", "i32"), ("f16", "f16")),
]


@pytest.mark.parametrize("case", FMA_LAYOUTS)
@pytest.mark.parametrize(("element", "acc_element"), FMA_TYPES)
@pytest.mark.parametrize(("order", "k"), [(ROWS, 24), (COLUMNS, 7)])
def test_fma_of_any_type_and_shape_equals_numpy(run_kernel, case, element, acc_element, order, k):
    (m, n), bits = FMA_LAYOUTS[case]
    product = Product(run_kernel, m, n, k, element, acc_element)
    y, _ = product.run("fma", spread((m, n), *bits), (order, order))
    np.testing.assert_array_equal(y, product.expected())


def test_fma_reads_unsigned_operands_as_such(run_kernel):
    product = Product(run_kernel, 8, 8, 8, "i8", "i32")
    acc = spread((8, 8), "", "11100", "0")
    y, _ = product.run("fma", acc, (ROWS, ROWS), flags="{lhs_unsigned}")
    left = product.a.view(np.uint8).astype(np.int32)
    np.testing.assert_array_equal(y, left @ product.b.astype(np.int32) + product.c)
