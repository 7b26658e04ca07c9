import json
import os
import re
import subprocess
import sys
import threading
from dataclasses import replace

import pytest

from tilec import settings as settings_module
from tilec.compiler import containment, phases
from tilec.compiler import worker as worker_module
from tilec.compiler.phases import CompileOptions, compile_module
from tilec.compiler.target import TARGETS
from tilec.compiler.worker import Worker, WorkerError
from tilec.diagnostics import CompilerFault

from .modules import COPY

SM90 = TARGETS["sm_90a"]


@pytest.fixture(autouse=True)
def configured(monkeypatch, tmp_path):
    """Each test starts from a process without faults; `configured(...)` changes its settings."""
    chosen = settings_module.Settings(cache_dir=tmp_path)

    def configure(**changes):
        nonlocal chosen
        chosen = replace(chosen, **changes)

    monkeypatch.setattr(settings_module, "current", lambda: chosen)
    monkeypatch.setattr(containment, "_state", containment._State())
    yield configure
    for worker in containment._state.idle:
        worker.stop()


def lower(options=None):
    options = options or CompileOptions()
    return containment.run_compiler(COPY, json.dumps(options.to_json(SM90)))


def test_containment_first_compilation_runs_in_this_process(monkeypatch):
    monkeypatch.setattr(containment, "Worker", None)
    assert lower()["status"] != "fault"


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("abort", "aborted (a failed assertion, or abort)"),
        ("segv", "segmentation fault"),
    ],
)
def test_containment_crash_is_an_exception_and_compiling_goes_on(fault, message):
    healthy = lower()["status"]
    with pytest.raises(CompilerFault) as failure:
        compile_module(COPY, SM90, CompileOptions(fault=fault))
    assert failure.value.message == f"the compiler failed in phase tile: {message}"
    assert lower()["status"] == healthy
    assert [worker.pid != os.getpid() for worker in containment._state.idle] == [True]


def test_containment_crash_in_a_worker_is_an_exception_too(configured):
    configured(containment="worker")
    with pytest.raises(CompilerFault, match="segmentation fault"):
        compile_module(COPY, SM90, CompileOptions(fault="segv"))
    assert containment._state.idle == []
    assert lower()["status"] != "fault"


def test_containment_hang_is_stopped_with_its_process(configured):
    configured(containment="worker", compile_timeout_s=0.5)
    with pytest.raises(CompilerFault) as failure:
        compile_module(COPY, SM90, CompileOptions(fault="hang"))
    assert failure.value.message == "the compiler failed in phase unknown: no answer within 0.5 s"
    configured(compile_timeout_s=60)
    assert lower()["status"] != "fault"


def test_containment_worker_that_is_killed_is_an_exception(configured):
    configured(containment="worker")
    lower()
    [worker] = containment._state.idle
    os.kill(worker.pid, 9)
    assert lower() == {
        "status": "fault",
        "phase": "unknown",
        "message": "the compiler process ended with signal 9",
    }


def test_containment_worker_is_used_again(configured):
    configured(containment="worker")
    lower()
    first = [worker.pid for worker in containment._state.idle]
    lower()
    assert [worker.pid for worker in containment._state.idle] == first


def test_containment_parallel_compilations_use_workers():
    barrier = threading.Barrier(4)
    results = []

    def work():
        barrier.wait()
        results.append(lower()["status"])

    threads = [threading.Thread(target=work) for _ in range(4)]
    containment._state.compiling_here = True  # as if a fifth thread were compiling here
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    containment._state.compiling_here = False
    assert len(set(results)) == 1 and len(results) == 4 and "fault" not in results
    assert 1 <= len(containment._state.idle) <= (os.cpu_count() or 1)


def test_containment_forked_child_leaves_the_workers_of_its_parent_alone(configured):
    configured(containment="worker")
    expected = lower()["status"]
    [worker] = containment._state.idle
    child = os.fork()
    if child == 0:
        containment._state.__init__()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert lower()["status"] == expected
    assert containment._state.idle == [worker]


def test_worker_that_cannot_load_the_compiler_is_an_error(monkeypatch):
    monkeypatch.setattr(worker_module, "_START", "import no_such_module_of_ours")
    worker = Worker()
    try:
        with pytest.raises(WorkerError, match="the compiler process ended with exit code 1"):
            worker.compile(COPY, "{}", 60)
    finally:
        worker.stop()


def test_fault_leaves_a_reproducer_with_its_command(tmp_path):
    with pytest.raises(CompilerFault) as failure:
        compile_module(COPY, SM90, CompileOptions(num_warps=8, fault="abort"))
    path = failure.value.reproducer
    assert os.path.dirname(path) == str(tmp_path / "faults")
    with open(path) as file:
        first, command, options, *module = file.read().splitlines()
    assert first == "// " + failure.value.message
    assert command == (
        "// tilec-opt --tilec-tile --tilec-inject-fault=kind=abort "
        f"--tilec-tilegpu='target=sm_90a num-warps=8' --tilec-llvm {path}"
    )
    assert json.loads(options.removeprefix("// options: "))["target"]["name"] == "sm_90a"
    assert "tile.kernel @copy" in "\n".join(module)


def test_fault_reproducer_repeats_the_fault():
    with pytest.raises(CompilerFault) as failure:
        compile_module(COPY, SM90, CompileOptions(fault="abort"))
    with open(failure.value.reproducer) as file:
        command = file.read().splitlines()[1].removeprefix("// tilec-opt ")
    flags = re.sub(r" --tilec-tilegpu.*--tilec-llvm", "", command).split()
    done = subprocess.run([sys.executable, "-m", "tilec.opt", *flags], capture_output=True)
    assert done.returncode not in (0, 1)
    assert b"tilec-inject-fault" in done.stderr or done.returncode < 0


def test_ir_key_of_something_that_is_no_module_is_a_fault():
    with pytest.raises(CompilerFault, match="in phase key"):
        phases.ir_key(b"not a module", SM90)


def test_ir_key_ignores_locations_and_spacing_but_not_hints():
    key = phases.ir_key(COPY, SM90)
    assert phases.ir_key(b"// moved\n\n" + COPY.replace(b"%t", b"%tile"), SM90) == key
    others = [
        phases.ir_key(COPY, TARGETS["sm_80"]),
        phases.ir_key(COPY, SM90, CompileOptions(num_warps=8)),
        phases.ir_key(COPY, SM90, CompileOptions(num_stages=2)),
        phases.ir_key(COPY.replace(b"128", b"256"), SM90),
    ]
    assert len({key, *others}) == 5
    assert phases.ir_key(COPY, SM90, CompileOptions(phases=("tile",))) == key


def test_ir_key_knows_the_place_of_an_assertion_which_its_failure_names():
    def key(place, other=1):
        assertion = f'  tile.assert %c, "holds" : i1 loc("helper"({place}))\n'
        load = f'  %c = arith.constant false loc("x.py":{other}:1)\n'
        text = COPY.decode().replace("  tile.return", load + assertion + "  tile.return")
        return phases.ir_key(text.encode(), SM90)

    assert key('"a.py":1:2') == key('"a.py":1:2', other=2)
    assert len({key('"a.py":1:2'), key('"a.py":2:2'), key('"b.py":1:2')}) == 3
