import errno
import os
import stat
import threading
import time
import warnings

import pytest

from tilec.diagnostics import CacheWarning
from tilec.jit import store as store_module
from tilec.jit.store import Store

MIB = 2**20


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "cache" / "v1", limit_bytes=MIB)


def fail(number):
    def failing(*_, **__):
        raise OSError(number, os.strerror(number))

    return failing


def age(store, name, seconds):
    then = time.time() - seconds
    os.utime(store.directory / name, (then, then))


def test_store_written_file_is_read_back(store):
    assert store.read("a") is None
    assert store.write("a", b"one")
    assert store.write("a", b"two")
    assert store.read("a") == b"two"
    assert [file.name for file in store.files()] == ["a"]
    assert store.problem is None


def test_store_directory_is_private(store):
    store.write("a", b"one")
    assert stat.S_IMODE(store.directory.stat().st_mode) == 0o700
    assert stat.S_IMODE((store.directory / "a").stat().st_mode) == 0o600


def test_store_remove_tells_whether_it_was_there(store):
    store.write("a", b"one")
    assert store.remove("a")
    assert not store.remove("a")
    assert store.read("a") is None


def test_store_probe_tells_why_it_cannot_write(store, monkeypatch):
    assert store.probe() is None
    assert os.listdir(store.directory) == []
    monkeypatch.setattr(store_module.os, "replace", fail(errno.ENOSPC))
    assert store.probe() == "no space left on device"
    assert store.problem is None


def test_store_vanished_directory_is_made_again(store):
    store.write("a", b"one")
    (store.directory / "a").unlink()
    store.directory.rmdir()
    assert store.read("a") is None
    assert store.files() == []
    assert store.write("a", b"two")
    assert store.read("a") == b"two"
    assert store.problem is None


def test_store_behind_a_linked_parent_works(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    store = Store(tmp_path / "link" / "v1", MIB)
    assert store.write("a", b"one")
    assert store.read("a") == b"one"
    assert (tmp_path / "real" / "v1" / "a").read_bytes() == b"one"


def test_store_directory_that_is_a_link_is_not_followed(tmp_path):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "v1").symlink_to(tmp_path / "elsewhere")
    store = Store(tmp_path / "v1", MIB)
    with pytest.warns(CacheWarning):
        assert not store.write("a", b"one")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_store_file_that_is_a_link_is_not_followed(store, tmp_path):
    store.write("a", b"one")
    (tmp_path / "outside").write_bytes(b"foreign")
    (store.directory / "b").symlink_to(tmp_path / "outside")
    with pytest.warns(CacheWarning):
        assert store.read("b") is None
    assert store.write("b", b"own")  # the link is replaced, not written through
    assert (tmp_path / "outside").read_bytes() == b"foreign"
    assert store.read("b") == b"own"


def test_store_pipe_in_place_of_a_file_does_not_hang(store):
    store.write("a", b"one")
    os.mkfifo(store.directory / "b", 0o600)
    with pytest.warns(CacheWarning, match="not a regular file of this user"):
        assert store.read("b") is None


def test_store_directory_open_to_others_is_not_used(store):
    store.write("a", b"one")
    store.directory.chmod(0o777)
    with pytest.warns(CacheWarning, match=r"others can write to it \(mode 0777, expected 0700\)"):
        assert store.read("a") is None


def test_store_directory_of_another_user_is_not_used(store, monkeypatch):
    store.write("a", b"one")
    monkeypatch.setattr(store_module.os, "geteuid", lambda: os.getuid() + 1)
    with pytest.warns(CacheWarning, match="it belongs to user"):
        assert store.read("a") is None


def test_store_without_a_home_is_not_used():
    from pathlib import Path

    store = Store(Path("~/.cache/tilec"), MIB)
    with pytest.warns(CacheWarning, match="no home directory is known"):
        assert not store.write("a", b"one")
    assert not Path("~").exists()


def test_store_where_a_file_is_in_the_way_is_not_used(tmp_path):
    (tmp_path / "cache").write_text("a file")
    store = Store(tmp_path / "cache" / "v1", MIB)
    with pytest.warns(CacheWarning):
        assert not store.write("a", b"one")
        assert store.read("a") is None


