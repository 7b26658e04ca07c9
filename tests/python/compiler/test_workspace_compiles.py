"""Products that are split through a workspace, compiled for targets with and without clusters."""

import json

import pytest

import tilec as tl
from tilec.jit.configurations import Configuration
from tilec.jit.planning import Planned
from tilec.jit.tune import PinnedKernel


@tl.kernel
def product(c, a, b, bias, *, tk: tl.Constant[int] = 64, acc_t: tl.Constant = tl.float32):
    i, j = c.index
    tm, tn = c.tile_shape
    acc = tl.zeros((tm, tn), acc_t)
    for k in range(a.num_tiles(1, tk)):
        acc = tl.mma(a.load((i, k), (tm, tk)), b.load((k, j), (tk, tn)), acc)
    row = bias.load((0, j), (1, tn)).to(acc_t)
    c.store((acc + row).to(c.dtype))


def compiled(target, tile, schedule, warps, parts, element=tl.bfloat16, **constants):
    plan = {"schedule": schedule, "num_warps": warps, "split_k": parts, "split_by": "workspace"}
    planned = Planned(tile, json.dumps(plan))
    output = tl.int32 if element == tl.int8 else tl.float32
    c = tl.partition(tl.ArraySpec((512, 512), output), tl.AUTO)
    a, b = tl.ArraySpec((512, 8192), element), tl.ArraySpec((8192, 512), element)
    kernel = PinnedKernel(product, Configuration(planned=planned))
    bias = tl.ArraySpec((1, 512), output)
    return kernel.compile(c, a, b, bias, target=target, phases=("tilegpu", "ptx"), **constants)


@pytest.mark.parametrize(
    ("target", "tile", "schedule", "warps", "parts"),
    [
        ("sm_80", (128, 128), "sync", 0, 4),
        ("sm_80", (64, 64), "sync", 0, 16),
        ("sm_86", (64, 128), "sync", 0, 3),
        ("sm_89", (64, 128), "sync", 0, 2),
        ("sm_90a", (128, 128), "cooperative", 8, 8),
        ("sm_90a", (128, 256), "cooperative", 8, 3),
        ("sm_90a", (64, 128), "single", 4, 16),
        ("sm_90a", (64, 32), "sync", 0, 16),
        ("sm_100a", (64, 64), "sync", 0, 2),
        ("sm_120a", (64, 64), "sync", 0, 2),
    ],
)
def test_nothing_is_spilled_and_the_workspace_is_described(target, tile, schedule, warps, parts):
    result = compiled(target, tile, schedule, warps, parts)
    resources = result.resources
    assert resources.spill_store_bytes == resources.spill_load_bytes == resources.stack_bytes == 0
    tm, tn = tile
    assert result.plan["workspace"] == {"bytes": parts * tm * tn * 4, "counters": 1}
    assert result.plan["grid"]["ctas_per_tile"] == parts
    assert "cluster" not in result.plan
    ptx = result.asm["ptx"]
    assert ptx.count("atom.acq_rel.gpu.global.inc.u32") == 1
    assert "st.global.v4.b32" in ptx and "ld.relaxed.gpu.global.v4.b32" in ptx
    (split,) = (item for item in result.decisions if item.subject == "split")
    assert split.outcome == (
        f"{parts} CTAs share the depth of a tile, and the last adds up in global memory"
    )


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_integers_are_added_as_integers(target):
    result = compiled(target, (64, 64), "sync", 0, 4, tl.int8, acc_t=tl.int32)
    behind = result.asm["ptx"].partition("ld.relaxed.gpu")[2]
    assert "add.s32" in behind and "add.rn.f32" not in behind


def test_kernel_that_cannot_be_split_says_why():
    @tl.kernel
    def two_loops(c, a, b, bias, *, tk: tl.Constant[int] = 64):
        i, j = c.index
        tm, tn = c.tile_shape
        acc = tl.zeros((tm, tn), tl.float32)
        for k in range(a.num_tiles(1, tk)):
            acc = tl.mma(a.load((i, k), (tm, tk)), b.load((k, j), (tk, tn)), acc)
        for k in range(a.num_tiles(1, tk)):
            acc = tl.mma(a.load((i, k), (tm, tk)), b.load((k, j), (tk, tn)), acc)
        c.store(acc)

    plan = {"schedule": "sync", "split_k": 4, "split_by": "workspace"}
    kernel = PinnedKernel(two_loops, Configuration(planned=Planned((64, 64), json.dumps(plan))))
    c = tl.partition(tl.ArraySpec((512, 512), tl.float32), tl.AUTO)
    a, b = tl.ArraySpec((512, 512), tl.bfloat16), tl.ArraySpec((512, 512), tl.bfloat16)
    bias = tl.ArraySpec((1, 512), tl.float32)
    result = kernel.compile(c, a, b, bias, target="sm_80", phases=())
    assert "workspace" not in result.plan
    (split,) = (item for item in result.decisions if item.subject == "split")
    assert (split.outcome, split.reason) == (
        "none",
        "the kernel is more than one loop that accumulates products from zero",
    )
