"""Many processes, one new directory: no errors, right results, one compilation a kernel."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

WORKER = """
import json, os, sys, types, warnings
sys.path.insert(0, sys.argv[1])
from building import Builder, kernel, request
from tilec.jit import filelock, store
from tilec.jit.cache import DiskCache

directory, marks, fault = sys.argv[2], sys.argv[3], int(sys.argv[4])
if fault:
    def failing(*_, **__):
        raise OSError(fault, os.strerror(fault))
    store.os.fsync = failing
    filelock.fcntl.fcntl = failing
warnings.simplefilter("ignore")

functions = [
    types.FunctionType(kernel.__code__.replace(co_consts=(None, number)), {}, "kernel")
    for number in range(8)
]
cache = DiskCache(store.Path(directory), 2**24)
sys.stdin.readline()  # all processes start at once
origins = []
for function in functions:
    builder = Builder(function, marks, compile_s=0.02)
    found = cache.obtain(request(function), builder)
    assert found.entry == Builder(function).compile(function.__code__), "another kernel's entry"
    origins.append(found.origin)
print(json.dumps(origins))
"""


def run(tmp_path, directory, fault=0, processes=16):
    marks = tmp_path / "marks"
    marks.mkdir()
    here = str(Path(__file__).parent)
    command = [sys.executable, "-c", WORKER, here, str(directory), str(marks), str(fault)]
    workers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(processes)
    ]
    for worker in workers:
        worker.stdin.write("go\n")
        worker.stdin.flush()
    outputs = [worker.communicate(timeout=120)[0] for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * processes
    return [json.loads(output) for output in outputs], sorted(os.listdir(marks))


def test_concurrent_processes_compile_each_kernel_once(tmp_path):
    origins, marks = run(tmp_path, tmp_path / "cache")
    assert len(marks) == 8
    assert sum(origin == "compiled" for row in origins for origin in row) == 8


def test_concurrent_processes_behind_a_linked_directory_compile_once(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    _, marks = run(tmp_path, tmp_path / "link" / "cache", processes=4)
    assert len(marks) == 8


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="no tmpfs at /dev/shm")
def test_concurrent_processes_on_tmpfs_compile_once(tmp_path):
    directory = Path("/dev/shm") / f"tilec-test-{os.getpid()}"
    try:
        _, marks = run(tmp_path, directory / "cache", processes=4)
        assert len(marks) == 8
    finally:
        subprocess.run(["rm", "-rf", str(directory)], check=True)


@pytest.mark.parametrize("fault", [errno.EBUSY, errno.ESTALE, errno.ENOTSUP])
def test_concurrent_processes_without_sync_and_locks_all_succeed(tmp_path, fault):
    origins, _ = run(tmp_path, tmp_path / "cache", fault, processes=4)
    assert len(origins) == 4
