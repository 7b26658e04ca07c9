import json
import re
import subprocess
import sys
from dataclasses import replace

import pytest

from tilec import settings as settings_module
from tilec.compiler import containment
from tilec.compiler.phases import PHASES, CompileOptions, compile_module, module_text
from tilec.compiler.target import TARGETS
from tilec.diagnostics import CompileError, TilecWarning

from .modules import COPY

SM90 = TARGETS["sm_90a"]


@pytest.fixture(autouse=True)
def settings(monkeypatch, tmp_path):
    chosen = settings_module.Settings(cache_dir=tmp_path)
    monkeypatch.setattr(settings_module, "current", lambda: chosen)
    return chosen


def answer(monkeypatch, **result):
    """Let the C++ side give a result."""
    monkeypatch.setattr(containment, "run_compiler", lambda bytecode, options: result)


def diagnostic(severity, message, *places):
    locations = [
        {"file": file, "line": line, "column": column, "name": name}
        for file, line, column, name in places
    ]
    return {"severity": severity, "message": message, "locations": locations}


@pytest.mark.parametrize("target", TARGETS.values(), ids=list(TARGETS))
def test_compile_gives_machine_code_for_every_target(target):
    compiled = compile_module(COPY, target)
    assert compiled.cubin.startswith(b"\x7fELF")
    assert f".target {target.name}" in compiled.ptx
    version = f"{target.ptx_version // 10}.{target.ptx_version % 10}"
    assert f".version {version}" in compiled.ptx
    assert compiled.resources.spill_bytes == 0
    assert compiled.assembler.startswith("nvJitLink ")


def test_compile_plan_says_how_to_launch():
    plan = json.loads(compile_module(COPY, SM90, CompileOptions(num_warps=2)).plan_json)
    assert plan["version"] == 1
    assert (plan["symbol"], plan["target"]) == ("copy", "sm_90a")
    assert (plan["num_warps"], plan["threads"]) == (2, 64)
    assert plan["params"] == [
        {"kind": "pointer", "arg": 0},
        {"kind": "shape", "arg": 0, "dim": 0},
        {"kind": "pointer", "arg": 1},
        {"kind": "shape", "arg": 1, "dim": 0},
    ]
    assert plan["grid"] == {"rule": "tiles", "arg": 0, "tile": [128]}


def test_compile_keeps_the_phases_asked_for():
    assert compile_module(COPY, SM90).phases == {}
    compiled = compile_module(COPY, SM90, CompileOptions(phases=PHASES))
    assert set(compiled.phases) == set(PHASES)
    assert "tile.load" in compiled.phases["tile"]
    assert "define" in compiled.phases["llvm"]
    assert {"tile", "tilegpu", "lower", "ptx", "assemble"} <= set(compiled.timings_ms)
    assert all(ms >= 0 for ms in compiled.timings_ms.values())


def test_compile_dump_has_each_phase_with_the_command_of_the_next(monkeypatch, settings, tmp_path):
    dumping = replace(settings, dump_dir=tmp_path / "dump")
    monkeypatch.setattr(settings_module, "current", lambda: dumping)
    compiled = compile_module(COPY, SM90)
    [place] = (tmp_path / "dump").iterdir()
    assert re.fullmatch(r"copy-sm_90a-[0-9a-f]{8}", place.name)
    assert sorted(path.name for path in place.iterdir()) == [
        "0-traced.mlir",
        "1-tile.mlir",
        "2-tilegpu.mlir",
        "3-lower.mlir",
        "4-llvm.ll",
        "kernel.cubin",
        "kernel.json",
        "kernel.ptx",
    ]
    assert (place / "kernel.ptx").read_text() == compiled.ptx
    assert json.loads((place / "kernel.json").read_text())["plan"] == compiled.plan
    for number, following in enumerate(("1-tile.mlir", "2-tilegpu.mlir", "3-lower.mlir")):
        [path] = place.glob(f"{number}-*")
        command = path.read_text().splitlines()[0].removeprefix("// tilec-opt ")
        done = subprocess.run(
            f"{sys.executable} -m tilec.opt {command}", shell=True, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        expected = (place / following).read_text()
        assert without_heading(done.stdout) == without_heading(expected)


def without_heading(text):
    return "\n".join(line for line in text.splitlines() if line and not line.startswith("//"))


def test_compile_refusal_has_the_authors_place_and_notes(monkeypatch):
    answer(
        monkeypatch,
        status="error",
        phase="tilegpu",
        diagnostics=[
            diagnostic("warning", "unrelated"),
            diagnostic(
                "error",
                "tile of shape (8, 65536) takes too many registers",
                ("/src/k.py", 14, 11, "helper"),
                ("/src/k.py", 30, 5, "kernel"),
            ),
            diagnostic("note", "it is loaded here", ("/src/k.py", 9, 1, "helper")),
            diagnostic("note", "see current operation: %0 = tile.load"),
        ],
    )
    with pytest.raises(CompileError) as refusal:
        compile_module(COPY, SM90)
    error = refusal.value
    assert error.message == "tile of shape (8, 65536) takes too many registers"
    assert [(f.span.line, f.span.column, f.function) for f in error.frames] == [
        (14, 11, "helper"),
        (30, 5, "kernel"),
    ]
    assert [(note.text, note.span.line) for note in error.notes] == [("it is loaded here", 9)]


def test_compile_failure_without_a_word_says_so(monkeypatch):
    answer(monkeypatch, status="error", phase="lower", diagnostics=[])
    with pytest.raises(CompileError, match=r"^phase lower failed without saying why$"):
        compile_module(COPY, SM90)


def test_compile_warning_of_the_compiler_is_a_warning(monkeypatch):
    ptx = ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry copy() { ret; }\n"
    answer(
        monkeypatch,
        status="ok",
        ptx=ptx,
        plan={"symbol": "copy"},
        phases={},
        timings_ms={"tile": 1.0},
        diagnostics=[diagnostic("warning", "num_stages is ignored", ("/src/k.py", 3, 1, "copy"))],
    )
    with pytest.warns(TilecWarning, match=r"^num_stages is ignored \(/src/k.py:3\)$"):
        compiled = compile_module(COPY, SM90)
    assert compiled.cubin.startswith(b"\x7fELF")
    assert compiled.metadata()["resources"]["spill_load_bytes"] == 0


def test_module_text_has_locations_on_request():
    assert "loc(" not in module_text(COPY)
    assert "loc(" in module_text(COPY, locations=True)
