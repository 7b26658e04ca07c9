import pytest
from tilec_cases.place import Place


@pytest.fixture(scope="session")
def place() -> Place:
    """The CPU executor."""
    return Place()
