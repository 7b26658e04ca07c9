import itertools

import numpy as np
import pytest
from layout_spread import LANES, Spread, assert_covers_once

from tilec._mlir._mlir_libs._tilec import layouts

WARPS = (1, 2, 4, 8, 12, 16)
VECTORS = (1, 2, 4, 8)
EXTENTS = (*range(1, 257), 1185, 1953, 12288)


@pytest.mark.parametrize("warps", WARPS)
@pytest.mark.parametrize("vector", VECTORS)
def test_blocked_one_dimension_covers_every_element_once(vector, warps):
    for extent in EXTENTS:
        if extent % vector == 0:
            layout = layouts.blocked([extent], [0], vector, warps)
            assert_covers_once(layout, (extent,))
            assert layouts.contiguity(layout, 0) == vector


@pytest.mark.parametrize("warps", WARPS)
def test_blocked_padding_is_less_than_one_round_of_the_threads(warps):
    for extent, vector in itertools.product(EXTENTS, VECTORS):
        if extent % vector:
            continue
        (covered,) = Spread.of(layouts.blocked([extent], [0], vector, warps)).extents()
        # Lanes are rounded up to cover the rest, warps down: they repeat instead.
        assert covered - extent < max(LANES * vector * warps, 1)
        if extent % (LANES * vector * warps) == 0:
            assert covered == extent


@pytest.mark.parametrize(
    "shape", [(8, 1024), (3, 5), (64, 1), (1, 1185), (7, 96), (4, 6, 10), (2, 3, 64)]
)
@pytest.mark.parametrize("warps", WARPS)
def test_blocked_many_dimensions_cover_every_element_once(shape, warps):
    for order in itertools.permutations(range(len(shape))):
        for vector in VECTORS:
            if shape[order[0]] % vector == 0:
                assert_covers_once(layouts.blocked(shape, order, vector, warps), shape)


@pytest.mark.parametrize("warps", WARPS)
def test_blocked_gives_whole_rows_to_a_warp_when_there_are_enough(warps):
    coords = Spread.of(layouts.blocked([32, 512], [1, 0], 4, warps)).coords
    rows = [set(coords[warp, ..., 0].ravel().tolist()) for warp in range(warps)]
    for first, second in itertools.combinations(rows, 2):
        assert not first & second


@pytest.mark.parametrize("warps", WARPS)
@pytest.mark.parametrize(
    "shape", [(64, 64), (128, 96), (1, 1), (8, 4), (33, 17), (5, 200), (200, 3)]
)
def test_outer_product_covers_every_element_once(shape, warps):
    assert_covers_once(layouts.outer_product(shape, warps), shape)


def test_outer_product_uses_operands_several_times():
    coords = Spread.of(layouts.outer_product([128, 128], 4)).coords
    rows, columns = (len(set(coords[0, 0, :, dim].tolist())) for dim in (0, 1))
    assert rows >= 8 and columns >= 8


# The fragments of mma.sync.m16n8k16 with 16-bit operands, as functions of the lane.
# Source: PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type".


def ptx_accumulator(lane, i):
    return lane // 4 + (8 if i >= 2 else 0), lane % 4 * 2 + (i & 1)


def ptx_lhs(lane, i):
    row = lane // 4 + (0 if i < 2 or 4 <= i < 6 else 8)
    return row, lane % 4 * 2 + (i & 1) + (8 if i >= 4 else 0)


def test_mma_acc_one_fragment_is_the_ptx_table():
    coords = Spread.of(layouts.mma_acc([16, 8], 1)).coords
    expected = [[ptx_accumulator(lane, i) for i in range(4)] for lane in range(LANES)]
    assert np.array_equal(coords[0], expected)


def test_mma_lhs_one_fragment_is_the_ptx_table():
    acc = layouts.mma_acc([16, 8], 1)
    coords = Spread.of(layouts.mma_lhs(acc, [16, 16], 16)).coords
    expected = [[ptx_lhs(lane, i) for i in range(8)] for lane in range(LANES)]
    assert np.array_equal(coords[0], expected)


