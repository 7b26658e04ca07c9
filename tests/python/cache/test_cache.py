import errno
import os
import random
import warnings

import platformdirs
import pytest

from tilec.diagnostics import CacheWarning, CompileError
from tilec.jit import cache as cache_module
from tilec.jit import store as store_module
from tilec.jit.cache import DiskCache, default_directory, source_key
from tilec.settings import Settings
from tilec.trace.options import KernelOptions

from .building import Builder, kernel, request


@pytest.fixture
def cache(tmp_path):
    return DiskCache(tmp_path / "cache", 2**20)


def again(cache):
    """The same directory, as another process sees it."""
    return DiskCache(cache.directory.parent, 2**20)


def files(cache, suffix):
    return sorted(path for path in cache.directory.iterdir() if path.suffix == suffix)


def test_cache_first_request_compiles_and_second_does_nothing(cache):
    first, second = Builder(), Builder()
    made = cache.obtain(request(), first)
    found = again(cache).obtain(request(), second)
    assert (made.origin, found.origin) == ("compiled", "source")
    assert found.entry == made.entry
    assert (first.traced, first.compiled) == (1, 1)
    assert (second.traced, second.compiled) == (0, 0)


def test_cache_equal_kernel_elsewhere_is_traced_but_not_compiled(cache):
    namespace = {}
    exec("\n\ndef kernel(x):\n    return x", {"UNUSED": 1}, namespace)
    cache.obtain(request(), Builder())
    other = Builder(namespace["kernel"])
    found = cache.obtain(request(namespace["kernel"], target="sm_90a"), other)
    assert found.origin == "source"  # the same code, whatever file and line
    third = Builder(namespace["kernel"])
    found = cache.obtain(request(options=KernelOptions(num_warps=8)), third)
    assert (found.origin, third.traced, third.compiled) == ("ir", 1, 0)


def test_cache_source_key_has_everything_that_matters(monkeypatch):
    def other(x):
        return x + 1

    def renamed(x):
        return x

    keys = [
        source_key(request()),
        source_key(request(other)),
        source_key(request(renamed)),
        source_key(request(target="sm_80")),
        source_key(request(options=KernelOptions(num_warps=4))),
    ]
    monkeypatch.setattr(cache_module, "whole_build", lambda: "another build")
    keys.append(source_key(request()))
    assert len({key for key, _ in keys}) == len(keys)
    assert [reason for _, reason in keys] == [None] * len(keys)


def test_cache_kernel_without_source_key_is_found_by_its_ir(cache):
    unnamed = object()

    def captures_an_object(x):
        return unnamed

    for origin in ("compiled", "ir"):
        builder = Builder(captures_an_object)
        found = cache.obtain(request(captures_an_object), builder)
        assert found.origin == origin
        assert found.not_stored == ("unnamed is of type object, which has no content to compare")
        assert builder.traced == 1
    assert files(cache, ".source") == []


def test_cache_error_of_the_compiler_is_raised_and_not_kept(cache):
    class Failing(Builder):
        def compile(self, traced):
            raise CompileError("no such instruction")

    for _ in range(2):
        with pytest.raises(CompileError, match="no such instruction"):
            cache.obtain(request(), Failing())
    assert cache.obtain(request(), Builder()).origin == "compiled"


def test_cache_damaged_files_are_misses(cache):
    whole = cache.obtain(request(), Builder()).entry
    generator = random.Random(7)
    for suffix in (".entry", ".source"):
        for _ in range(25):
            [path] = files(cache, suffix)
            content = bytearray(path.read_bytes())
            content[generator.randrange(len(content))] ^= 1 << generator.randrange(8)
            path.write_bytes(content)
            builder = Builder()
            with pytest.warns(CacheWarning, match="is damaged"):
                found = again(cache).obtain(request(), builder)
            assert found.entry == whole
            assert builder.traced == 1
            assert again(cache).obtain(request(), Builder()).origin == "source"


