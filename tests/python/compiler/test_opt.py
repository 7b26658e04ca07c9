import json
import subprocess
import sys

import pytest

from tilec.compiler.target import TARGETS
from tilec.diagnostics import CompileError
from tilec.opt import expand_targets, main


def test_opt_target_name_becomes_its_row():
    expanded = expand_targets("--tilec-tilegpu=target=sm_90 num-warps=4")
    head, _, rest = expanded.partition("target=")
    row, _, tail = rest.rpartition(" ")
    assert (head, tail) == ("--tilec-tilegpu=", "num-warps=4")
    assert (row[0], row[-1]) == ("{", "}")  # MLIR takes one pair off
    assert json.loads(row[1:-1]) == TARGETS["sm_90a"].to_json()
    assert " " not in row


def test_opt_other_arguments_stay():
    for argument in ("--canonicalize", "file.mlir", "--x=target={}", "-"):
        assert expand_targets(argument) == argument


def test_opt_unknown_target_is_refused(capsys):
    with pytest.raises(CompileError):
        expand_targets("target=sm_75")
    assert main(["--tilec-tilegpu=target=sm_75"]) == 2
    assert capsys.readouterr().err.startswith("error: unsupported target 'sm_75', expected one of")


def test_opt_runs_passes_on_standard_input():
    done = subprocess.run(
        [sys.executable, "-m", "tilec.opt", "--canonicalize"],
        input="module { }",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "module {\n}"
