"""What every test shares."""

from __future__ import annotations

import numpy as np
import pytest

pytest.register_assert_rewrite("tilec_cases")


@pytest.fixture
def rng() -> np.random.Generator:
    """Fresh random numbers each run; pytest prints the seed when a test fails."""
    seed = int(np.random.SeedSequence().entropy) % 2**32
    print(f"seed {seed}")
    return np.random.default_rng(seed)
