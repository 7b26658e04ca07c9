"""Importing this skips the importing test module where there is no GPU."""

import pytest

torch = pytest.importorskip("torch", reason="needs torch and an NVIDIA GPU")
if not torch.cuda.is_available():
    pytest.skip("needs an NVIDIA GPU", allow_module_level=True)
