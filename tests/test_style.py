from .tools import ROOT, check, sources, tool


def test_python_is_linted():
    check(tool("ruff"), "check", ".")


def test_python_is_formatted():
    check(tool("ruff"), "format", "--check", ".")


def test_cpp_is_formatted():
    files = sources(".cpp", ".h", rooms=("dialects", "runtime"))
    assert files
    changed = [
        str(path.relative_to(ROOT))
        for path in files
        if check(tool("clang-format"), path) != path.read_text()
    ]
    assert changed == []


def test_files_have_one_idea():
    limits = {".py": 500, ".cpp": 600, ".h": 600}
    rooms = ("tilec", "dialects", "runtime", "tests", "benchmarks", "examples")
    too_long = {
        str(path.relative_to(ROOT)): lines
        for path in sources(*limits, rooms=rooms)
        if "_mlir" not in path.parts
        and (lines := len(path.read_text().splitlines())) >= limits[path.suffix]
    }
    assert too_long == {}
