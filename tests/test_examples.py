"""Every example runs, and its kernels compile as its reader would compile them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


def run(tmp_path, *arguments, **variables):
    environment = {**os.environ, "TILEC_CACHE_DIR": str(tmp_path), **variables}
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(tmp_path, path):
    assert run(tmp_path, path)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_compiles_from_the_command_line(tmp_path, path):
    assert "compiled" in run(tmp_path, "-m", "tilec", "compile", path, "--target", "sm_90a")


def test_sanitizer_example_shows_the_race(tmp_path):
    path = next(path for path in EXAMPLES if path.stem == "sanitizer")
    first, *_ = run(tmp_path, path, TILEC_SANITIZE="1").splitlines()
    program, other = "program (2, 0, 0)", "program (1, 0, 0)"
    assert first == f"error: {program} reads element (1,) of 'counts', which {other} wrote"