def test_cache_truncated_and_empty_files_are_misses(cache):
    whole = cache.obtain(request(), Builder()).entry
    for length in (0, 1, 50, 500):
        [path] = files(cache, ".entry")
        path.write_bytes(path.read_bytes()[:length])
        with pytest.warns(CacheWarning):
            assert again(cache).obtain(request(), Builder()).entry == whole


def test_cache_vanished_entry_is_compiled_again(cache):
    cache.obtain(request(), Builder())
    [path] = files(cache, ".entry")
    path.unlink()
    assert again(cache).obtain(request(), Builder()).origin == "compiled"
    assert again(cache).obtain(request(), Builder()).origin == "source"


@pytest.mark.parametrize(
    "number", [errno.EROFS, errno.ENOSPC, errno.EBUSY, errno.ESTALE, errno.EACCES, errno.EIO]
)
@pytest.mark.parametrize("call", ["open", "fsync", "replace", "mkdir", "scandir", "fstat"])
def test_cache_failing_file_system_is_one_warning(cache, monkeypatch, call, number):
    def failing(*_, **__):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(store_module.os, call, failing)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            assert cache.obtain(request(), Builder()).entry.cubin
    monkeypatch.undo()
    assert len(caught) == 1
    assert caught[0].category is CacheWarning
    assert str(caught[0].message).startswith(f"the disk cache in {cache.directory} is not fully")
    assert cache.statistics().problem is not None


def test_cache_off_always_compiles(tmp_path):
    cache = DiskCache.from_settings(Settings(cache="off", cache_dir=tmp_path))
    for _ in range(2):
        assert cache.obtain(request(), Builder()).origin == "compiled"
    assert cache.directory is None
    assert (list(cache.listing()), cache.clear(), cache.size_bytes()) == ([], 0, 0)
    assert list(tmp_path.iterdir()) == []


def test_cache_is_off_while_phases_are_dumped(tmp_path):
    settings = Settings(cache_dir=tmp_path, dump_dir=tmp_path / "dump")
    assert DiskCache.from_settings(settings).directory is None


def test_cache_default_directory_is_the_users(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_directory() == tmp_path / "tilec"
    assert DiskCache.from_settings(Settings()).directory == tmp_path / "tilec" / "v1"


@pytest.mark.parametrize("chosen", ["/somewhere/else", "", None])
def test_cache_default_directory_is_the_one_of_platformdirs(monkeypatch, chosen):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    if chosen is not None:
        monkeypatch.setenv("XDG_CACHE_HOME", chosen)
    assert default_directory() == platformdirs.user_cache_path("tilec", appauthor=False)


def test_cache_listing_and_clear(cache):
    cache.obtain(request(), Builder())
    [item] = cache.listing()
    assert (item.symbol, item.target, item.assembler) == ("kernel", "sm_90a", "none 1.0")
    assert 1000 < item.size_bytes < cache.size_bytes()
    assert cache.clear() == 1
    assert (list(cache.listing()), cache.size_bytes()) == ([], 0)
    assert cache.obtain(request(), Builder()).origin == "compiled"


def test_cache_statistics_count_origins(cache):
    cache.obtain(request(), Builder())
    cache.obtain(request(), Builder())
    cache.obtain(request(options=KernelOptions(num_warps=8)), Builder())
    assert cache.statistics().origins == {"source": 1, "ir": 1, "compiled": 1}
    assert cache.statistics().problem is None


def test_cache_stays_below_its_limit(tmp_path):
    cache = DiskCache(tmp_path, 100_000)
    for number in range(30):
        function = kernel.__class__(kernel.__code__.replace(co_consts=(None, number)), {}, "kernel")
        cache.obtain(request(function), Builder(function, size_bytes=10_000))
        assert cache.size_bytes() <= 100_000
    assert 5 <= len(list(cache.listing())) <= 9
