"""Contracts: what ``require`` and ``max_spills`` refuse, and what the refusals say."""

import json
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from recording_driver import plan_of

import tilec as tl
from tilec.arrays.description import ArraySpec
from tilec.diagnostics import CompileError, LaunchError, TilecWarning
from tilec.jit import kernel as kernel_module
from tilec.jit.advice import Adviser
from tilec.jit.cache import DiskCache
from tilec.jit.entry import Entry

HOPPER = (
    "sm_90a has cluster, cp_async, ldmatrix, mma, setmaxnreg, stmatrix, tma, tma_multicast and "
    "wgmma"
)


@tl.kernel(require=("wgmma", "tma"), max_spills=0)
def product(c, a, b, *, tk: tl.Constant[int] = 64, to: tl.Constant = None):
    m, n = c.index
    tm, tn = c.tile_shape
    acc = tl.zeros((tm, tn), tl.float32)
    for k in range(a.num_tiles(1, tk)):
        x, y = a.load((m, k), (tm, tk)), b.load((k, n), (tk, tn))
        acc = tl.mma(x.to(to or x.dtype), y.to(to or y.dtype), acc)
    c.store(acc.to(c.dtype))


@tl.kernel(require="mma")
def fixed(c, a, b):
    zero = tl.zeros((24, 12), tl.float32)
    c.store(tl.mma(a.load((0, 0), (24, 20)), b.load((0, 0), (20, 12)), zero))


@tl.kernel(require=["tma", "stmatrix"])
def copied(y, x):
    y.store(x.load_like(y))


@tl.kernel(require="wgmma")
def of_pair(c, pair):
    m, n = c.index
    tm, tn = c.tile_shape
    acc = tl.zeros((tm, tn), tl.float32)
    for k in range(pair[0].num_tiles(1, 64)):
        acc = tl.mma(pair[0].load((m, k), (tm, 64)), pair[1].load((k, n), (64, tn)), acc)
    c.store(acc)


def array(*shape, dtype=tl.bfloat16, **layout):
    return ArraySpec(shape, dtype, **layout)


def refusal(kernel, *args, target="sm_90a", **constants):
    with pytest.raises(CompileError) as error:
        kernel.compile(*args, target=target, phases=(), **constants)
    return error.value.message, [note.text for note in error.value.notes], error.value.hint


def product_refusal(m=256, n=256, k=256, tile=(128, 128), target="sm_90a", **changes):
    a, b = changes.pop("a", None), changes.pop("b", None)
    dtype = changes.pop("dtype", tl.bfloat16)
    c = tl.partition(array(m, n, dtype=tl.float32), tile)
    a, b = a or array(m, k, dtype=dtype), b or array(k, n, dtype=dtype)
    return refusal(product, c, a, b, target=target, **changes)


def lacking(target="sm_90a", found="cp_async, ldmatrix and mma"):
    return (
        f"product does not keep its contract: its machine code for {target} must use wgmma and "
        f"tma, found {found}"
    )


# -- kept ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tile", [tl.AUTO, (128, 128), (64, 96)])
def test_kept_contract_compiles(tile):
    c = tl.partition(array(512, 768), tile)
    compiled = product.compile(c, array(512, 256), array(256, 768), target="sm_90a", phases=())
    assert {"wgmma", "tma"} <= compiled.features
    assert compiled.metadata()["features"] == sorted(compiled.features)


def test_contract_does_not_bind_the_cpu_executor(rng):
    a, b = (rng.standard_normal((16, 16)).astype(np.float32) for _ in range(2))
    c = np.zeros((16, 16), np.float32)
    product(tl.partition(c, (16, 16)), a, b, tk=16)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5, atol=1e-5)


# -- broken: the target ----------------------------------------------------------------------------


def test_feature_that_the_target_lacks_is_told_with_the_targets_that_have_it():
    assert product_refusal(target="sm_86") == (
        lacking("sm_86"),
        [
            "sm_86 has cp_async, ldmatrix and mma",
            "targets with wgmma: sm_90a",
            "targets with tma: sm_90a, sm_100a, sm_103a and sm_120a",
        ],
        None,
    )


# -- broken: the shape, the dtype, the memory ------------------------------------------------------


