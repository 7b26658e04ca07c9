"""Running the project's tools as tests."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def tool(name):
    """Return the path of a tool: the one installed beside this Python, else the one on PATH."""
    places = [sysconfig.get_path("scripts"), os.environ.get("PATH", "")]
    found = shutil.which(name, path=os.pathsep.join(places))
    assert found is not None, f"{name} is not installed: pip install '.[test]'"
    return found


def check(*command, cwd=ROOT, **environment):
    """Run a tool and fail with what it says unless it succeeds; return its output."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **environment},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}"
    return done.stdout


def sources(*suffixes, rooms):
    """Return the project's files of some kinds in some rooms."""
    return sorted(
        path
        for room in rooms
        for path in (ROOT / room).rglob("*")
        if path.suffix in suffixes and "Output" not in path.parts
    )


PYTHON = sys.executable
