"""Tuning on a GPU, with its own clock."""

import pytest
import tilec_cases.gpu  # noqa: F401

import tilec as tl
from tilec.jit import kernel as kernel_module
from tilec.jit import planning
from tilec.jit import tune as tune_module
from tilec.jit.cache import DiskCache
from tilec.kernels.matmul import matmul_kernel


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    kept = DiskCache(tmp_path, 2**26)
    for module in (kernel_module, planning, tune_module):
        monkeypatch.setattr(module, "disk_cache", lambda: kept)
    return kept


@tl.tune(configs=[{"tile": (1, 64)}, {"tile": (8, 1024)}, {"tile": (16, 512), "num_warps": 8}])
@tl.kernel
def doubled(y):
    y.store(y.load() * 2.0)


def test_kernel_that_works_in_place_runs_once(torch):
    y = torch.arange(2.0**20, device="cuda").reshape(1024, 1024).T
    expected = y * 2
    doubled(tl.partition(y, tl.AUTO))
    assert torch.equal(y, expected)


@pytest.mark.parametrize("dtype", ["bfloat16", "bool"])
def test_neighbours_of_an_output_stay_as_they_are(torch, dtype):
    whole = torch.randn(300, 300, device="cuda").to(getattr(torch, dtype))
    before, x = whole.clone(), torch.zeros(200, 100, device="cuda").to(whole.dtype)

    @tl.tune(configs=[{"tile": (8, 64)}, {"tile": (64, 64)}])
    @tl.kernel
    def copied(y, x):
        y.store(x.load_like(y))

    copied(tl.partition(whole[50:250, 100:200], tl.AUTO), x)
    before[50:250, 100:200] = x
    assert torch.equal(whole, before)


def test_product_is_tuned_right_and_the_winner_is_kept(torch, monkeypatch):
    a, b = (torch.randn(1024, 1024, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    c = torch.empty_like(a)
    tuned = matmul_kernel.tune(tl.partition(c, tl.AUTO), a, b, candidates=4)
    tuned(tl.partition(c, tl.AUTO), a, b)
    torch.testing.assert_close(c, a @ b, rtol=2e-2, atol=0.5)
    winner = tuned.tune(tl.partition(c, tl.AUTO), a, b)
    assert 1 <= winner.candidates <= 4
    assert 1.0 < winner.median_us < 1e5
    monkeypatch.setattr(tune_module, "timer_of", None)
    again = tl.tune(candidates=4)(matmul_kernel)
    assert again.tune(tl.partition(c, tl.AUTO), a, b) == winner


def test_slow_configuration_loses(torch):
    @tl.tune(configs=[{"tile": (1, 1)}, {"tile": (16, 256)}])
    @tl.kernel
    def copied(y, x):
        y.store(x.load_like(y))

    x = torch.randn(1024, 1024, device="cuda")
    y = torch.empty_like(x)
    winner = copied.tune(tl.partition(y, tl.AUTO), x)
    assert winner.configuration.planned.tile == (16, 256)
