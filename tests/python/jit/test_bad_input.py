"""Input that cannot be: each refusal to the letter, and nothing is written anywhere.

From the author's side, whole launches; the rooms' own tests have the finer points.
"""

import errno
import os
import re
import warnings

import numpy as np
import pytest
from carets import marked, text_above_caret

import tilec as tl
from tilec.diagnostics import CacheWarning, TilecError
from tilec.jit import kernel as kernel_module
from tilec.jit import store as store_module
from tilec.jit.cache import DiskCache

UNTOUCHED = 7.0


@tl.kernel
def copied(y, x):
    y.store(x.load_like(y))


@tl.kernel
def both_copied(y, z, x):
    y.store(x.load_like(y))
    z.store(x.load_like(z))


@tl.kernel
def of_a_matrix(y, x):
    y.store(x.load((0, 0), y.tile_shape))


@tl.kernel
def run_time_shape(y, x):
    y.store(x.load((0,), (x.shape[0],)))


@tl.kernel
def stored_to_input(y, x):
    x.store((0,), tl.zeros((8,), tl.float32))


@tl.kernel
def multiplied(y, x, *, lhs: tl.Constant, rhs: tl.Constant, dtypes: tl.Constant):
    a, b = (tl.zeros(shape, dtype) for shape, dtype in zip((lhs, rhs), dtypes, strict=True))
    y.store(tl.mma(a, b, tl.zeros(y.tile_shape, tl.float32)))


def full(*shape, dtype=np.float32):
    return np.full(shape, UNTOUCHED, dtype)


def launched(kernel, outputs, *others, tile=(8,), **keywords):
    """The error of a launch that changes none of its arrays."""
    arrays = [a for a in (*outputs, *others) if isinstance(a, np.ndarray)]
    before = [a.tobytes() for a in arrays]
    with pytest.raises(TilecError) as error:
        kernel(*(tl.partition(y, tile) for y in outputs), *others, **keywords)
    assert [a.tobytes() for a in arrays] == before
    return error.value


# -- arguments -------------------------------------------------------------------------------------


def overlapping():
    memory = full(16)
    return memory[:8], memory[4:12]


def own_elements_overlap():
    return np.lib.stride_tricks.as_strided(full(8), (4, 4), (4, 4))


def read_only():
    array = full(8)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("kernel", "outputs", "others", "tile", "message", "hint"),
    [
        (
            copied,
            lambda: [full(8)],
            lambda: [full(8).astype(np.complex64)],
            (8,),
            "argument 'x' has an element type that kernels do not know: complex64 (<c8)",
            None,
        ),
        (
            copied,
            lambda: [full(8, 8)],
            lambda: [full(8)],
            (8,),
            "argument 'y' is a partition of an array with 2 dimensions into tiles with 1, expected "
            "as many",
            None,
        ),
        (
            both_copied,
            lambda: [full(8), full(16)],
            lambda: [full(8)],
            (8,),
            "partitions have different tile grids: 'y' has (1,) tiles of (8,), 'z' has (2,) tiles "
            "of (8,)",
            "every program owns one tile of each partition",
        ),
        (
            copied,
            lambda: [own_elements_overlap()],
            lambda: [full(8)],
            (4, 4),
            "argument 'y' is written, but its own elements overlap: shape (4, 4), strides (1, 1)",
            "write to an array of its own and copy or reduce it",
        ),
        (
            copied,
            lambda: [read_only()],
            lambda: [full(8)],
            (8,),
            "argument 'y' is a read-only array, expected a writable one",
            None,
        ),
    ],
)
def test_argument_that_cannot_be_is_refused(kernel, outputs, others, tile, message, hint):
    error = launched(kernel, outputs(), *others(), tile=tile)
    assert (type(error), error.message, error.hint) == (tl.LaunchError, message, hint)


def test_output_that_shares_memory_with_an_input_is_refused():
    y, x = overlapping()
    error = launched(copied, [y], x)
    assert error.message == (
        "argument 'y' is written, but shares memory with argument 'x', expected disjoint arrays"
    )
    assert error.hint == (
        "to work in place, read the output itself: 'y'.load(), and do not pass 'x'"
    )


