"""Kernels beyond what a target has: a plan that falls back, or an error that shows the budget."""

import inspect

import pytest

import tilec as tl
from tilec.diagnostics import CompileError

BF16, F32 = tl.bfloat16, tl.float32


@tl.kernel
def in_one_step(c, a, b):
    x = a.load((0, 0), (64, 952))
    y = b.load((0, 0), (952, 64))
    c.store(tl.mma(x, y, tl.zeros((64, 64), tl.float32)))


@tl.kernel
def product(c, a, b, *, tk: tl.Constant[int] = 64):
    m, n = c.index
    tm, tn = c.tile_shape
    acc = tl.zeros((tm, tn), tl.float32)
    for k in range(a.num_tiles(1, tk)):
        acc = tl.mma(a.load((m, k), (tm, tk)), b.load((k, n), (tk, tn)), acc)
    c.store(acc)


@tl.kernel
def copied(y, x):
    y.store(x.load_like(y))


def compiled(kernel, tile, m=1024, n=1024, k=4096, target="sm_90a", **constants):
    c = tl.partition(tl.ArraySpec((m, n), F32), tile)
    a, b = tl.ArraySpec((m, k), BF16), tl.ArraySpec((k, n), BF16)
    return kernel.compile(c, a, b, target=target, phases=(), **constants)


def refusal(*arguments, **keywords):
    with pytest.raises(CompileError) as error:
        compiled(*arguments, **keywords)
    return error.value


def notes(error, kernel):
    """The notes, with the source lines that they point at."""
    lines, first = inspect.getsourcelines(kernel.function)
    return [(note.text, lines[note.span.line - first].strip()) for note in error.notes]


def chosen(compiled, subject):
    return [item.outcome for item in compiled.decisions if item.subject == subject]


# -- shared memory ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("target", "has"), [("sm_80", 166912), ("sm_86", 101376)])
def test_operands_beyond_shared_memory_are_refused_with_their_bytes(target, has):
    error = refusal(in_one_step, (64, 64), 64, 64, 952, target=target)
    assert error.message == (
        f"kernel needs 243712 bytes of shared memory, {target} has {has} a block: use smaller "
        "tiles, or smaller steps along K"
    )
    product_line = "c.store(tl.mma(x, y, tl.zeros((64, 64), tl.float32)))"
    assert notes(error, in_one_step) == [
        ("121856 bytes for a tile of (64, 952) bf16", product_line),
        ("121856 bytes for a tile of (952, 64) bf16", product_line),
    ]


def test_one_stage_of_a_queue_beyond_shared_memory_is_refused_with_its_bytes():
    error = refusal(product, (128, 256), tk=512)
    assert error.message == (
        "kernel needs 426000 bytes of shared memory, sm_90a has 232448 a block: use smaller "
        "tiles, or smaller steps along K"
    )
    load_line = "acc = tl.mma(a.load((m, k), (tm, tk)), b.load((k, n), (tk, tn)), acc)"
    assert notes(error, product) == [
        ("262144 bytes for 1 stage of a tile of (512, 256) bf16", load_line),
        ("131072 bytes for 1 stage of a tile of (128, 512) bf16", load_line),
        ("32768 bytes to store a tile of (128, 256) f32", "c.store(acc)"),
        ("16 bytes for barriers and scratch", "@tl.kernel"),
    ]


@pytest.mark.parametrize(
    ("tk", "stages"),
    [(64, "4 of 49152 bytes"), (128, "2 of 98304 bytes"), (256, "1 of 196608 bytes")],
)
def test_stages_fall_back_to_what_there_is_memory_for(tk, stages):
    assert chosen(compiled(product, (128, 256), tk=tk), "stages") == [stages]


@pytest.mark.parametrize("target", ["sm_80", "sm_86", "sm_90a"])
@pytest.mark.parametrize("tk", [64, 256, 512])
def test_tile_of_auto_falls_back_to_one_that_fits(target, tk):
    plan = compiled(product, tl.AUTO, target=target, tk=tk).plan
    assert plan["shared_bytes"] <= {"sm_80": 166912, "sm_86": 101376, "sm_90a": 232448}[target]


# -- registers -------------------------------------------------------------------------------------


def test_tile_beyond_the_registers_is_refused_with_its_share_of_each_thread():
    error = refusal(product, (512, 512))
    assert error.message == (
        "tile of shape (512, 512) takes 1024 registers of each of 256 threads, expected at most 512"
    )
    assert error.frames[0].function == "product"


def test_tile_of_a_copy_beyond_the_registers_is_refused_with_its_share_of_each_thread():
    y, x = (tl.ArraySpec((4096, 4096), F32) for _ in range(2))
    with pytest.raises(CompileError) as error:
        copied.compile(tl.partition(y, (512, 1024)), x, target="sm_80", phases=())
    assert error.value.message == (
        "tile of shape (512, 1024) takes 1024 registers of each of 512 threads, expected at most "
        "512"
    )


def test_registers_of_auto_do_not_spill():
    for target in ("sm_80", "sm_90a"):
        assert compiled(product, tl.AUTO, target=target).resources.spill_store_bytes == 0
