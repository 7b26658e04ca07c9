"""How errors look, to the letter."""

import pickle

import pytest

import tilec
from tilec import diagnostics
from tilec.diagnostics import CompilerFault, Frame, Note, Span, TilecError


@pytest.fixture
def kernel_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "kernel.py"
    path.write_text("def matmul():\n    acc = tl.mma(a, b, acc)\n")
    return str(path)


def test_render_full_diagnostic_as_documented(kernel_file):
    error = TilecError(
        "mma operands disagree on K: lhs is (64, 32), rhs is (64, 128)",
        frames=[
            Frame(Span(kernel_file, 2, 11, 2, 28), "matmul"),
            Frame(Span(kernel_file, 30), "<module>"),
        ],
        notes=[Note("acc is float32", Span(kernel_file, 1))],
        hint="transpose the right operand: b.T",
    )
    assert error.render() == (
        "error: mma operands disagree on K: lhs is (64, 32), rhs is (64, 128)\n"
        "  --> kernel.py:2:11, in matmul (called from kernel.py:30)\n"
        "   |     acc = tl.mma(a, b, acc)\n"
        "   |           ^^^^^^^^^^^^^^^^^\n"
        "   = note: acc is float32 (kernel.py:1)\n"
        "   = hint: transpose the right operand: b.T"
    )


def test_render_span_over_lines_caret_to_end_of_line(kernel_file):
    error = TilecError("bad", frames=[Frame(Span(kernel_file, 2, 11, 4, 2), "matmul")])
    assert error.render().splitlines()[-1] == "   |           ^^^^^^^^^^^^^^^^^"


def test_render_unknown_column_no_caret(kernel_file):
    error = TilecError("bad", frames=[Frame(Span(kernel_file, 2), "matmul")])
    assert (
        error.render()
        == "error: bad\n  --> kernel.py:2, in matmul\n   |     acc = tl.mma(a, b, acc)"
    )


def test_render_missing_file_place_only():
    error = TilecError("bad", frames=[Frame(Span("<string>", 2, 3, 2, 4), "f")])
    assert error.render() == "error: bad\n  --> <string>:2:3, in f"


def test_exceptions_one_family_under_public_names():
    found = [
        value
        for value in vars(diagnostics).values()
        if isinstance(value, type) and issubclass(value, (Exception, Warning))
    ]
    assert all(cls.__module__ == "tilec" and hasattr(tilec, cls.__name__) for cls in found)
    errors = [cls for cls in found if not issubclass(cls, Warning)]
    assert all(issubclass(cls, TilecError) for cls in errors)


def test_exception_survives_pickling():
    error = TilecError("bad", hint="good", frames=[Frame(Span("k.py", 1), "k")])
    assert pickle.loads(pickle.dumps(error)).render() == error.render()


def test_compiler_fault_names_reproducer():
    assert str(CompilerFault("pass tile-plan crashed", reproducer="/tmp/a.mlir")) == (
        "pass tile-plan crashed\n   = hint: please report this with /tmp/a.mlir"
    )
