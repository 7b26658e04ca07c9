"""The cases of tilec_cases.grouped on a GPU, and what only a device shows."""

import numpy as np
import pytest
import tilec_cases.gpu  # noqa: F401
from tilec_cases.checks import BF16, assert_product
from tilec_cases.grouped import *  # noqa: F403
from tilec_cases.grouped import Product, launch_products, some_shapes

import tilec as tl
from tilec.kernels.matmul import matmul_kernel


@pytest.mark.parametrize("tile", [tl.AUTO, (128, 128), (128, 256)])
def test_many_tiles_a_cta(place, rng, tile):
    shapes = [(m * 8 + 1, n * 8, k * 8) for m, n, k in some_shapes(rng, 40, 200)]
    launch_products(place, rng, shapes, tile)


def test_many_problems_of_few_tiles(place, rng):
    """More problems than one copy of 64 KiB has rows for, and than there are multiprocessors."""
    launch_products(place, rng, some_shapes(rng, 700, 130), (64, 64))


@pytest.mark.parametrize("tile", [(128, 128), (128, 256)])
def test_depths_of_one_turn_and_of_many(place, rng, tile):
    """Programs that take turns at problems whose loops are as different as can be."""
    depths = [64, 8192, 64, 64, 4096, 128, 64, 2048] * 8
    launch_products(place, rng, [(128, 384, depth) for depth in depths], tile)


def test_launches_one_behind_the_other_have_tables_of_their_own(place, rng, torch):
    """No launch waits for another, and none reads the table of another."""
    found = []
    for _ in range(60):
        shapes = some_shapes(rng, int(rng.integers(1, 6)), 200)
        products = [Product.random(place, rng, shape, BF16, aligned=True) for shape in shapes]
        arguments = [product.arguments(place, (64, 128)) for product in products]
        found.append((products, arguments))
    torch.cuda.synchronize()
    for _, arguments in found:
        matmul_kernel.grouped(arguments)
    for products, _ in found:
        for product in products:
            product.check()


def test_launches_on_several_streams(place, rng, torch):
    streams, found = [torch.cuda.Stream() for _ in range(4)], []
    for k in range(24):
        shapes = some_shapes(rng, 4, 300)
        products = [Product.random(place, rng, shape, BF16, aligned=True) for shape in shapes]
        found.append((products, [p.arguments(place, (128, 128)) for p in products], k % 4))
    torch.cuda.synchronize()
    for _, arguments, stream in found:
        with torch.cuda.stream(streams[stream]):
            matmul_kernel.grouped(arguments)
    torch.cuda.synchronize()
    for products, _, _ in found:
        for product in products:
            product.check()


def test_a_captured_launch_keeps_its_table(torch):
    """The graph runs after the list, and other launches, are gone."""
    sizes = [(100, 64), (1, 64), (300, 128)]
    a = [torch.randn(m, k, device="cuda", dtype=torch.bfloat16) for m, k in sizes]
    b = [torch.randn(k, 256, device="cuda", dtype=torch.bfloat16) for _, k in sizes]
    c = [torch.zeros(m, 256, device="cuda", dtype=torch.bfloat16) for m, _ in sizes]

    def launch() -> None:
        matmul_kernel.grouped(
            [(tl.partition(z, (128, 128)), x, y) for z, x, y in zip(c, a, b, strict=True)]
        )

    launch()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch()
    for _ in range(3):
        for x, z in zip(a, c, strict=True):
            x.copy_(torch.randn_like(x))
            z.fill_(float("nan"))
        other = torch.zeros(7, 256, device="cuda", dtype=torch.bfloat16)
        matmul_kernel.grouped([(tl.partition(other, (128, 128)), a[0][:7], b[0])])
        graph.replay()
        torch.cuda.synchronize()
        for x, y, z in zip(a, b, c, strict=True):
            left, right, found = (t.float().cpu().numpy() for t in (x, y, z))
            assert_product(found.astype(BF16), left, right)


def test_pointers_that_are_not_aligned(torch):
    """Arrays that the copy engine cannot take: all problems go by threads."""
    rng = np.random.default_rng()
    problems, expected = [], []
    for m, n, k in some_shapes(rng, 6, 200):
        flat = torch.randn(m * k + k * n + 1, device="cuda", dtype=torch.bfloat16)
        a, b = flat[1 : 1 + m * k].view(m, k), flat[1 + m * k :].view(k, n)
        c = torch.full((m, n), float("nan"), device="cuda", dtype=torch.bfloat16)
        problems.append((tl.partition(c, tl.AUTO), a, b))
        expected.append((c, a, b))
    matmul_kernel.grouped(problems)
    for c, a, b in expected:
        left, right, found = (t.float().cpu().numpy() for t in (a, b, c))
        assert_product(found.astype(BF16), left, right)
