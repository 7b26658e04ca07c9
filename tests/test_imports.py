import ast
import subprocess
import sys

from .tools import ROOT, check, sources, tool

MAY_IMPORT_MLIR = ("tilec/lang/emit.py", "tilec/execute/", "tilec/compiler/containment.py")

# What a fresh interpreter has loaded after the import.
PROBE = """
import sys
import tilec
print("\\n".join(sys.modules))
"""


def test_rooms_import_only_whom_they_may():
    check(tool("lint-imports"), ROOT / "pyproject.toml", "--no-cache", cwd="/")


def test_compiler_library_is_imported_where_it_may_be():
    offenders = [
        str(path.relative_to(ROOT))
        for path in sources(".py", rooms=["tilec"])
        if "_mlir" not in path.parts
        and any("_mlir" in module.split(".") for module in imported(path))
        and not str(path.relative_to(ROOT)).startswith(MAY_IMPORT_MLIR)
    ]
    assert offenders == []


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_import_loads_neither_compiler_nor_array_library():
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert "tilec" in loaded
    unwanted = {"torch", "cupy", "jax", "rich", "platformdirs", "cuda.bindings.driver"}
    assert not loaded & unwanted
    assert not [name for name in loaded if name.startswith("tilec._mlir")]
