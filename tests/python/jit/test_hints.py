"""Hints of the author: taken up, or a warning that says which is not and why."""

import warnings

import ml_dtypes
import numpy as np
import pytest
from tilec_cases.nearly_products import plain, up_to_the_diagonal

import tilec as tl
from tilec.diagnostics import HintWarning, LaunchError
from tilec.jit import kernel as kernel_module
from tilec.jit.cache import DiskCache
from tilec.kernels.softmax import softmax_kernel

ROW = np.zeros((8, 4096), np.float32)


def matrices(m=512, n=512, k=512, tile=(128, 128)):
    a, b, c = (np.zeros(shape, ml_dtypes.bfloat16) for shape in ((m, k), (k, n), (m, n)))
    return tl.partition(c, tile), a, b


def rows(width=4096):
    return tl.partition(ROW[:, :width], (1, width)), ROW[:, :width]


def compiled(kernel, arguments, target="sm_90a", **hints):
    """The result, and the warnings without their place."""
    hinted = tl.kernel(**hints)(kernel.function)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = hinted.compile(*arguments, target=target, phases=())
    assert {item.category for item in caught} <= {HintWarning}
    return result, [str(item.message).rpartition(" (")[0] for item in caught]


@pytest.mark.parametrize(
    ("kernel", "arguments", "target", "hints", "message"),
    [
        (
            plain,
            matrices(),
            "sm_90a",
            {"num_stages": 12},
            "num_stages=12 is not honoured: shared memory has room for 6",
        ),
        (
            plain,
            matrices(),
            "sm_80",
            {"num_stages": 8},
            "num_stages=8 is not honoured: shared memory has room for 4",
        ),
        (
            softmax_kernel,
            rows(),
            "sm_90a",
            {"num_stages": 3},
            "num_stages=3 is not honoured: no loop of the kernel copies operands of products ahead",
        ),
        (
            plain,
            matrices(),
            "sm_90a",
            {"num_ctas": 4},
            "num_ctas=4 is not honoured: CTAs fetch for each other in clusters of 2",
        ),
        (
            plain,
            matrices(),
            "sm_80",
            {"num_ctas": 2},
            "num_ctas=2 is not honoured: the target has no clusters",
        ),
        (
            softmax_kernel,
            rows(),
            "sm_90a",
            {"num_ctas": 2},
            "num_ctas=2 is not honoured: no product reads a tile that TMA fetches for a cluster",
        ),
        (
            up_to_the_diagonal,
            matrices(),
            "sm_90a",
            {"num_ctas": 2},
            "num_ctas=2 is not honoured: the turns of a tile's loop depend on its row",
        ),
        (
            plain,
            matrices(),
            "sm_90a",
            {"occupancy": 2},
            "occupancy=2 is not honoured: a CTA whose warps have roles takes a multiprocessor",
        ),
        (
            softmax_kernel,
            rows(),
            "sm_90a",
            {"occupancy": 32, "num_warps": 4},
            "occupancy=32 is not honoured: its CTAs have 128 threads, a multiprocessor holds 2048",
        ),
        (
            softmax_kernel,
            rows(),
            "sm_86",
            {"occupancy": 17, "num_warps": 1},
            "occupancy=17 is not honoured: a multiprocessor holds at most 16 CTAs",
        ),
        (
            plain,
            matrices(tile=(64, 64)),
            "sm_80",
            {"occupancy": 8, "num_stages": 3},
            "occupancy=8 is not honoured: its CTAs take 50176 bytes of shared memory, a "
            "multiprocessor has 167936",
        ),
    ],
)
def test_hint_that_cannot_be_honoured_is_a_warning(kernel, arguments, target, hints, message):
    result, found = compiled(kernel, arguments, target, **hints)
    assert found == [message]
    assert result.cubin or result.ptx


def test_cluster_other_than_the_plans_is_a_warning():
    arguments = matrices(512, 512, 8192, tl.AUTO)
    split = plain.explain(*arguments, target="sm_90a")["decisions"]["split_k"]
    assert split > 1
    _, found = compiled(plain, arguments, num_ctas=1)
    assert found == [
        f"num_ctas=1 is not honoured: by the plan for its tile, {split} CTAs share the depth of a "
        "product"
    ]
    assert compiled(plain, arguments, num_ctas=split)[1] == []


def test_hint_that_is_honoured_is_silent():
    result, found = compiled(softmax_kernel, rows(), occupancy=4)
    assert (found, "minnctapersm 4" in result.ptx) == ([], True)
    result, found = compiled(plain, matrices(), num_ctas=2)
    assert (found, result.plan["cluster"]) == ([], [2, 1, 1])
    result, found = compiled(plain, matrices(), num_ctas=1)
    assert (found, "cluster" in result.plan) == ([], False)
    result, found = compiled(plain, matrices(), num_stages=3)
    assert found == []
    assert [item.outcome for item in result.decisions if item.subject == "stages"] == [
        "3 of 32768 bytes"
    ]


