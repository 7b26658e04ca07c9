"""What the passes on `tile` leave behind computes what the kernel said, to the bit."""

import subprocess
import sys

import numpy as np
from tilec_cases.launches import launches, random_programs

from tilec.execute import execute

SEPARATOR = "// -----"


def optimized(modules, tmp_path):
    """Run the pass pipeline of the `tile` phase over many modules at once."""
    from tilec._mlir._mlir_libs import _tilec

    source = tmp_path / "modules.mlir"
    source.write_text(f"\n{SEPARATOR}\n".join(_tilec.print_module(m) for m in modules))
    command = [sys.executable, "-m", "tilec.opt", "--tilec-tile", "--split-input-file", source]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = done.stdout.split(SEPARATOR)
    assert len(found) == len(modules)
    return found


def assert_same(cases, tmp_path):
    modules = [launch.bytecode() for launch in cases]
    for launch, before, after in zip(cases, modules, optimized(modules, tmp_path), strict=True):
        one, other = launch.flat(), launch.flat()
        execute(before, one)
        execute(after.encode(), other)
        for mine, theirs in zip(one, other, strict=True):
            assert np.asarray(mine).tobytes() == np.asarray(theirs).tobytes(), after


def test_random_programs_survive_the_passes(rng, tmp_path):
    assert_same(random_programs(rng, 30), tmp_path)


def test_kernels_with_loops_branches_and_products_survive_the_passes(rng, tmp_path):
    assert_same(launches(rng), tmp_path)
