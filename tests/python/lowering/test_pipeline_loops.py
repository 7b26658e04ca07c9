"""Loops whose operands are copied ahead, run thread by thread."""

import ml_dtypes
import numpy as np
import pytest
from views import partition, view

BF16 = ml_dtypes.bfloat16
TILE, DEPTH = 64, 32


def matmul(c, a, b, a_load="%m, %k", b_load="%k, %n"):
    part = partition(c, "f32", (TILE, TILE))
    left, right = view(a, "bf16", "read"), view(b, "bf16", "read")
    return f"""
    tile.kernel @matmul(%c: {part}, %a: {left}, %b: {right})
        attributes {{arg_names = ["c", "a", "b"]}} {{
      %m, %n = tile.index %c : {part} -> index, index
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %steps = tile.num_tiles %a, 1 by {DEPTH} : {left}
      %zero = arith.constant dense<0.0> : tensor<{TILE}x{TILE}xf32>
      %sum = scf.for %k = %c0 to %steps step %c1
          iter_args(%acc = %zero) -> (tensor<{TILE}x{TILE}xf32>) {{
        %x = tile.load %a[{a_load}] : {left} -> tensor<{TILE}x{DEPTH}xbf16>
        %y = tile.load %b[{b_load}] : {right} -> tensor<{DEPTH}x{TILE}xbf16>
        %next = tile.mma %x, %y, %acc : tensor<{TILE}x{DEPTH}xbf16>,
            tensor<{DEPTH}x{TILE}xbf16>, tensor<{TILE}x{TILE}xf32>
        scf.yield %next : tensor<{TILE}x{TILE}xf32>
      }}
      tile.store %sum, %c : tensor<{TILE}x{TILE}xf32>, {part}
      tile.return
    }}"""


def operands(m, n, k):
    rng = np.random.default_rng(0)
    a = rng.integers(-3, 4, (m, k)).astype(BF16)
    b = rng.integers(-3, 4, (k, n)).astype(BF16)
    return np.full((m, n), np.nan, np.float32), a, b


@pytest.mark.parametrize("stages", [0, 1, 2, 3])
@pytest.mark.parametrize("k", [32, 160, 72])
def test_copied_ahead_in_any_number_of_stages_equals_numpy(compile_and_run, stages, k):
    c, a, b = operands(TILE, TILE, k)
    options = f"target=sm_80 num-warps=4 num-stages={stages}"
    machine = compile_and_run(matmul(c, a, b), [c, a, b], options=options)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))
    copies = machine.counts.get("nvvm.cp.async.shared.global", 0)
    assert (copies > 0) == (stages != 1)


def test_edges_of_the_arrays_are_zero(compile_and_run):
    c, a, b = operands(72, 40, 48)
    compile_and_run(matmul(c, a, b), [c, a, b], blocks=2, options="target=sm_80 num-warps=4")
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


def test_loop_without_turns_gives_zero(compile_and_run):
    c, a, b = operands(TILE, TILE, 0)
    a, b = np.zeros((TILE, 0), BF16), np.zeros((0, TILE), BF16)
    compile_and_run(matmul(c, a, b), [c, a, b], options="target=sm_80 num-warps=4")
    np.testing.assert_array_equal(c, np.zeros_like(c))


def test_rows_that_are_not_aligned_are_loaded_through_registers(compile_and_run):
    c, a, b = operands(TILE, TILE, 33)
    machine = compile_and_run(matmul(c, a, b), [c, a, b], options="target=sm_80 num-warps=4")
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))
    # B's rows are aligned, A's are not.
    assert machine.counts["nvvm.cp.async.shared.global"] > 0
    assert machine.counts["ld.global"] > 0


@pytest.mark.parametrize("stages", [0, 2, 3])
@pytest.mark.parametrize(("n", "k"), [(TILE, 33), (63, 65), (61, 31), (63, 0)])
def test_what_waits_in_registers_equals_numpy(compile_and_run, stages, n, k):
    c, a, b = operands(TILE, n, k)
    options = f"target=sm_80 num-warps=4 num-stages={stages}"
    machine = compile_and_run(matmul(c, a, b), [c, a, b], options=options)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))
    assert machine.counts["nvvm.barrier0"] <= -(-k // DEPTH) + 3  # one a turn, three for the store


def test_an_operand_that_is_computed_waits_in_registers(compile_and_run):
    c, a, b = operands(TILE, TILE, 3 * DEPTH)
    source = matmul(c, a, b).replace(
        "%next = tile.mma %x,",
        f"""%twice = arith.addf %x, %x : tensor<{TILE}x{DEPTH}xbf16>
        %next = tile.mma %twice,""",
    )
    machine = compile_and_run(source, [c, a, b], options="target=sm_80 num-warps=4")
    np.testing.assert_array_equal(c, 2 * (a.astype(np.float32) @ b.astype(np.float32)))
    assert machine.counts["nvvm.cp.async.shared.global"] > 0  # of the other operand
