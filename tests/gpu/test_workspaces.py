"""Products whose depth CTAs share through a workspace in global memory: forced plans."""

import json

import numpy as np
import pytest
import tilec_cases.gpu  # noqa: F401
from tilec_cases.checks import UNIT, assert_exact, assert_within, double
from tilec_cases.exchanged_products import with_bias_and_residual
from tilec_cases.hopper_products import assert_is_product, random_values
from tilec_cases.nearly_products import BF16, F16, F32, I8, I32, in_tf32, plain, product

import tilec as tl
from tilec.jit.configurations import Configuration
from tilec.jit.planning import Planned
from tilec.jit.tune import PinnedKernel

TILES = {
    "cooperative": ((128, 128), 8),
    "single": ((64, 128), 4),
    "sync": ((64, 32), 0),
}


@tl.kernel
def added_to(c, a, b, *, tk: tl.Constant[int] = 64):
    i, j = c.index
    tm, tn = c.tile_shape
    acc = tl.zeros((tm, tn), tl.float32)
    for k in range(a.num_tiles(1, tk)):
        acc = tl.mma(a.load((i, k), (tm, tk)), b.load((k, j), (tk, tn)), acc)
    c.store((c.load().to(tl.float32) + acc).to(c.dtype))


def shared(kernel, schedule, parts, tile=None):
    """The kernel, with tiles that `parts` CTAs share through a workspace."""
    own, warps = TILES[schedule]
    plan = {"schedule": schedule, "split_k": parts, "split_by": "workspace", "num_warps": warps}
    planned = Planned(tile or own, json.dumps(plan))
    return PinnedKernel(kernel, Configuration(planned=planned))


def auto(output):
    return tl.partition(output.array, tl.AUTO)


@pytest.mark.parametrize("parts", [2, 3, 8, 16])
@pytest.mark.parametrize("schedule", TILES)
@pytest.mark.parametrize(
    "shape", [(200, 136, 1992), (200, 75, 1300), (128, 128, 320), (64, 64, 64), (1, 8, 4096)]
)
def test_product(place, rng, parts, schedule, shape):
    m, n, k = shape
    if schedule != "sync" and n % 8 != 0:
        pytest.skip("TMA cannot take these rows")
    kernel = shared(plain, schedule, parts)
    a, b = random_values(rng, (m, k), BF16), random_values(rng, (k, n), BF16)
    x, y = place.array(a), place.array(b)
    outputs = [place.output((m, n), F32, gap_elems=8) for _ in range(50)]
    for output in outputs:
        kernel(auto(output), x, y)
    results = [output.read() for output in outputs]
    assert_is_product(results[0], a, b)
    assert all(other.tobytes() == results[0].tobytes() for other in results)


@pytest.mark.parametrize("parts", [2, 16])
@pytest.mark.parametrize("schedule", TILES)
@pytest.mark.parametrize("kind", ["f16", "f16 to bf16", "tf32", "int8"])
def test_kinds(place, rng, parts, schedule, kind):
    m, n, k = 200, 144, 2000
    if kind == "int8":
        a, b = (rng.integers(-128, 128, shape).astype(I8) for shape in ((m, k), (k, n)))
        c = place.output((m, n), I32, gap_elems=8)
        kernel = shared(plain, schedule, parts)
        kernel(auto(c), place.array(a), place.array(np.asfortranarray(b)), tk=128, acc_t=tl.int32)
        assert_exact(c.read(), double(a) @ double(b))
        return
    dtype = F32 if kind == "tf32" else F16
    a, b = random_values(rng, (m, k), dtype), random_values(rng, (k, n), dtype)
    c = place.output((m, n), BF16 if kind == "f16 to bf16" else F32, gap_elems=8)
    if kind == "tf32":
        kernel = shared(in_tf32, schedule, parts)
        kernel(auto(c), place.array(a), place.array(np.ascontiguousarray(b.T)))
        size = np.abs(double(a)) @ np.abs(double(b))
        assert_within(c.read(), double(a) @ double(b), (2.0**-9 + 4 * k * 2.0**-24) * size)
        return
    shared(plain, schedule, parts)(auto(c), place.array(a), place.array(b))
    exact, found = product(a, b), c.read()
    assert_within(found, exact.value, exact.error + UNIT[found.dtype] * np.abs(exact.value))


