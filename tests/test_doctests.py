import doctest
import importlib
import pkgutil

import pytest

import tilec

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(tilec.__path__, "tilec.")
    if "._mlir" not in module.name and not module.name.endswith("__main__")
)


@pytest.mark.parametrize("name", MODULES)
def test_documented_examples_work(name):
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.failed == 0
