"""What every test shares."""

from __future__ import annotations

import os
import sys
import tempfile

import numpy as np
import pytest

pytest.register_assert_rewrite("tilec_cases")


def pytest_configure() -> None:
    """Let child processes import the tilec under test, not the checkout they are started in."""
    os.environ["PYTHONSAFEPATH"] = "1"
    if sys.version_info < (3, 11):  # which does not know that variable
        os.chdir(tempfile.mkdtemp(prefix="tilec-tests-"))


@pytest.fixture
def rng() -> np.random.Generator:
    """Fresh random numbers each run; pytest prints the seed when a test fails."""
    seed = int(np.random.SeedSequence().entropy) % 2**32
    print(f"seed {seed}")
    return np.random.default_rng(seed)