@pytest.mark.parametrize("parts", [3, 8])
@pytest.mark.parametrize("schedule", TILES)
def test_epilogue_that_reads_a_row_and_a_tile(place, rng, parts, schedule):
    m, n, k = 200, 136, 1992
    a, b = random_values(rng, (m, k), BF16), random_values(rng, (k, n), BF16)
    bias, residual = random_values(rng, (1, n), BF16)[0], random_values(rng, (m, n), BF16)
    c = place.output((m, n), BF16, gap_elems=8)
    given = [place.array(x) for x in (a, b, bias, residual)]
    shared(with_bias_and_residual, schedule, parts)(auto(c), *given)
    exact = product(a, b)
    value = exact.value + double(bias) + double(residual)
    rounding = 2.0**-22 * (np.abs(exact.value) + np.abs(double(bias)) + np.abs(double(residual)))
    assert_within(c.read(), value, exact.error + rounding + UNIT[BF16] * np.abs(value))


@pytest.mark.parametrize("parts", [2, 8, 16])
@pytest.mark.parametrize("schedule", TILES)
def test_added_in_place(torch, rng, parts, schedule):
    m, n, k = 200, 136, 1992
    start = torch.randn(m, n, device="cuda")
    a = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(k, n, device="cuda", dtype=torch.bfloat16)
    c, kernel = start.clone(), shared(added_to, schedule, parts)
    for _ in range(3):
        kernel(tl.partition(c, tl.AUTO), a, b)
    exact = start.double() + 3 * (a.double() @ b.double())
    assert (c.double() - exact).abs().max().item() <= 5e-3


def test_large_and_small_launches_take_turns(torch):
    """The workspace grows, and its counters are zero whoever comes next."""
    large, small = shared(plain, "sync", 4), shared(plain, "sync", 3)
    a = torch.randn(1000, 900, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(900, 1000, device="cuda", dtype=torch.bfloat16)
    exact = a.double() @ b.double()
    for _ in range(20):
        for kernel, extent in ((small, 70), (large, 1000), (small, 300)):
            c = torch.full((extent, extent), float("nan"), device="cuda")
            kernel(tl.partition(c, tl.AUTO), a[:extent], b[:, :extent])
            assert (c.double() - exact[:extent, :extent]).abs().max().item() <= 5e-3


@pytest.mark.parametrize("schedule", TILES)
def test_streams_at_the_same_time(torch, schedule):
    kernel, streams = shared(plain, schedule, 8), [torch.cuda.Stream() for _ in range(4)]
    inputs = [
        (
            torch.randn(256, 4096, device="cuda", dtype=torch.bfloat16),
            torch.randn(4096, 256, device="cuda", dtype=torch.bfloat16),
        )
        for _ in streams
    ]
    torch.cuda.synchronize()
    outputs = []
    for _ in range(50):
        for stream, (a, b) in zip(streams, inputs, strict=True):
            with torch.cuda.stream(stream):
                c = torch.full((256, 256), float("nan"), device="cuda")
                kernel(tl.partition(c, tl.AUTO), a, b)
                outputs.append(c)
    torch.cuda.synchronize()
    for number, (a, b) in enumerate(inputs):
        found = outputs[number :: len(streams)]
        assert (found[0].double() - a.double() @ b.double()).abs().max().item() <= 5e-3
        assert all(torch.equal(other, found[0]) for other in found)


@pytest.mark.parametrize("schedule", TILES)
def test_graph_has_a_workspace_of_its_own(torch, schedule):
    kernel = shared(plain, schedule, 8)
    a = torch.randn(256, 4096, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(4096, 256, device="cuda", dtype=torch.bfloat16)
    c, d = torch.zeros(256, 256, device="cuda"), torch.zeros(256, 256, device="cuda")
    kernel(tl.partition(c, tl.AUTO), a, b)  # compiled before the capture
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel(tl.partition(c, tl.AUTO), a, b)
        kernel(tl.partition(d, tl.AUTO), a, b)
    side = torch.cuda.Stream()
    for _ in range(2):
        a.normal_()
        c.fill_(float("nan"))
        d.fill_(float("nan"))
        torch.cuda.synchronize()
        graph.replay()
        with torch.cuda.stream(side):  # beside it
            e = torch.empty(256, 256, device="cuda")
            kernel(tl.partition(e, tl.AUTO), a, b)
        torch.cuda.synchronize()
        assert (c.double() - a.double() @ b.double()).abs().max().item() <= 5e-3
        assert torch.equal(c, d) and torch.equal(c, e)
