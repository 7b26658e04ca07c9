"""The benchmark of the launch runs without a GPU, so that it is there when a GPU is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tilec._runtime import Launcher

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "launch_overhead.py"


def test_launch_overhead_times_the_whole_and_its_parts(tmp_path):
    figures = tmp_path / "figures.json"
    options = ["--recording-driver", "--quick", "--breakdown", "--json", str(figures)]
    done = subprocess.run(
        [sys.executable, str(BENCHMARK), *options], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    rows = {row["contender"].strip(): row for row in json.loads(figures.read_text())["rows"]}
    parts = [rows[part]["low_us"] for part in (*Launcher._parts, "partition")]
    assert min(parts) > 0
    assert rows["driver alone"]["low_us"] < rows["3 arrays + 1 scalar, no driver"]["low_us"]
