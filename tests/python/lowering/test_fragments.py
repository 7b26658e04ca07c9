"""Operands of mma.sync that lie in shared memory either way, run thread by thread against NumPy."""

import ml_dtypes
import numpy as np
import pytest
from banks import wavefronts
from layout_spread import Spread, assert_covers_once
from views import partition, view

from tilec._mlir._mlir_libs._tilec import layouts

NUMPY = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "i8": np.int8,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
}
ACC = {"f64": "f64", "i8": "i32"}
DEPTH_BYTES = 128


def matmul(c, a, b, element, acc, tile, depth, flags):
    """One product a turn, of tiles with `depth` elements of K."""
    m, n = tile
    part = partition(c, acc, tile)
    left, right = view(a, element, "read"), view(b, element, "read")
    x, y, z = (
        f"tensor<{shape}x{kind}>"
        for shape, kind in ((f"{m}x{depth}", element), (f"{depth}x{n}", element), (f"{m}x{n}", acc))
    )
    zero = "0" if acc == "i32" else "0.0"
    return f"""
    tile.kernel @matmul(%c: {part}, %a: {left}, %b: {right})
        attributes {{arg_names = ["c", "a", "b"]}} {{
      %m, %n = tile.index %c : {part} -> index, index
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %steps = tile.num_tiles %a, 1 by {depth} : {left}
      %zero = arith.constant dense<{zero}> : {z}
      %sum = scf.for %k = %c0 to %steps step %c1 iter_args(%acc = %zero) -> ({z}) {{
        %x = tile.load %a[%m, %k] : {left} -> {x}
        %y = tile.load %b[%k, %n] : {right} -> {y}
        %next = tile.mma %x, %y, %acc {flags} : {x}, {y}, {z}
        scf.yield %next : {z}
      }}
      tile.store %sum, %c : {z}, {part}
      tile.return
    }}"""


def random(shape, element, transposed, seed):
    values = np.random.default_rng(seed).integers(-4, 5, shape[::-1] if transposed else shape)
    values = values.astype(NUMPY[element])
    return values.T if transposed else values


def run(compile_and_run, element, tile, transposed, k=None, options="target=sm_89 num-warps=4"):
    depth = DEPTH_BYTES // np.dtype(NUMPY[element]).itemsize
    k = k or 2 * depth
    acc = ACC.get(element, "f32")
    a = random((tile[0], k), element, transposed[0], 1)
    b = random((k, tile[1]), element, transposed[1], 2)
    c = np.full(tile, 77, np.int32 if acc == "i32" else NUMPY[acc])
    source = matmul(c, a, b, element, acc, tile, depth, "{allow_tf32}" if element == "f32" else "")
    machine = compile_and_run(source, [c, a, b], options=options)
    np.testing.assert_array_equal(c, (a.astype(np.float64) @ b.astype(np.float64)).astype(c.dtype))
    return machine


@pytest.mark.parametrize("element", NUMPY)
@pytest.mark.parametrize("a_transposed", [False, True])
@pytest.mark.parametrize("b_transposed", [False, True])
def test_operands_stay_in_shared_memory_as_they_are(
    compile_and_run, element, a_transposed, b_transposed
):
    machine = run(compile_and_run, element, (64, 64), (a_transposed, b_transposed))
    assert machine.counts["nvvm.cp.async.shared.global"] > 0
    assert "ld.global" not in machine.counts  # nothing takes the way through registers
    # Reads and copies take the fewest passes over the banks.
    worst = machine.banks.worst
    assert max(worst.get(kind, 1) for kind in ("load", "matrix", "copy")) == 1


@pytest.mark.parametrize("element", ["f32", "f64", "i8", "f8E4M3FN"])
@pytest.mark.parametrize(
    "tile", [(128, 32), (32, 128), (16, 256), (64, 24), (16, 8), (32, 32), (16, 96)]
)
def test_any_shape_of_a_warp_reads_transposed_operands(compile_and_run, element, tile):
    run(compile_and_run, element, tile, (True, False))


@pytest.mark.parametrize("element", ["f32", "i8"])
@pytest.mark.parametrize("n", [32, 64, 128])
def test_narrow_panels_have_few_conflicts(compile_and_run, element, n):
    machine = run(compile_and_run, element, (64, n), (True, False))
    loads = machine.banks.worst.get("load", 1), machine.banks.worst.get("matrix", 1)
    assert max(loads) <= (1 if n >= 64 else 2)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("k", [4, 8, 16, 24, 100])
def test_f64_takes_any_depth_of_four(compile_and_run, target, k):
    depth = min(16, k & -k)
    a, b = random((32, k), "f64", False, 1), random((k, 16), "f64", False, 2)
    c = np.full((32, 16), np.nan)
    source = matmul(c, a, b, "f64", "f64", (32, 16), depth, "")
    machine = compile_and_run(source, [c, a, b], options=f"target={target}")
    np.testing.assert_array_equal(c, a @ b)
    assert machine.counts["llvm.inline_asm"] > 0


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("along_k", [False, True])
def test_right_fragments_hold_the_columns_of_their_accumulators(bits, along_k):
    acc = layouts.mma_acc([64, 128], 4, lhs=(bits, True), rhs=(bits, along_k))
    assert_covers_once(acc, (64, 128))
    rhs = layouts.mma_rhs(acc, [64, 128], bits)
    assert_covers_once(rhs, (64, 128))
    for warp in range(4):
        columns = [set(Spread.of(x).coords[warp, ..., 1].ravel().tolist()) for x in (acc, rhs)]
        assert columns[0] == columns[1]


@pytest.mark.parametrize("warps", [4, 8])
def test_wgmma_reads_rows_of_tf32_from_registers_without_conflicts(warps):
    """The left operand of an exchanged product, as the copy engine stored it: K by rows."""
    m, k = 16 * warps, 32
    acc = layouts.wgmma_acc([m, 64], warps, lhs=(32, False))
    assert_covers_once(acc, (m, 64))
    lhs = layouts.mma_lhs(acc, [m, k], 32)
    assert_covers_once(lhs, (m, k))
    coords = Spread.of(lhs).coords
    rows, depths = coords[..., 0], coords[..., 1]
    panel, byte = np.divmod(4 * rows, 128)  # 128-byte swizzle, dialects/TileGPU/IR/TileGPUAttrs.td
    address = panel * (128 * k) + depths * 128 + (byte ^ depths % 8 * 16)
    # Registers 0 and 1 are neighbours in memory: one access of eight bytes.
    assert np.array_equal(address[:, :, 1::2], address[:, :, ::2] + 4)
    for warp in range(warps):
        for register in range(0, address.shape[2], 2):
            assert wavefronts(address[warp, :, register].tolist(), 8) == 2


def test_wgmma_in_its_own_order_is_the_ptx_table():
    acc = Spread.of(layouts.wgmma_acc([64, 8], 4)).coords
    lane, warp = np.arange(32)[None, :, None], np.arange(4)[:, None, None]
    register = np.arange(4)[None, None, :]
    row = 16 * warp + lane // 4 + 8 * (register // 2)
    column = lane % 4 * 2 + register % 2
    expected = np.stack(np.broadcast_arrays(row, column + 0 * row), axis=-1)
    assert np.array_equal(acc, expected)