@pytest.mark.parametrize(
    ("num_warps", "threads", "roles"),
    [
        (4, 256, "a producer, and one warpgroup that multiplies"),
        (8, 384, "ping-pong: a producer, and two programs of 4 warps that take turns at tiles"),
        (12, 384, "none: all warps load and compute"),
        (16, 512, "none: all warps load and compute"),
    ],
)
def test_warps_that_compute_are_as_many_as_asked_for(num_warps, threads, roles):
    result, found = compiled(plain, matrices(), num_warps=num_warps)
    assert (found, result.plan["threads"]) == ([], threads)
    assert [item.outcome for item in result.decisions if item.subject == "roles"] == [roles]


@pytest.mark.parametrize("tile", [(192, 192), (192, 128), (192, 256), (384, 64)])
def test_twelve_warps_are_three_warpgroups_that_share_a_tile(tile):
    result, found = compiled(plain, matrices(768, 768, tile=tile), num_warps=12)
    assert (found, result.plan["threads"], result.plan["num_warps"]) == ([], 512, 12)
    assert [item.outcome for item in result.decisions if item.subject == "roles"] == [
        "cooperative: a producer, and three warpgroups that share a tile"
    ]


def test_twelve_warps_take_the_planned_tile_of_three_warpgroups():
    result, found = compiled(plain, matrices(4096, 4096, tile=tl.AUTO), num_warps=12)
    assert (found, result.plan["grid"]["tile"], result.plan["threads"]) == ([], [192, 192], 512)


def test_an_occupancy_that_is_not_honoured_leaves_the_registers_alone():
    result, _ = compiled(softmax_kernel, rows(), occupancy=32, num_warps=4)
    assert "minnctapersm" not in result.ptx


def test_warning_names_the_kernels_place():
    hinted = tl.kernel(num_ctas=2)(softmax_kernel.function)
    with pytest.warns(HintWarning, match=r"for a cluster \(.*softmax.py:\d+\)$"):
        hinted.compile(*rows(), target="sm_90a", phases=())


def test_hints_by_target_hold_for_their_target():
    hints = {"num_warps": {"sm_90a": 8, "sm_80": 4}}
    assert compiled(softmax_kernel, rows(), "sm_90a", **hints)[0].plan["num_warps"] == 8
    assert compiled(softmax_kernel, rows(), "sm_80", **hints)[0].plan["num_warps"] == 4
    free = compiled(softmax_kernel, rows(), "sm_86")[0].plan["num_warps"]
    assert compiled(softmax_kernel, rows(), "sm_86", **hints)[0].plan["num_warps"] == free


def test_entry_from_the_cache_warns_again(tmp_path, monkeypatch):
    monkeypatch.setattr(kernel_module, "disk_cache", lambda: DiskCache(tmp_path, 1 << 30))
    for _ in range(2):
        hinted = tl.kernel(num_ctas=2)(softmax_kernel.function)
        request = hinted.request(*rows(), target="sm_90a")
        with pytest.warns(HintWarning, match="^num_ctas=2 is not honoured: ") as caught:
            hinted._obtain(request)
        assert len(caught) == 1


@pytest.mark.parametrize(
    ("hints", "message"),
    [
        ({"num_warps": 3}, "num_warps must be 12 or a power of two from 1 to 32, found 3"),
        ({"num_warps": "4"}, "num_warps must be 12 or a power of two from 1 to 32, found '4'"),
        ({"num_warps": True}, "num_warps must be 12 or a power of two from 1 to 32, found True"),
        ({"num_stages": 0}, "num_stages must be an integer from 1 to 16, found 0"),
        ({"num_stages": 2.0}, "num_stages must be an integer from 1 to 16, found 2.0"),
        ({"num_ctas": 32}, "num_ctas must be a power of two from 1 to 16, found 32"),
        ({"occupancy": -1}, "occupancy must be an integer from 1 to 32, found -1"),
        (
            {"num_warps": {"sm_80": 3}},
            "num_warps must be 12 or a power of two from 1 to 32, found 3",
        ),
        (
            {"num_warps": {"hopper": 4}},
            "num_warps has a value for 'hopper', expected some of sm_80, sm_86, sm_89, sm_90a, "
            "sm_100a, sm_103a, sm_120a",
        ),
    ],
)
def test_bad_hint_is_refused(hints, message):
    with pytest.raises(LaunchError) as error:
        tl.kernel(**hints)
    assert error.value.message == message
