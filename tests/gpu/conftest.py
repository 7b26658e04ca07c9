"""The same cases on a GPU; every module here is skipped where there is none."""

from __future__ import annotations

from typing import Any

import pytest
from tilec_cases.place import Place, TorchPlace


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = __file__.rpartition("/")[0]
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.gpu)


@pytest.fixture(scope="session")
def torch() -> Any:
    """The module; without it, or without a GPU, no test here is collected."""
    return pytest.importorskip("torch")


@pytest.fixture(scope="session")
def place(torch: Any) -> Place:
    """The current CUDA device."""
    return TorchPlace(torch)
