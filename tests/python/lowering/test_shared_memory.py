"""Lowered layout conversions and shared-memory tiles, run thread by thread."""

import ml_dtypes
import numpy as np
import pytest
from layouts import mma_acc, mma_lhs, smem, spread, tile

NUMPY = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f64": np.float64, "i8": np.int8}

ACC = mma_acc((64, 64), 2, 2)
ROWS = spread((64, 64), "111", "11100", "00")
# shape: from, to
CONVERSIONS = {
    "other_registers": ((32, 8), ("110", "00001", ""), ("011", "00001", "")),
    "other_lanes": ((8, 32), ("111", "11000", ""), ("000", "11111", "")),
    "other_warps": ((16, 64), ("11", "11110", "00"), ("11", "00001", "11")),
    "transposed": ((32, 64), ("111", "11100", "00"), ("000", "00111", "11")),
    "acc_to_rows": ((64, 64), ACC, ROWS),
    "rows_to_lhs": ((64, 64), ROWS, mma_lhs(ACC, 64, 16)),
    "ragged": ((5, 50), ("11", "11110", "00"), ("", "00011", "11")),
    "replicated_source": ((8, 8), ("1", "11000", ".."), ("", "11100", "00")),
    "repeats": ((6, 96), ("11", "11100", "1", (6, 3)), ("1", "11110", "0", (3, 3))),
    "groups_stay": ((48, 64), ("11", "11110", "00*0"), ("1", "11111", "00*0")),
    "groups_turn": ((24, 96), ("11", "11100", "00*1"), ("1", "11110", "11*0")),
    "groups_with_repeats": ((96, 16), ("1", "11100", "00*0"), ("1", "11100", "01*0")),
    "groups_to_copies": ((24, 32), ("11", "11100", "00*0"), ("11", "11100", "00*.")),
    "copies_to_groups": ((24, 32), ("11", "11100", "00*."), ("11", "11100", "00*0")),
    "ragged_groups": ((20, 50), ("1", "11100", "11*0"), ("", "00011", "11*1")),
}


def layout(shape, description):
    if not isinstance(description, tuple):
        return description
    places, repeat = description[:3], description[3:]
    return spread(shape, *places, repeat=repeat[0] if repeat else None)


def random(shape, element):
    return np.random.default_rng(0).integers(-100, 100, shape).astype(NUMPY[element])


@pytest.mark.parametrize("case", CONVERSIONS)
@pytest.mark.parametrize("element", NUMPY)
def test_convert_layout_keeps_the_tile(run_kernel, case, element):
    shape, *descriptions = CONVERSIONS[case]
    source, result = (tile(shape, element, layout(shape, text)) for text in descriptions)
    x = random(shape, element)
    y = np.zeros_like(x)
    run_kernel(
        f"""
        %t = tile.load %a0[%c0, %c0] : !v0 -> {source}
        %u = tilegpu.convert_layout %t {{tilegpu.shared_offset = 0 : i64}} : {source} -> {result}
        tile.store %u, %a1[%c0, %c0] : {result}, !v1
        """,
        [x, y],
        [element, element],
        warps=layout(shape, descriptions[0]).num_warps,
    )
    np.testing.assert_array_equal(y, x)


def through_shared_memory(run_kernel, shape, element, shared, places):
    source, result = (tile(shape, element, spread(shape, *place)) for place in places)
    x = random(shape, element)
    y = np.zeros_like(x)
    run_kernel(
        f"""
        %t = tile.load %a0[%c0, %c0] : !v0 -> {source}
        %s = tilegpu.local_alloc %t {{tilegpu.shared_offset = 128 : i64}} : {source} -> {shared}
        tilegpu.barrier
        %u = tilegpu.local_load %s : {shared} -> {result}
        tile.store %u, %a1[%c0, %c0] : {result}, !v1
        """,
        [x, y],
        [element, element],
        warps=spread(shape, *places[0]).num_warps,
    )
    np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize("order", [(1, 0), (0, 1)])
@pytest.mark.parametrize("swizzle", [0, 1, 2, 3])
@pytest.mark.parametrize("element", NUMPY)
def test_shared_tile_gives_back_what_was_put_in(run_kernel, order, swizzle, element):
    shape, shared = (128, 128), smem((128, 128), element, order, swizzle)
    places = ("111", "11100", "00"), ("00", "01010", "11")
    through_shared_memory(run_kernel, shape, element, shared, places)


@pytest.mark.parametrize("order", [(1, 0), (0, 1)])
@pytest.mark.parametrize("swizzle", [0, 1, 2, 3])
@pytest.mark.parametrize(
    "places", [("1", "11000", "00*1"), ("1", "11100", "00*0"), ("1", "10000", "*1")]
)
def test_shared_tile_of_groups_that_end_inside_panels_gives_back_what_was_put_in(
    run_kernel, order, swizzle, places
):
    """Repeats of groups start anywhere in the rows of panels."""
    turned = tuple(place.translate(str.maketrans("01", "10")) for place in places)
    shared = smem((192, 192), "bf16", order, swizzle)
    through_shared_memory(run_kernel, (192, 192), "bf16", shared, (places, turned))


def test_shared_tile_of_odd_shape_gives_back_what_was_put_in(run_kernel):
    shared = smem((7, 25), "f32", (1, 0), 0)
    places = ("11", "11100", "00"), ("", "00011", "11")
    through_shared_memory(run_kernel, (7, 25), "f32", shared, places)
