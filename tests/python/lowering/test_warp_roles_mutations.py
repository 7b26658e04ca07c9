"""The simulator of warp roles can fail: it finds what breaks a kernel that was sound.

Each mutation names a kind of fault that some interleavings must end in; others may end otherwise.
"""

import re
from dataclasses import replace

import pytest
from warp_roles import faults, planned

from .test_warp_roles import CTAS, compile_matmul, shapes_of

SEEDS = 16


def edited(compiled, *edits, count=0):
    """The kernel with each pattern replaced in its emitted module; every one must occur."""
    text = compiled.tilegpu
    for pattern, replacement in edits:
        text, changes = re.subn(pattern, replacement, text, count=count)
        assert changes, pattern
    return replace(compiled, tilegpu=text)


def found(compiled, tile=(128, 128), tiles=4, turns=8):
    return faults(compiled, shapes_of(*tile, 64, tiles=tiles, turns=turns), CTAS, SEEDS)


TURN_RELEASE = r"tilegpu\.queue_release (%\d+) when %\d+ :"
LAST_RELEASE = r"tilegpu\.queue_release %\d+ : <\d+>"
MUTATIONS = {  # edits, and what they lead to
    "a stage is never freed": ([(TURN_RELEASE + r" <\d+>", "")], "deadlock"),
    "the last stage is never freed": ([(LAST_RELEASE, "")], "deadlock"),
    # After one turn more than it should, nothing is left to free behind the loop.
    "a stage is freed under its product": (
        [(LAST_RELEASE, ""), (TURN_RELEASE, r"tilegpu.queue_release \1 :")],
        "overwrite",
    ),
    "more is freed than waited for": (
        [(TURN_RELEASE, r"tilegpu.queue_release \1 :")],
        "overwrite",
    ),
    "two products are in flight": ([("in_flight 1", "in_flight 2")], "overwrite"),
    "the accumulator is read in flight": (
        [(r"(%\d+) = tilegpu\.mma_wait (%\d+) : \((tensor.*)\) -> .*", r"\1 = arith.negf \2 : \3")],
        "in flight",
    ),
    "the first product adds to nothing": ([(r"accumulate %\d+ ", "")], "result"),
    "no program waits for its turn": ([(r"tilegpu\.turn_wait .*", "")], "early"),
    "no program gives its turn away": ([(r"tilegpu\.turn_pass .*", "")], "deadlock"),
    "the turn goes on before its products": (
        [
            (r"tilegpu\.turn_pass .*", ""),
            (r"(tilegpu\.turn_wait (%\d+) : .*)", r"\1\n tilegpu.turn_pass \2 : !tilegpu.turn"),
        ],
        "early",
    ),
    "programs pass by too few stages": (
        [(r"tilegpu\.queue_skip (%\d+) by %\d+", r"tilegpu.queue_skip \1 by %c2_i32")],
        "deadlock",
    ),
    "programs pass by no stages": (
        [(r"tilegpu\.queue_skip .*", "")],
        "early",
    ),
    "the only stage is freed a turn late": (
        [("!tilegpu.smem<6x", "!tilegpu.smem<1x"), (r"(: |, )<6>", r"\1<1>")],
        "deadlock",
    ),
    "more bytes are announced than come": ([("bytes 32768", "bytes 65536")], "deadlock"),
    "fewer bytes are announced than come": ([("bytes 32768", "bytes 16384")], "stale"),
    "the producer fetches another tile": (
        [(r"tma_load (%\d+)\[(%\d+), (%\d+)\]", r"tma_load \1[\3, \2]")],
        "result",
    ),
    "stores are staged in a stage": (
        [(r"(tilegpu\.tma_store .*tilegpu\.shared_offset = )\d+", r"\g<1>0")],
        "staging",
    ),
    "the CTA ends under its stores": ([(r"tilegpu\.tma_store_wait", "")], "staging"),
    "both operands lie in one ring": (
        [(r"(tilegpu\.ring \{tilegpu\.shared_offset = )\d+", r"\g<1>0")],
        "overwrite",
    ),
}


@pytest.fixture(scope="module")
def taking_turns():
    compiled = compile_matmul(128, 128)
    assert not found(compiled)
    return compiled


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_mutation_of_programs_that_take_turns_is_found(taking_turns, mutation):
    edits, kind = MUTATIONS[mutation]
    kinds = found(edited(taking_turns, *edits))
    assert kinds[kind], kinds


def test_stage_freed_by_one_of_two_warpgroups_is_found():
    compiled = compile_matmul(128, 256)
    assert not found(compiled, (128, 256))
    kinds = found(edited(compiled, ("readers 2", "readers 1")), (128, 256))
    assert kinds["overwrite"], kinds


def test_products_of_one_turn_need_no_accumulator():
    """What is dropped where it does nothing is no fault."""
    compiled = edited(compile_matmul(128, 128), ("in_flight 1", "in_flight 2"))
    assert not found(compiled, turns=1)


CLUSTER_MUTATIONS = {
    "a stage is refilled while the other CTA reads it": (
        r"readers (\d) cluster 2",
        r"readers \1",
        "overwrite",
    ),
    "a stage waits for readers of another CTA": (
        r"readers (\d) cluster 2",
        r"readers 4",
        "deadlock",
    ),
    "CTAs share what differs": (r"(tma_load .*\]) :", r"\1 multicast :", "result"),
}


@pytest.mark.parametrize("mutation", CLUSTER_MUTATIONS)
def test_mutation_of_clusters_is_found(mutation):
    compiled = compile_matmul(128, 256, inner=264)
    assert not found(compiled, (128, 256))
    pattern, replacement, kind = CLUSTER_MUTATIONS[mutation]
    kinds = found(edited(compiled, (pattern, replacement)), (128, 256))
    assert kinds[kind], kinds


def test_sum_of_a_cluster_over_stages_that_are_read_is_found():
    compiled = planned(compile_matmul(128, 128), {"split_k": 2})
    shapes = shapes_of(128, 128, 64, tiles=2, turns=9)
    assert not faults(compiled, shapes, 8, SEEDS)
    kinds = faults(edited(compiled, (r"tilegpu\.barrier", "")), shapes, 8, SEEDS)
    assert kinds["overwrite"], kinds
