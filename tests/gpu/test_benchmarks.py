"""Every benchmark runs, small, and writes its figures."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import tilec_cases.gpu  # noqa: F401

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "bench_add",
        "bench_softmax",
        "bench_layernorm",
        "bench_matmul",
        "bench_grouped",
        "compile_time",
    ],
)
def test_benchmark_runs_and_writes_figures(torch, tmp_path, name):
    command = [sys.executable, BENCHMARKS / "run_all.py", "--out", tmp_path, "--quick"]
    done = subprocess.run(
        [*command, "--only", name], capture_output=True, text=True, timeout=500, cwd=tmp_path
    )
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads((tmp_path / f"{name}.json").read_text())
    assert figures["outcomes"] if name != "compile_time" else figures["rows"]