def test_tile_that_wgmma_does_not_divide_is_told_the_nearest():
    assert product_refusal(tile=(48, 40)) == (
        lacking(),
        [HOPPER, "wgmma multiplies M x N x K in multiples of 64 x 8 x 16, found 48 x 40 x 64"],
        "the nearest that wgmma multiplies is 64 x 48 x 64",
    )
    test_kept_contract_compiles((64, 48))


@pytest.mark.parametrize(
    ("tile", "tk"), [((24, 24), 64), ((72, 56), 64), ((100, 100), 24), ((1, 8), 40), ((200, 8), 8)]
)
def test_the_nearest_keeps_the_contract(tile, tk):
    _, _, hint = product_refusal(tile=tile, tk=tk)
    m, n, k = map(int, hint.rpartition("wgmma multiplies is ")[2].split(" x "))
    c = tl.partition(array(512, 512, dtype=tl.float32), (m, n))
    product.compile(c, array(512, 512), array(512, 512), target="sm_90a", phases=(), tk=k)


def test_step_that_wgmma_does_not_divide_is_told_the_nearest():
    assert product_refusal(tile=(64, 64), tk=24) == (
        lacking(found="cp_async"),
        [
            HOPPER,
            "mma.sync multiplies M x N x K in multiples of 16 x 8 x 16, found 64 x 64 x 24; "
            "wgmma multiplies M x N x K in multiples of 64 x 8 x 16, found 64 x 64 x 24",
        ],
        "the nearest that mma.sync multiplies is 64 x 64 x 32; the nearest that wgmma multiplies "
        "is 64 x 64 x 32",
    )


def test_dtype_that_wgmma_does_not_multiply_is_told_the_nearest():
    assert product_refusal(tile=(64, 64), dtype=tl.float32, tk=32) == (
        lacking(found="cp_async"),
        [
            HOPPER,
            "the tensor cores of sm_90a do not multiply f32 x f32 into f32, they multiply f16, "
            "bf16, tf32, f64, i8 into i32, e4m3 and e5m2 into f32",
        ],
        "the nearest dtype is tf32: x.to(tl.tfloat32) on both operands",
    )


def test_rows_that_tma_does_not_take_are_told_the_nearest():
    assert product_refusal(a=array(256, 260, strides=(260, 1)), tile=tl.AUTO) == (
        lacking(found="cluster, cp_async, ldmatrix and mma"),  # that share the depth
        [
            HOPPER,
            "threads load its left operand, and copies ahead serve mma.sync better: the stride of "
            "dimension 0 of its array is a multiple of 8 bytes, expected 16",
        ],
        "allocate a with rows of a multiple of 8 elements",
    )


def test_address_that_tma_does_not_take_is_told():
    message, notes, hint = product_refusal(b=array(256, 256, align_bytes=8))
    assert (message, hint) == (lacking(), None)
    assert notes[1:] == [
        "threads load its right operand, and copies ahead serve mma.sync better: its array is "
        "aligned to 8 bytes, expected 16"
    ]


def test_order_that_wgmma_does_not_take_is_told_the_nearest():
    b = array(256, 256, dtype=tl.int8)
    message, notes, hint = refusal(
        int_product, tl.partition(array(256, 256, dtype=tl.int32), (64, 64)), b, b
    )
    assert message.endswith("must use wgmma, found cp_async, ldmatrix and mma")
    assert notes[1:] == ["8- and 32-bit operands have to lie along K, its right one does not"]
    assert hint == "store it transposed and load its .T"


@tl.kernel(require="wgmma")
def int_product(c, a, b):
    m, n = c.index
    tm, tn = c.tile_shape
    acc = tl.zeros((tm, tn), tl.int32)
    for k in range(a.num_tiles(1, 128)):
        acc = tl.mma(a.load((m, k), (tm, 128)), b.load((k, n), (128, tn)), acc)
    c.store(acc)


def test_arguments_inside_a_tuple_are_named_by_their_place():
    c = tl.partition(array(256, 256, dtype=tl.float32), (64, 64))
    _, notes, hint = refusal(of_pair, c, (array(256, 256), array(256, 250)))
    assert hint == "allocate pair[1] with rows of a multiple of 8 elements"
    assert notes[1].endswith("dimension 0 of its array is a multiple of 4 bytes, expected 16")


