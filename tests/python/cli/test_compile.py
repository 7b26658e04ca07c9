"""The commands that compile: from a file of kernels to machine code and back out of the cache."""

import json
import subprocess
import sys

import pytest

from tilec import cli
from tilec import settings as settings_module
from tilec.compiler import disassemble as disassemble_module
from tilec.compiler.target import TARGETS

KERNELS = """
import tilec as tl

@tl.kernel
def double(y, x):
    y.store(x.load_like(y) * 2)

__tilec_examples__ = {"double": "f32[1000]:partition(128) f32[1000]"}
"""


@pytest.fixture(autouse=True)
def settings(monkeypatch, tmp_path):
    chosen = settings_module.Settings(cache_dir=tmp_path / "cache")
    monkeypatch.setattr(settings_module, "current", lambda: chosen)
    monkeypatch.setenv("COLUMNS", "200")
    return chosen


@pytest.fixture
def place(tmp_path):
    path = tmp_path / "doubling.py"
    path.write_text(KERNELS)
    return str(path)


def rows(out):
    """Return the cells of a printed table's rows."""
    lines = [line for line in out.splitlines() if line.startswith("│")]
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]


def test_compile_second_time_comes_from_the_cache(capsys, place):
    targets = [f"--target={name}" for name in TARGETS]
    for origin in ("compiled", "source"):
        assert cli.main(["compile", place, *targets]) == 0
        found = rows(capsys.readouterr().out)
        assert [row[:3] for row in found] == [["double", name, origin] for name in TARGETS]
        assert all(float(row[4]) > 1 and int(row[5]) > 0 and row[6] == "0" for row in found)
    assert cli.main(["cache", "list"]) == 0
    assert len(rows(capsys.readouterr().out)) == len(TARGETS)


def test_compile_output_has_all_that_a_launch_needs(capsys, place, tmp_path):
    output = tmp_path / "built"
    assert cli.main(["compile", place, "--target=sm_80", f"--output={output}"]) == 0
    capsys.readouterr()
    stem = "double-0-sm_80"
    assert (output / f"{stem}.cubin").read_bytes().startswith(b"\x7fELF")
    assert ".entry double" in (output / f"{stem}.ptx").read_text()
    description = json.loads((output / f"{stem}.json").read_text())
    assert description["plan"]["grid"] == {"rule": "tiles", "arg": 0, "tile": [128]}
    assert description["resources"]["spill_store_bytes"] == 0


@pytest.mark.parametrize(
    ("phase", "text"),
    [
        ("traced", "tile.load"),
        ("tile", "tile.load"),
        ("tilegpu", "tilegpu."),
        ("lower", "llvm.func"),
        ("llvm", "define"),
        ("ptx", ".target sm_90a"),
        ("plan", '"symbol": "double"'),
    ],
)
def test_inspect_shows_each_phase(capsys, place, phase, text):
    assert cli.main(["inspect", f"{place}::double", "--target=sm_90a", f"--phase={phase}"]) == 0
    assert text in capsys.readouterr().out


def test_inspect_sass_uses_the_toolkits_disassembler(capsys, place, monkeypatch, tmp_path):
    tool = tmp_path / "nvdisasm"
    tool.write_text('#!/bin/sh\nhead -c 4 "$1" | tail -c 3\necho " STG.E"\n')
    tool.chmod(0o755)
    monkeypatch.setattr(disassemble_module, "find_cuda_tool", lambda name: str(tool))
    assert cli.main(["inspect", place, "--target=sm_90a", "--phase=sass"]) == 0
    assert "ELF STG.E" in capsys.readouterr().out


def test_inspect_sass_without_disassembler_says_what_is_missing(capsys, place, monkeypatch):
    monkeypatch.setattr(disassemble_module, "find_cuda_tool", lambda name: None)
    assert cli.main(["inspect", place, "--target=sm_90a", "--phase=sass"]) == 1
    assert capsys.readouterr().err.startswith(
        "error: sass needs nvdisasm or cuobjdump, found neither on PATH nor in CUDA_HOME\n"
    )


def test_demo_compares_with_numpy_and_compiles_everything(capsys):
    assert cli.main(["demo", "--target=sm_80"]) == 0
    out = capsys.readouterr().out
    assert "all results are right" in out
    assert "Compiled for sm_80" in out
    for name in ("add", "softmax", "layernorm", "rmsnorm", "matmul", "transpose", "row_sum"):
        assert out.count(name) >= 2
    assert all(f" matmul {dtype} " in out for dtype in ("bf16", "f32", "i8"))


def test_demo_wrong_result_fails(capsys, monkeypatch):
    from tilec.commands import demo

    def wrong(output, *inputs):
        output[...] = 0

    broken = demo.CASES[0].__class__(**{**vars(demo.CASES[0]), "function": wrong})
    monkeypatch.setattr(demo, "CASES", (broken,))
    assert cli.main(["demo", "--target=sm_80"]) == 1
    assert "some results are wrong" in capsys.readouterr().out


def test_modules_run_as_the_scripts_do():
    for module in ("tilec", "tilec.opt"):
        done = subprocess.run(
            [sys.executable, "-m", module, "--help"], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
