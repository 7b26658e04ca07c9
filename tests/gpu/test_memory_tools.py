"""NVIDIA's own checkers find nothing in the kernel library."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tilec_cases.gpu  # noqa: F401

SCRIPT = Path(__file__).with_name("every_kernel.py")


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["memcheck", "racecheck", "synccheck", "initcheck"])
def test_checker_finds_nothing(tool):
    checker = shutil.which("compute-sanitizer")
    if checker is None:
        pytest.skip("needs compute-sanitizer")
    command = [checker, "--tool", tool, "--error-exitcode", "9", "--kernel-name-exclude"]
    command += ["kns=at::", sys.executable, SCRIPT]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