def test_kernel_right_for_one_tile_only_is_told_the_nearest():
    c = tl.partition(array(24, 12, dtype=tl.float32), (24, 12))
    message, notes, hint = refusal(fixed, c, array(24, 20), array(20, 12), target="sm_80")
    assert message == (
        "fixed does not keep its contract: its machine code for sm_80 must use mma, found none"
    )
    assert notes == [
        "sm_80 has cp_async, ldmatrix and mma",
        "mma.sync multiplies M x N x K in multiples of 16 x 8 x 16, found 24 x 12 x 20",
    ]
    assert hint == "the nearest that mma.sync multiplies is 32 x 16 x 16"


def test_kernel_without_products_is_told_what_it_has():
    y = tl.partition(array(64, 64), (32, 32))
    message, notes, hint = refusal(copied, y, array(64, 64))
    assert message == (
        "copied does not keep its contract: its machine code for sm_90a must use tma and "
        "stmatrix, found none"
    )
    assert notes == [
        HOPPER,
        "load of x: its tile goes to registers, and TMA fetches what products read as it is",
        "store of y: TMA stores results of wgmma, in kernels whose warps have roles",
    ]
    assert hint is None
    _, notes, _ = refusal(tl.kernel(require="wgmma")(copied.function), y, array(64, 64))
    assert notes[1:] == ["it multiplies no tiles (tl.mma)"]


@tl.kernel(require=("cluster", "setmaxnreg"))
def alone(c, a, b):
    m, n = c.index
    tm, tn = c.tile_shape
    acc = tl.zeros((tm, tn), tl.float32)
    for k in range(a.num_tiles(1, 64)):
        acc = tl.mma(a.load((m, k), (tm, 64)), b.load((k, n), (64, tn)), acc)
    c.store(acc)


def test_choice_for_the_kernel_is_told_with_its_reason():
    c = tl.partition(array(256, 256, dtype=tl.float32), (64, 64))
    message, notes, hint = refusal(alone, c, array(256, 256), array(256, 256))
    assert message.startswith(
        "alone does not keep its contract: its machine code for sm_90a must use cluster and "
        "setmaxnreg, found "
    )
    assert notes[1:] == [
        "cluster: none (rows of the arrays start at cache lines)",
        "roles: ping-pong: a producer, and two programs of 4 warps that take turns at tiles (one "
        "warpgroup can hold the accumulators)",
    ]
    assert hint is None


def test_reasons_show_the_line_that_they_speak_of():
    c = tl.partition(array(256, 256, dtype=tl.float32), (48, 48))
    with pytest.raises(CompileError) as error:
        of_pair.compile(c, (array(256, 256), array(256, 256)), target="sm_90a", phases=())
    [reason] = [note for note in error.value.notes if note.span]
    assert reason.text.startswith("wgmma multiplies M x N x K")
    line = of_pair.function.__code__.co_firstlineno + 6
    assert (reason.span.file, reason.span.line) == (__file__, line)


def test_refusal_shows_the_kernel():
    with pytest.raises(CompileError) as error:
        product.compile(
            tl.partition(array(64, 64), (64, 64)), array(64, 64), array(64, 64), target="sm_80"
        )
    assert error.value.frames[0].function == "product"
    assert error.value.frames[0].span.file == __file__


# -- broken: spills --------------------------------------------------------------------------------


def facts(spilled, features=("wgmma", "tma")):
    return {
        "assembler": "ptxas 13.0",
        "features": list(features),
        "resources": {
            "registers": 255,
            "spill_store_bytes": spilled,
            "spill_load_bytes": 2 * spilled,
        },
    }


def checked(kernel, metadata):
    request = kernel.request(
        tl.partition(array(64, 64), (64, 64)), array(64, 64), array(64, 64), target="sm_90a"
    )
    kernel.check_contract(request, metadata)


@pytest.mark.parametrize(("limit", "spilled"), [(0, 0), (16, 8), (None, 4000)])
def test_spills_within_the_limit_are_no_breach(limit, spilled):
    checked(tl.kernel(max_spills=limit)(product.function), facts(spilled))


