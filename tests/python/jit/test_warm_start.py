"""From a decorated function to the driver, with the real tracer, compiler and disk cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import recording_driver

import tilec

SCRIPT = """
import json
import sys

import recording_driver

import tilec as tl
from tilec import _runtime

driver = recording_driver.FakeDriver(sys.argv[1])
_runtime.replace_driver(driver.path)
memory = recording_driver.Memory()
SCALE = float(sys.argv[2])
TILE = tl.AUTO if sys.argv[3] == "auto" else (8, 256)


@tl.kernel
def scaled_sum(y, a, b, s):
    y.store((a.load_like(y) * s + b.load_like(y)) * SCALE)


driver.library.fake_set_parameter_count(1)
y, a, b = (memory.array((128, 256)) for _ in range(3))
scaled_sum(tl.partition(y, TILE), a, b, 2.5)
print(json.dumps({
    "launches": driver.launches,
    "grid": list(driver.last.grid),
    "pointer": driver.parameters(1)[0] == y.pointer,
    "image": driver.last_image[:4].decode("latin1"),
    "compiler": any(name.startswith("tilec._mlir") for name in sys.modules),
    "tracer": "tilec.trace.tracer" in sys.modules,
}))
"""


@pytest.fixture
def launch(fake_library, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    places = [Path(tilec.__file__).parents[1], Path(recording_driver.__file__).parent]

    def run(scale: float, tile: str = "given") -> dict[str, object]:
        done = subprocess.run(
            [sys.executable, script, fake_library, str(scale), tile],
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(map(str, places)),
                "TILEC_CACHE_DIR": str(tmp_path / "cache"),
            },
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def test_second_process_launches_without_tracer_and_compiler(launch):
    launched = {"launches": 1, "grid": [16, 1, 1], "pointer": True, "image": "\x7fELF"}
    assert launch(1.0) == {**launched, "compiler": True, "tracer": True}
    assert launch(1.0) == {**launched, "compiler": False, "tracer": False}


def test_second_process_with_another_global_compiles_again(launch):
    assert launch(1.0)["compiler"]
    assert launch(2.0)["compiler"]
    assert not launch(1.0)["compiler"]


def test_second_process_plans_without_tracer_and_compiler(launch):
    launched = {"launches": 1, "grid": [32, 1, 1], "pointer": True, "image": "\x7fELF"}
    assert launch(1.0, "auto") == {**launched, "compiler": True, "tracer": True}
    assert launch(1.0, "auto") == {**launched, "compiler": False, "tracer": False}
    assert launch(2.0, "auto")["compiler"]
