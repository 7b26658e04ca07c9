"""How lit runs the tests of the dialects: `lit tests/dialects`, or `pytest tests/test_dialects.py`.

`tilec-opt` is the one of the Python that runs lit (TILEC_PYTHON names another), so the tests need
no build of their own.
"""

import os
import shutil
import sys

import lit.formats


def file_check():
    """The Python port of FileCheck, installed beside this Python with the test dependencies."""
    beside = shutil.which("filecheck", path=os.path.dirname(sys.executable))
    return beside or shutil.which("filecheck") or "filecheck-is-not-installed"


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
