import json
import os
import subprocess
from pathlib import Path

import tilec

from .tools import PYTHON, ROOT, tool


def test_public_package_is_typed(tmp_path):
    """Checks the package under test, installed or not: its compiled parts are beside it."""
    package = Path(tilec.__file__).resolve().parent
    relative = os.path.relpath(package, tmp_path.resolve())
    configuration = tmp_path / "pyrightconfig.json"
    configuration.write_text(
        json.dumps(
            {
                "extends": str(ROOT / "pyproject.toml"),
                "include": [relative],
                "exclude": [f"{relative}/_mlir", "**/__pycache__"],
            }
        )
    )
    done = subprocess.run(
        [tool("pyright"), "--project", configuration, "--pythonpath", PYTHON, "--outputjson"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    report = json.loads(done.stdout)
    errors = [
        f"{item['file']}:{item['range']['start']['line'] + 1}: {item['message']}"
        for item in report["generalDiagnostics"]
        if item["severity"] == "error"
    ]
    assert not errors, "\n".join(errors)
    assert report["summary"]["filesAnalyzed"] >= len(list(package.glob("*/*.py")))
