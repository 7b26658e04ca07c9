import json
from pathlib import Path

import tilec

from .tools import PYTHON, ROOT, check, tool


def test_public_package_is_typed(tmp_path):
    """Checks the package under test, installed or not: its compiled parts are beside it."""
    package = Path(tilec.__file__).parent
    configuration = tmp_path / "pyrightconfig.json"
    configuration.write_text(
        json.dumps(
            {
                "extends": str(ROOT / "pyproject.toml"),
                "include": [str(package)],
                "exclude": [str(package / "_mlir"), "**/__pycache__"],
            }
        )
    )
    check(tool("pyright"), "--project", configuration, "--pythonpath", PYTHON, cwd=tmp_path)