def test_two_outputs_in_one_memory_are_refused():
    error = launched(both_copied, overlapping(), full(8))
    assert error.message == (
        "argument 'y' is written, but shares memory with argument 'z', expected disjoint arrays"
    )


def test_numpy_array_beside_a_gpu_array_is_refused(driver, memory):
    with pytest.raises(tl.LaunchError) as error:
        copied(tl.partition(memory.array((8,)), (8,)), full(8))
    assert error.value.message == (
        "arguments are on different devices: 'y' is in cuda:0, 'x' is in host memory"
    )
    assert error.value.hint == "move 'x' to the GPU, or all arguments to the host"
    assert driver.launches == 0


# -- what the kernel says of its arguments ---------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "output", "other", "message", "caret", "hint"),
    [
        (
            copied,
            full(8),
            full(8, 8),
            "load_like: x has rank 2, partition y has rank 1",
            "x.load_like(y)",
            "x.load(index, tile_shape)",
        ),
        (
            of_a_matrix,
            full(8),
            full(8),
            "load: index has 2 entries, x has rank 1",
            "x.load((0, 0), y.tile_shape)",
            None,
        ),
        (
            copied,
            full(8, dtype=np.float16),
            full(8),
            "store: y holds float16, found a tile of float32 (8,)",
            "y.store(x.load_like(y))",
            "convert it: x.to(y.dtype)",
        ),
        (
            stored_to_input,
            full(8),
            full(8),
            "x is read-only",
            "x.store((0,), tl.zeros((8,), tl.float32))",
            "pass it as tl.partition(x, tile_shape) and call .store(tile)",
        ),
        (
            run_time_shape,
            full(8),
            full(8),
            "load: a tile's shape must be known at compile time, found a run-time int",
            "x.load((0,), (x.shape[0],))",
            "make it a tl.Constant parameter",
        ),
    ],
)
def test_use_of_an_argument_that_cannot_be_is_refused_at_its_place(
    kernel, output, other, message, caret, hint
):
    error = launched(kernel, [output], other)
    assert (error.message, error.hint) == (message, hint)
    assert error.frames[0].function == kernel.name
    assert text_above_caret(error.frames[0].span) == marked(caret)


@pytest.mark.parametrize(
    ("lhs", "rhs", "dtypes", "message"),
    [
        (
            (8, 32),
            (16, 8),
            (tl.float16, tl.float16),
            "mma operands disagree on K: lhs is (8, 32), rhs is (16, 8)",
        ),
        (
            (8, 32),
            (32, 16),
            (tl.float16, tl.float16),
            "mma accumulator must be (8, 16), found (8, 8)",
        ),
        (
            (8, 32),
            (32, 8),
            (tl.float16, tl.float32),
            "mma operands must have one dtype, found float16 and float32",
        ),
        (
            (8, 32),
            (32, 8),
            (tl.int8, tl.int8),
            "mma of int8 accumulates in int32, found float32",
        ),
        (
            (8, 8, 8),
            (8, 8),
            (tl.float16, tl.float16),
            "mma: lhs must be a tile of rank 2, found a tile of float16 (8, 8, 8)",
        ),
    ],
)
def test_operands_of_a_product_that_disagree_are_refused_at_its_place(lhs, rhs, dtypes, message):
    error = launched(
        multiplied, [full(8, 8)], full(8), tile=(8, 8), lhs=lhs, rhs=rhs, dtypes=dtypes
    )
    assert error.message == message
    assert error.frames[0].function == "multiplied"
    product = "tl.mma(a, b, tl.zeros(y.tile_shape, tl.float32))"
    assert text_above_caret(error.frames[0].span) == marked(product)


# -- source that cannot be had ---------------------------------------------------------------------

WITHOUT_SOURCE = (
    "{name} runs as plain Python, without control flow on run-time values, because there is no "
    "source text for <string>"
)