@pytest.mark.parametrize(
    "number", [errno.EROFS, errno.ENOSPC, errno.EBUSY, errno.ESTALE, errno.EIO]
)
@pytest.mark.parametrize("call", ["open", "fsync", "replace", "mkdir", "scandir"])
def test_store_failing_call_is_one_warning_and_no_crash(store, monkeypatch, call, number):
    if call != "mkdir":
        store.write("old", b"old")
    monkeypatch.setattr(store_module.os, call, fail(number))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        store.write("a", b"one")
        store.write("b", b"two")
        with store.lock("a", 0.1):
            pass
        store.files()
        store.read("a")
    told = [str(warning.message) for warning in caught]
    assert len(told) == 1
    assert os.strerror(number).lower() in told[0]
    monkeypatch.undo()
    assert [file.name for file in store.files() if file.name.endswith(".tmp")] == []
    if call != "mkdir":
        assert store.read("old") == b"old"


def test_store_failing_write_leaves_the_old_file(store, monkeypatch):
    store.write("a", b"old")
    monkeypatch.setattr(store_module.os, "replace", fail(errno.EBUSY))
    with pytest.warns(CacheWarning, match="cannot write a: device or resource busy"):
        assert not store.write("a", b"new")
    assert store.read("a") == b"old"
    assert os.listdir(store.directory) == ["a"]


def test_store_file_system_without_sync_still_stores(store, monkeypatch):
    monkeypatch.setattr(store_module.os, "fsync", fail(errno.ENOTSUP))
    assert store.write("a", b"one")
    assert store.read("a") == b"one"


def test_store_stale_handle_is_looked_up_again(store, monkeypatch):
    store.write("a", b"one")
    real, calls = os.fstat, []

    def once(descriptor):
        calls.append(descriptor)
        if len(calls) == 2:
            fail(errno.ESTALE)()
        return real(descriptor)

    monkeypatch.setattr(store_module.os, "fstat", once)
    assert store.read("a") == b"one"
    assert store.problem is None


def test_store_beyond_its_limit_drops_what_was_used_least_recently(store):
    for index in range(10):
        store.write(f"f{index}", bytes(100_000))
        age(store, f"f{index}", 1000 - index)
    assert store.read("f0") is not None  # now the one used last
    store.write("new", bytes(100_000))
    left = {file.name for file in store.files()}
    assert {"f0", "new", "f9"} <= left
    assert "f1" not in left
    assert sum(file.size_bytes for file in store.files()) <= 0.9 * MIB


def test_store_file_larger_than_the_limit_is_not_kept(store):
    store.write("a", b"one")
    assert not store.write("b", bytes(MIB + 1))
    assert [file.name for file in store.files()] == ["a"]


def test_store_abandoned_temporary_files_go(store):
    store.write("a", b"one")
    (store.directory / "x.0.tmp").write_bytes(b"half")
    (store.directory / "y.0.tmp").write_bytes(b"half")
    age(store, "x.0.tmp", 7200)
    store.write("b", b"two")
    assert sorted(os.listdir(store.directory)) == ["a", "b", "y.0.tmp"]
    assert [file.name for file in store.files()] in (["a", "b"], ["b", "a"])


def test_store_lock_excludes_threads_of_one_name_only(store):
    entered, order = threading.Event(), []

    def other():
        entered.set()
        with store.lock("a", 10) as held:
            order.append(("other", held))

    with store.lock("a", 1) as held, store.lock("b", 1) as also:
        assert held and also
        thread = threading.Thread(target=other)
        thread.start()
        entered.wait()
        time.sleep(0.05)
        order.append(("first", True))
    thread.join()
    assert order == [("first", True), ("other", True)]


def test_store_lock_gives_up_after_its_timeout(store):
    with store.lock("a", 1):
        start = time.monotonic()
        with store.lock("a", 0.1) as held:
            assert not held
        assert 0.1 <= time.monotonic() - start < 5


def test_store_lock_is_free_when_a_forked_child_outlives_it(store):
    with store.lock("a", 1):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(writer)
            os.read(reader, 1)
            os._exit(0)
        os.close(reader)
    with store.lock("a", 0) as held:
        assert held
    os.close(writer)
    os.waitpid(child, 0)


@pytest.mark.parametrize("number", [errno.ENOTSUP, errno.ESTALE, errno.ENOLCK])
def test_store_where_locks_do_not_work_goes_on_without(store, monkeypatch, number):
    from tilec.jit import filelock

    monkeypatch.setattr(filelock.fcntl, "fcntl", fail(number))
    with pytest.warns(CacheWarning, match="cannot lock a"), store.lock("a", 5) as held:
        assert not held