def test_spills_beyond_the_limit_are_refused():
    with pytest.raises(CompileError) as error:
        checked(tl.kernel(max_spills=8)(product.function), facts(20))
    assert error.value.message == (
        "product does not keep its contract: its machine code for sm_90a may spill 8 bytes a "
        "thread, found 40"
    )
    assert [n.text for n in error.value.notes] == ["ptxas 13.0 gives it 255 registers a thread"]
    assert error.value.hint == (
        "a smaller tile, or more warps (num_warps=), leave more registers to each element"
    )


def test_real_spills_are_refused():
    tight = tl.kernel(max_spills=0, num_warps=1)(product.function)
    with pytest.raises(CompileError, match="may spill 0 bytes a thread, found"):
        tight.compile(
            tl.partition(array(64, 256), (64, 256)), array(64, 256), array(256, 256),
            target="sm_80", phases=(),
        )  # fmt: skip


def test_spills_that_nobody_reports_warn():
    text = (
        "max_spills=0 of product is not checked: driver 13.0 assembles it as it loads it, and "
        "does not say what it spills"
    )
    unknown = {"assembler": "driver 13.0", "features": ["tma", "wgmma"], "resources": None}
    with pytest.warns(TilecWarning) as caught:
        checked(product, unknown)
    assert str(caught[0].message) == text


# -- hits of the cache -----------------------------------------------------------------------------


class Job:
    """Stands for the compiler; counts what it is asked for."""

    compiled = 0

    def __init__(self, request):
        self.request = request

    def trace(self):
        return self

    def ir_key(self, traced):
        return "f" * 64

    def compile(self, traced):
        Job.compiled += 1
        flat = [
            ("view", spec.dtype.short, spec.rank, spec.access, spec.unit_strides)
            for spec in self.request.signature.runtime()
        ]
        return Entry(json.dumps(plan_of(flat)), b"cubin", "// ptx", facts(40, features=["tma"]))


@pytest.fixture
def cached(monkeypatch, tmp_path):
    cache = DiskCache(tmp_path, 2**20)
    monkeypatch.setattr(kernel_module, "disk_cache", lambda: cache)
    monkeypatch.setattr(kernel_module, "CompileJob", Job)
    monkeypatch.setattr(Adviser, "__call__", lambda *_: SimpleNamespace(reasons=(), nearest=None))
    monkeypatch.setattr(Job, "compiled", 0)


def test_hit_is_checked_without_compiling(driver, memory, cached):
    def launch(**contract):
        kernel = tl.kernel(**contract)(copied.function)
        kernel(tl.partition(memory.array((16, 16)), (16, 16)), memory.array((16, 16)))

    launch()
    assert (Job.compiled, driver.launches) == (1, 1)
    for _ in range(2):  # found by its IR, then by its source
        with pytest.raises(CompileError, match="must use wgmma, found tma"):
            launch(require="wgmma")
        with pytest.raises(CompileError, match="may spill 79 bytes a thread, found 80"):
            launch(max_spills=79)
    launch(require="tma", max_spills=80)
    assert (Job.compiled, driver.launches) == (1, 2)


# -- decoration ------------------------------------------------------------------------------------


def test_require_keeps_each_name_once():
    assert tl.kernel(require=["tma", "mma", "tma"])(copied.function).options.require == (
        "tma",
        "mma",
    )
    assert tl.kernel(require="tma")(copied.function).options.require == ("tma",)


@pytest.mark.parametrize("name", ["wgmm", 7])
def test_unknown_feature_is_refused_with_the_known_ones(name):
    with pytest.raises(LaunchError) as error:
        tl.kernel(require=("tma", name))
    assert error.value.message == f"require must name features of the hardware, found {name!r}"
    assert error.value.hint == (
        "known are cluster, cp_async, ldmatrix, mma, setmaxnreg, stmatrix, tcgen05, tma, "
        "tma_multicast and wgmma"
    )


@pytest.mark.parametrize("bytes_", [-1, 1.5, True, "0"])
def test_impossible_limit_of_spills_is_refused(bytes_):
    with pytest.raises(LaunchError) as error:
        tl.kernel(max_spills=bytes_)
    assert (
        error.value.message == f"max_spills must be a number of bytes from 0 on, found {bytes_!r}"
    )


def test_contract_alone_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checked(product, facts(0))