def defined(source, name="made"):
    namespace = {"tl": tl}
    exec(source, namespace)
    return namespace[name]


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (
            "@tl.kernel\ndef made(y, x, n):\n    if n > 1:\n        y.store(x.load_like(y))\n",
            "made",
        ),
        (
            "made = tl.kernel(lambda y, x, n: y.store(x.load_like(y)) if n > 1 else None)",
            "<lambda>",
        ),
    ],
)
def test_control_flow_without_source_is_refused(source, name):
    error = launched(defined(source), [full(8)], full(8), 3)
    assert error.message == "Python needs the truth of a run-time bool while the kernel is traced"
    assert error.hint == WITHOUT_SOURCE.format(name=name)


@pytest.mark.parametrize(
    "source",
    [
        "@tl.kernel\ndef made(y, x):\n    y.store(x.load_like(y))\n",
        "made = tl.kernel(lambda y, x: y.store(x.load_like(y)))",
    ],
)
def test_straight_line_without_source_runs(source):
    y, x = full(8), np.arange(8, dtype=np.float32)
    defined(source)(tl.partition(y, (8,)), x)
    np.testing.assert_array_equal(y, x)


# -- targets, assemblers, the cache ----------------------------------------------------------------


def test_unsupported_target_is_refused():
    with pytest.raises(tl.CompileError) as error:
        copied.compile(tl.partition(full(8), (8,)), full(8), target="sm_75")
    assert error.value.message == (
        "unsupported target 'sm_75', expected one of sm_80, sm_86, sm_89, sm_90a, sm_100a, "
        "sm_103a, sm_120a"
    )


def test_missing_assembler_is_refused_with_what_was_tried(monkeypatch):
    from tilec.compiler import assemble

    def absent(*_):
        raise assemble.Unavailable("not here")

    for name in ("nvjitlink_version", "find_ptxas", "_driver"):
        monkeypatch.setattr(assemble, name, absent)
    with pytest.raises(tl.CompileError) as error:
        copied.compile(tl.partition(full(8), (8,)), full(8), target="sm_80")
    assert error.value.message == (
        "no assembler for sm_80 (nvJitLink: not here; ptxas: not here; driver: not here)"
    )
    assert error.value.hint == "pip install nvidia-nvjitlink"


def made_through(cache, monkeypatch):
    """The warnings of compiling through a cache."""
    monkeypatch.setattr(kernel_module, "disk_cache", lambda: cache)
    request = copied.request(tl.partition(full(8), (8,)), full(8), target="sm_80")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert copied._obtain(request).ptx
    assert {item.category for item in caught} <= {CacheWarning}
    return [str(item.message) for item in caught]


@pytest.mark.parametrize(
    ("call", "number", "reason"),
    [
        ("open", errno.EROFS, "read-only file system"),
        ("open", errno.ENOSPC, "no space left on device"),
    ],
)
def test_cache_that_takes_nothing_is_a_miss_and_one_warning(
    tmp_path, monkeypatch, call, number, reason
):
    cache = DiskCache(tmp_path, 1 << 20)

    def failing(*_, **__):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(store_module.os, call, failing)
    [first] = made_through(cache, monkeypatch)
    assert re.sub(r"\b[0-9a-f]{32,}\b", "KEY", first) == (
        f"the disk cache in {cache.directory} is not fully usable (cannot read KEY.source: "
        f"{reason}); what it cannot give is compiled again"
    )
    assert made_through(cache, monkeypatch) == []
    monkeypatch.undo()
    assert list(tmp_path.rglob("*.entry")) == []


def test_cache_entry_that_is_damaged_is_a_miss_and_one_warning(tmp_path, monkeypatch):
    assert made_through(DiskCache(tmp_path, 1 << 20), monkeypatch) == []
    [path] = tmp_path.rglob("*.entry")
    path.write_bytes(path.read_bytes()[:-1])
    [warning] = made_through(DiskCache(tmp_path, 1 << 20), monkeypatch)
    assert f"{path.name} is damaged" in warning


def test_cache_directory_that_vanished_is_a_miss(tmp_path, monkeypatch):
    import shutil

    cache = DiskCache(tmp_path / "cache", 1 << 20)
    assert made_through(cache, monkeypatch) == []
    shutil.rmtree(tmp_path / "cache")
    assert made_through(cache, monkeypatch) == []
    assert len(list(tmp_path.rglob("*.entry"))) == 1
