"""Lowered reductions, run thread by thread."""

import ml_dtypes
import numpy as np
import pytest
from layouts import spread, tile

COMBINERS = {
    "sum": ("%r = arith.addf %p, %q : {e}", "0.0 : {e}", np.sum),
    "max": ("%r = arith.maximumf %p, %q : {e}", "{inf} : {e}", np.max),
    "isum": ("%r = arith.addi %p, %q : {e}", "0 : {e}", np.sum),
}
MINUS_INFINITY = {"f32": "0xFF800000", "bf16": "0xFF80"}
NUMPY = {
    "f32": np.float32,
    "bf16": ml_dtypes.bfloat16,
    "f64": np.float64,
    "i8": np.int8,
    "i32": np.int32,
}

# shape, axis, register / lane / warp bits, repeats
CASES = {
    "in_thread": ((32, 8), 1, ("111", "00000", ""), None),
    "in_warp": ((2, 64), 1, ("1", "11111", ""), None),
    "part_of_warp": ((8, 16), 1, ("1", "11100", ""), None),
    "across_warps": ((1, 512), 1, ("1", "11111", "11"), None),
    "repeated_row": ((1, 768), 1, ("1", "11111", "11"), (1, 3)),
    "ragged_row": ((1, 185), 1, ("11", "11111", "1"), None),
    "many_rows": ((8, 64), 0, ("11", "11110", "00"), None),
    "rows_of_vectors": ((4, 256), 0, ("111", "11111", "00"), None),
    "replicated_warps": ((2, 32), 1, ("", "11111", "0."), None),
    "replicated_lanes": ((4, 8), 1, ("1", "11.00", "."), None),
    "axis_of_warps_and_free_warps": ((4, 64), 1, ("1", "1111.", "1.0"), None),
    "rank_3": ((2, 8, 32), 1, ("2", "22221", "10"), None),
    "ragged_axis_0": ((5, 32), 0, ("", "11111", "0"), None),
    "across_groups": ((1, 768), 1, ("1", "11111", "11*1"), None),
    "groups_beside_warps": ((4, 192), 1, ("1", "11111", "00*1"), None),
    "warps_beside_groups": ((6, 256), 1, ("1", "11111", "11*0"), None),
    "groups_alone": ((2, 192), 1, ("1", "11111", "*1"), None),
    "groups_and_repeats": ((2, 1152), 1, ("1", "11111", "1*1"), (2, 3)),
    "ragged_groups": ((3, 500), 1, ("1", "11111", "11*1"), None),
    "replicated_groups": ((4, 64), 1, ("1", "11111", "0*."), None),
    "groups_of_many_rows": ((24, 64), 0, ("11", "11110", "00*0"), None),
    "rank_3_groups": ((3, 8, 32), 1, ("2", "22221", "11*0"), None),
}


KINDS = [
    *(("sum", element) for element in ("f32", "f64")),
    *(("max", element) for element in ("f32", "bf16")),
    *(("isum", element) for element in ("i8", "i32")),
]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("kind", "element"), KINDS)
def test_reduce_in_every_layout_equals_numpy(run_kernel, case, kind, element):
    shape, axis, bits, repeat = CASES[case]
    layout = spread(shape, *bits, repeat=repeat)
    combiner, identity, reference = COMBINERS[kind]
    identity = identity.format(e=element, inf=MINUS_INFINITY.get(element))
    # Small integers: sums are exact in every order.
    x = np.random.default_rng(0).integers(-4, 4, shape).astype(NUMPY[element])
    kept = tuple(1 if dim == axis else size for dim, size in enumerate(shape))
    y = np.zeros(kept, x.dtype)
    source = tile(shape, element, layout)
    result = tile(kept, element, layout.reduced(axis))
    zeros = ", ".join(["%c0"] * len(shape))
    poison = "100" if element.startswith("i") else "1.0e+04"
    machine = run_kernel(
        f"""
        %pad = arith.constant {poison} : {element}
        %t = tile.load %a0[{zeros}] pad %pad : {element} : !v0 -> {source}
        %y = tile.reduce (%t) axis = {axis} identity [{identity}]
            {{tilegpu.shared_offset = 64 : i64}} : ({source}) -> ({result}) {{
        ^bb0(%p: {element}, %q: {element}):
          {combiner.format(e=element)}
          tile.yield %r : {element}
        }}
        tile.store %y, %a1[{zeros}] : {result}, !v1
        """,
        [x, y],
        [element, element],
        warps=layout.num_warps,
    )
    expected = reference(x.astype(np.float64), axis=axis, keepdims=True).astype(x.dtype)
    np.testing.assert_array_equal(y.astype(np.float64), expected.astype(np.float64))
    bases = (*layout.warps, *([layout.group] if layout.group else []))
    crosses = any(basis[axis] for basis in bases)
    assert machine.counts.get("nvvm.barrier0", 0) == int(crosses)


PAIRS = ["in_warp", "across_warps", "ragged_row", "many_rows", "rows_of_vectors", "across_groups"]


@pytest.mark.parametrize("case", PAIRS)
def test_argmax_reduces_value_and_index_together(run_kernel, case):
    shape, axis, bits, repeat = CASES[case]
    layout = spread(shape, *bits, repeat=repeat)
    rng = np.random.default_rng(1)
    x = rng.permutation(int(np.prod(shape))).reshape(shape).astype(np.float32)
    kept = tuple(1 if dim == axis else size for dim, size in enumerate(shape))
    y = np.zeros(kept, np.int32)
    reduced = layout.reduced(axis)
    values, indices = tile(shape, "f32", layout), tile(shape, "i32", layout)
    best, where = tile(kept, "f32", reduced), tile(kept, "i32", reduced)
    zeros = ", ".join(["%c0"] * len(shape))
    run_kernel(
        f"""
        %pad = arith.constant 1.0e+30 : f32
        %t = tile.load %a0[{zeros}] pad %pad : f32 : !v0 -> {values}
        %i = tile.iota axis = {axis} : {indices}
        %m, %n = tile.reduce (%t, %i) axis = {axis}
            identity [0xFF800000 : f32, 2147483647 : i32] {{tilegpu.shared_offset = 0 : i64}}
            : ({values}, {indices}) -> ({best}, {where}) {{
        ^bb0(%p: f32, %pi: i32, %q: f32, %qi: i32):
          %g = arith.cmpf ogt, %p, %q : f32
          %v = arith.select %g, %p, %q : f32
          %w = arith.select %g, %pi, %qi : i32
          tile.yield %v, %w : f32, i32
        }}
        tile.store %n, %a1[{zeros}] : {where}, !v1
        """,
        [x, y],
        ["f32", "i32"],
        warps=layout.num_warps,
    )
    np.testing.assert_array_equal(y, np.argmax(x, axis=axis, keepdims=True))
