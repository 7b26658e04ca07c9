from .tools import PYTHON, ROOT, check, tool


def test_dialects_pass_their_lit_tests(tmp_path):
    """Runs tests/dialects with lit and FileCheck, on two cores as the slowest machine has."""
    check(
        tool("lit"),
        "--verbose",
        "--workers=2",
        ROOT / "tests" / "dialects",
        cwd=tmp_path,
        TILEC_PYTHON=PYTHON,
        TILEC_LIT_OUTPUT=str(tmp_path),
    )