@pytest.mark.parametrize("whole_rows", [False, True])
@pytest.mark.parametrize("warps", WARPS)
def test_mma_acc_covers_every_element_once_in_whole_fragments(warps, whole_rows):
    for m, n in itertools.product((16, 32, 48, 64, 128, 192), (8, 16, 24, 64, 96, 128, 256)):
        layout = layouts.mma_acc([m, n], warps, whole_rows)
        assert_covers_once(layout, (m, n))
        spread = Spread.of(layout)
        assert spread.extents() == (m, n)
        # Four registers in a row are one fragment, at a multiple of its size.
        fragments = spread.coords.reshape(warps, LANES, -1, 4, 2)
        offset = fragments[:, :1, :, :1]
        table = np.array([[ptx_accumulator(lane, i) for i in range(4)] for lane in range(LANES)])
        assert np.array_equal(fragments - offset, np.broadcast_to(table[:, None], fragments.shape))
        assert not (offset % (16, 8)).any()


def test_mma_acc_whole_rows_stay_in_a_warp_when_there_are_enough():
    for shape, warps, whole in [((64, 64), 4, True), ((128, 256), 8, True), ((16, 128), 4, False)]:
        coords = Spread.of(layouts.mma_acc(shape, warps, True)).coords
        columns = {len(set(coords[warp, ..., 1].ravel().tolist())) for warp in range(warps)}
        assert columns == {shape[1] if whole else shape[1] // warps}


@pytest.mark.parametrize("warps", (1, 2, 4, 8, 12))
def test_mma_lhs_warps_hold_the_rows_of_their_accumulators(warps):
    acc = layouts.mma_acc([128, 64], warps)
    lhs = layouts.mma_lhs(acc, [128, 48], 16)
    assert_covers_once(lhs, (128, 48))
    for warp in range(warps):
        rows = [set(Spread.of(x).coords[warp, ..., 0].ravel().tolist()) for x in (acc, lhs)]
        assert rows[0] == rows[1]


@pytest.mark.parametrize("warps", WARPS)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_reduced_keeps_the_owners_of_what_is_left(axis, warps):
    shape = [4, 12, 64]
    left = list(shape)
    left[axis] = 1
    layout = layouts.reduced(layouts.blocked(shape, [2, 1, 0], 4, warps), axis)
    assert_covers_once(layout, left)
    assert Spread.of(layout).extents()[axis] == 1


def test_permuted_moves_dimensions_only():
    layout = layouts.blocked([4, 12, 64], [2, 1, 0], 4, 4)
    turned = Spread.of(layouts.permuted(layout, [2, 0, 1])).coords
    assert np.array_equal(turned, Spread.of(layout).coords[..., [2, 0, 1]])


RESHAPES = [
    ((8, 64), (512,)),
    ((512,), (8, 64)),
    ((512,), (4, 2, 64)),
    ((64, 1), (64,)),
    ((64,), (1, 64, 1)),
    ((1, 1), (1,)),
    ((4, 128), (8, 64)),
    ((12, 64), (768,)),
    ((768,), (12, 64)),
    ((6, 10), (60,)),
    ((12, 20), (240,)),
    ((3, 1185), (3, 1, 1185)),
    ((2, 3, 4), (6, 4)),
]


@pytest.mark.parametrize("warps", WARPS)
@pytest.mark.parametrize(("source", "result"), RESHAPES)
def test_reshaped_keeps_every_element_in_its_register(source, result, warps):
    order = list(reversed(range(len(source))))
    for vector in VECTORS:
        if source[-1] % vector:
            continue
        layout = layouts.blocked(source, order, vector, warps)
        renamed = layouts.reshaped(layout, source, result)
        if renamed is None:
            continue
        before, after = Spread.of(layout), Spread.of(renamed)
        live = before.live(source)
        assert np.array_equal(live, after.live(result))
        flat_before = np.ravel_multi_index(tuple(before.coords[live].T), source)
        flat_after = np.ravel_multi_index(tuple(after.coords[live].T), result)
        assert np.array_equal(flat_before, flat_after)


@pytest.mark.parametrize(
    ("source", "result"),
    [((8, 64), (512,)), ((512,), (8, 64)), ((64, 1), (64,)), ((4, 128), (8, 64))],
)
def test_reshaped_finds_layouts_of_powers_of_two(source, result):
    order = list(reversed(range(len(source))))
    assert layouts.reshaped(layouts.blocked(source, order, 1, 4), source, result) is not None


@pytest.mark.parametrize(
    ("layout", "source", "result"),
    [
        (layouts.blocked([24, 64], [1, 0], 2, 12), (24, 64), (1536,)),
        (layouts.blocked([1536], [0], 2, 12), (1536,), (24, 64)),
        (layouts.blocked([192, 64], [1, 0], 2, 12), (192, 64), (1, 192, 64)),
        (layouts.blocked([96, 128], [1, 0], 2, 12), (96, 128), (96, 4, 32)),
        (layouts.wgmma_acc([192, 64], 12), (192, 64), (3, 64, 64)),
        (layouts.wgmma_acc([192, 64], 12), (192, 64), (3, 2, 32, 64)),
        (layouts.wgmma_acc([384, 64], 12), (384, 64), (2, 192, 64)),
        (
            layouts.reshaped(layouts.wgmma_acc([192, 8], 12), [192, 8], [3, 64, 8]),
            (3, 64, 8),
            (192, 8),
        ),
    ],
)
def test_reshaped_finds_layouts_of_three_groups_of_warps(layout, source, result):
    assert "groups = 3 by" in layout
    renamed = layouts.reshaped(layout, source, result)
    before, after = Spread.of(layout), Spread.of(renamed)
    assert before.extents() == source and after.extents() == result
    flat_before = np.ravel_multi_index(tuple(before.coords.reshape(-1, len(source)).T), source)
    flat_after = np.ravel_multi_index(tuple(after.coords.reshape(-1, len(result)).T), result)
    assert np.array_equal(flat_before, flat_after)


def test_groups_of_warps_divide_rows_that_they_divide_evenly():
    rows, _ = divmod(Spread.of(layouts.blocked([192, 64], [1, 0], 8, 12)).coords[..., 0], 64)
    assert "groups = 3 by [16, 0]" in layouts.blocked([192, 64], [1, 0], 8, 12)
    assert "groups = 3 by [0, 256]" in layouts.blocked([4, 768], [1, 0], 8, 12)
    assert "groups = 3 by [0, 0]" in layouts.blocked([4, 256], [1, 0], 8, 12)
    assert rows.max() == 2


@pytest.mark.parametrize("columns", [8, 64, 192])
@pytest.mark.parametrize("rows", [192, 384])
def test_wgmma_acc_of_three_warpgroups_has_64_rows_of_each_round(rows, columns):
    layout = layouts.wgmma_acc([rows, columns], 12)
    assert_covers_once(layout, (rows, columns))
    coords = Spread.of(layout).coords
    for warp in range(12):
        held = set(coords[warp, ..., 0].ravel().tolist())
        first = [192 * round + 16 * warp for round in range(rows // 192)]
        assert held == {row for start in first for row in range(start, start + 16)}
        lhs = Spread.of(layouts.mma_lhs(layout, [rows, 32], 32)).coords
        assert held == set(lhs[warp, ..., 0].ravel().tolist())


@pytest.mark.parametrize("bits", [8, 16, 32])
@pytest.mark.parametrize("shape", [(192, 96), (48, 64), (64, 96), (16, 24), (96, 192)])
def test_operands_of_three_groups_of_warps_hold_what_their_accumulators_need(shape, bits):
    acc = layouts.mma_acc(shape, 12)
    lhs = layouts.mma_lhs(acc, [shape[0], 64], bits)
    rhs = layouts.mma_rhs(acc, [64, shape[1]], bits)
    assert_covers_once(lhs, (shape[0], 64))
    assert_covers_once(rhs, (64, shape[1]))
    spreads = [Spread.of(layout).coords for layout in (acc, lhs, rhs)]
    for warp in range(12):
        for operand, dim in ((spreads[1], 0), (spreads[2], 1)):
            needed = set(spreads[0][warp, ..., dim].ravel().tolist())
            assert needed == set(operand[warp, ..., dim].ravel().tolist())


def test_reshaped_gives_up_where_elements_would_move():
    assert layouts.reshaped(layouts.blocked([12, 20], [1, 0], 4, 4), [12, 20], [240]) is None


def test_layouts_refuse_other_text():
    with pytest.raises(ValueError, match=r"^not a #tilegpu\.layout$"):
        layouts.coords("17 : i64")
