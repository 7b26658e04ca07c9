import itertools
import json

import numpy as np
import pytest
from layout_spread import LANES, Spread

from tilec._mlir._mlir_libs._tilec import layouts


def plan(source, destination, element_bytes=4):
    return json.loads(layouts.plan_conversion(source, destination, element_bytes))


def assert_plan_moves_every_element(source, destination, shape, found):
    """Follow a plan inside the warps and compare with the destination's coordinates."""
    src, dst = Spread.of(source), Spread.of(destination)
    warps, _, registers, _ = dst.coords.shape
    warp, lane, reg = np.indices((warps, LANES, registers))
    from_lane = np.array(found["register_lane"])[reg]
    for bit, value in enumerate(found["lane_of_lane_bit"]):
        from_lane = from_lane ^ np.where(lane >> bit & 1, value, 0)
    for bit, value in enumerate(found["lane_of_warp_bit"]):
        from_lane = from_lane ^ np.where(warp >> bit & 1, value, 0)
    if found["kind"] == "registers":
        assert np.array_equal(from_lane, lane)
    choice = np.zeros_like(lane)
    for i, (kind, bit) in enumerate(found["selectors"]):
        choice |= ((warp if kind == "warp" else lane) >> bit & 1) << i
    from_reg = np.array(found["candidates"])[reg, choice]
    live = dst.live(shape)
    assert (from_reg[live] >= 0).all()
    held = src.coords[warp[live], from_lane[live], from_reg[live]]
    assert np.array_equal(held, dst.coords[live])


def families(shape, warps):
    rank = len(shape)
    for order in itertools.permutations(range(rank)):
        for vector in (1, 2, 4, 8):
            if shape[order[0]] % vector == 0:
                yield layouts.blocked(shape, order, vector, warps)
    if rank == 2 and shape[0] % 16 == 0 and shape[1] % 16 == 0:
        for whole_rows in (False, True):
            acc = layouts.mma_acc(shape, warps, whole_rows)
            yield acc
            yield layouts.mma_lhs(acc, shape, 16)
            yield layouts.outer_product(shape, warps)


@pytest.mark.parametrize("warps", [1, 4, 12])
@pytest.mark.parametrize(
    "shape", [(16,), (100,), (1185,), (64, 64), (16, 32), (12, 20), (3, 96), (4, 6, 8)]
)
def test_plans_inside_the_warp_move_every_element(shape, warps):
    kinds = set()
    for source, destination in itertools.product(list(families(shape, warps)), repeat=2):
        found = plan(source, destination)
        kinds.add(found["kind"])
        if found["kind"] != "shared":
            assert_plan_moves_every_element(source, destination, shape, found)
    assert "registers" in kinds


@pytest.mark.parametrize("warps", [1, 2, 4, 12])
def test_plan_of_a_layout_to_itself_is_a_register_move(warps):
    for layout in families((32, 96), warps):
        found = plan(layout, layout)
        assert found["kind"] == "registers" and not found["selectors"]
        assert [c for (c,) in found["candidates"]] == list(range(len(found["candidates"])))


def describe(found):
    if found["kind"] == "registers":
        return "registers"
    if found["kind"] == "shuffle":
        choices = max(len(set(c)) for c in found["candidates"])
        return f"shuffle of {len(found['candidates'])} registers, {choices} candidates"
    return (
        f"shared, store x{found['store_vector']} {found['store_conflicts']} conflicts, "
        f"load x{found['load_vector']} {found['load_conflicts']} conflicts, {found['bytes']} bytes"
    )


ACC = layouts.mma_acc([64, 64], 4, True)
GOLDEN = {
    "accumulator to the next product's left operand": (ACC, layouts.mma_lhs(ACC, [64, 64], 16), 2),
    "row sums of an accumulator to whole rows": (
        layouts.reduced(ACC, 1),
        layouts.reduced(layouts.blocked([64, 64], [1, 0], 1, 4), 1),
        4,
    ),
    "vectors of 8 to vectors of 4 in one warp": (
        layouts.blocked([256], [0], 8, 1),
        layouts.blocked([256], [0], 4, 1),
        2,
    ),
    "replicated to distributed": (
        layouts.reduced(layouts.blocked([64, 32], [1, 0], 1, 1), 1),
        layouts.blocked([64, 1], [0, 1], 1, 1),
        4,
    ),
    "accumulator to wide stores, bf16": (
        layouts.mma_acc([128, 128], 8),
        layouts.blocked([128, 128], [1, 0], 8, 8),
        2,
    ),
    "accumulator to wide stores, f32": (
        layouts.mma_acc([64, 64], 4),
        layouts.blocked([64, 64], [1, 0], 4, 4),
        4,
    ),
    "transposition, f32": (
        layouts.blocked([64, 32], [0, 1], 4, 4),
        layouts.blocked([64, 32], [1, 0], 4, 4),
        4,
    ),
    "transposition, bf16": (
        layouts.blocked([64, 64], [0, 1], 8, 4),
        layouts.blocked([64, 64], [1, 0], 8, 4),
        2,
    ),
}
EXPECTED = {
    "accumulator to the next product's left operand": "registers",
    "row sums of an accumulator to whole rows": (
        "shared, store x1 0 conflicts, load x1 0 conflicts, 256 bytes"
    ),
    "vectors of 8 to vectors of 4 in one warp": "shuffle of 8 registers, 2 candidates",
    "replicated to distributed": "shared, store x1 0 conflicts, load x1 0 conflicts, 256 bytes",
    "accumulator to wide stores, bf16": (
        "shared, store x2 0 conflicts, load x8 0 conflicts, 34816 bytes"
    ),
    "accumulator to wide stores, f32": (
        "shared, store x2 0 conflicts, load x4 0 conflicts, 18432 bytes"
    ),
    "transposition, f32": "shared, store x1 1 conflicts, load x1 0 conflicts, 8320 bytes",
    "transposition, bf16": "shared, store x1 1 conflicts, load x2 0 conflicts, 8448 bytes",
}


@pytest.mark.parametrize("name", GOLDEN)
def test_plan_of_known_pairs_is_frozen(name):
    assert describe(plan(*GOLDEN[name])) == EXPECTED[name]


@pytest.mark.parametrize("warps", [4, 12])
@pytest.mark.parametrize("element_bytes", [1, 2, 4, 8])
def test_shared_trips_give_every_element_its_own_aligned_bytes(element_bytes, warps):
    shape = (48, 40)
    pairs = itertools.product(list(families(shape, warps)), repeat=2)
    for source, destination in pairs:
        found = plan(source, destination, element_bytes)
        if found["kind"] != "shared":
            continue
        pitches = np.array(found["pitches"])
        for layout, vector in (
            (source, found["store_vector"]),
            (destination, found["load_vector"]),
        ):
            coords = Spread.of(layout).coords
            address = (coords * pitches).sum(axis=-1)
            assert address.max() + element_bytes <= found["bytes"]
            # Whole vectors are consecutive and aligned.
            vectors = address.reshape(*address.shape[:2], -1, vector)
            assert not (vectors[..., 0] % (vector * element_bytes)).any()
            steps = np.arange(vector) * element_bytes
            assert np.array_equal(vectors, vectors[..., :1] + steps)
        grid = np.indices(shape).reshape(2, -1).T
        assert len(np.unique((grid * pitches).sum(axis=-1))) == len(grid)
