"""What kernels print on a GPU, and how a failed assertion ends a launch."""

import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import tilec_cases.gpu  # noqa: F401

SCRIPT = Path(__file__).with_name("debugged.py")


def run(kernel, place="cuda"):
    command = [sys.executable, SCRIPT, kernel, place]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def printed(kernel, place="cuda"):
    done = run(kernel, place)
    assert done.returncode == 0, done.stderr
    return sorted(done.stdout.splitlines())


def test_scalars_print_as_on_the_cpu_executor():
    lines = printed("scalars")
    assert len(lines) == 4 * 4
    assert "program (1, 0): 100% of 3: True, 56 and 10" in lines
    assert [line.replace(".0", "") for line in printed("scalars", "cpu")] == lines


def test_every_element_prints_once_with_its_program_and_place():
    expected = []
    for program in range(2):
        tile = (np.arange(64, dtype=np.float32).reshape(4, 16) + 1)[:2, 4 * program :][:, :4]
        rows = tile.sum(axis=1)
        for i, j in np.ndindex(2, 4):
            value = tile[i, j]
            third = float(np.float16(value) / np.float16(3))
            brain = float(ml_dtypes.bfloat16(value) / ml_dtypes.bfloat16(3))
            begin = f"program (0, {program}), element ({i}, {j}): "
            expected.append(f"{begin}{value:g} {third:.5g} {value > 2} {brain:.4g}")
            expected.append(f"{begin}{int(min(value * 60, 255))} of [...]")
        for i in range(2):
            expected.append(f"program (0, {program}), element ({i},): [...] of {rows[i]:g}")
    assert printed("tiles") == sorted(expected)


def test_failed_assertion_ends_the_launch_and_names_its_place():
    done = run("assertion")
    assert done.returncode != 0
    assert "the first launch is done" in done.stdout
    source = SCRIPT.read_text().splitlines()
    line = 1 + next(n for n, text in enumerate(source) if "the test looks for this line" in text)
    said = done.stdout + done.stderr
    reports = [text for text in said.splitlines() if "Assertion `" in text]
    assert reports == [
        f"{SCRIPT}:{line}: check: block: [3,0,0], thread: [0,0,0] "
        "Assertion `x must be positive` failed."
    ]
    assert "device-side assert triggered" in said
