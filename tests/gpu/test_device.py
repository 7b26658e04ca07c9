"""What only a device has: streams, threads, captures, several devices, large arrays."""

import threading

import numpy as np
import pytest
import tilec_cases.gpu  # noqa: F401

import tilec as tl


@tl.kernel
def add_one(y, x):
    y.store(x.load_like(y) + 1)


@tl.kernel
def add_one_elsewhere(y, x):
    y.store(x.load_like(y) + 1)


@tl.kernel
def add_one_never_before(y, x):
    y.store(x.load_like(y) + 1)


@tl.kernel
def scale(y, x, factor):
    y.store(x.load_like(y) * factor)


def pair(torch, size=1000, device="cuda"):
    x = torch.randn(size, device=device)
    return torch.full_like(x, float("nan")), x


# -- arrays beyond 2^31 elements (triton #1058, #6748) ---------------------------------------------


@pytest.mark.slow
def test_array_beyond_31_bits_is_indexed_in_64(torch):
    size = 2_508_722_177
    if torch.cuda.mem_get_info()[0] < 3 * size:
        pytest.skip("needs 7.5 GB of GPU memory")
    x = torch.arange(size, dtype=torch.int8, device="cuda")
    y = torch.full_like(x, -1)
    add_one(tl.partition(y, (4096,)), x)
    for start, stop in ((0, 4096), (2**31 - 4096, 2**31 + 4096), (size - 4097, size)):
        assert torch.equal(y[start:stop], x[start:stop] + 1)
    assert int((y != x + 1).sum()) == 0


@pytest.mark.slow
def test_row_stride_beyond_31_bits_is_followed(torch):
    rows, columns, pitch = 320, 8, 7_864_320
    if torch.cuda.mem_get_info()[0] < 1.1 * rows * pitch:
        pytest.skip("needs 2.8 GB of GPU memory")
    x = torch.zeros(rows * pitch, dtype=torch.int8, device="cuda").as_strided(
        (rows, columns), (pitch, 1)
    )
    x.copy_(torch.randint(-100, 100, (rows, columns), dtype=torch.int8))
    y = torch.zeros(rows, columns, dtype=torch.int8, device="cuda")
    add_one(tl.partition(y, (8, 8)), x)
    assert torch.equal(y, x + 1)


# -- threads (triton #3729) ------------------------------------------------------------------------


def test_thread_without_a_context_launches(torch):
    y, x = pair(torch)
    add_one(tl.partition(y, (128,)), x)
    y.fill_(0)
    torch.cuda.synchronize()
    failures = in_threads([lambda: add_one(tl.partition(y, (128,)), x)])
    torch.cuda.synchronize()
    assert not failures
    assert torch.equal(y, x + 1)


def test_many_threads_launch_at_once(torch):
    pairs = [pair(torch) for _ in range(16)]

    def work(y, x):
        for _ in range(200):
            add_one(tl.partition(y, (128,)), x)

    failures = in_threads([lambda y=y, x=x: work(y, x) for y, x in pairs])
    torch.cuda.synchronize()
    assert not failures
    assert all(torch.equal(y, x + 1) for y, x in pairs)


def test_threads_race_on_a_first_launch(torch):
    pairs = [pair(torch) for _ in range(8)]
    barrier = threading.Barrier(len(pairs))

    def work(y, x):
        barrier.wait()
        add_one_elsewhere(tl.partition(y, (128,)), x)

    failures = in_threads([lambda y=y, x=x: work(y, x) for y, x in pairs])
    torch.cuda.synchronize()
    assert not failures
    assert all(torch.equal(y, x + 1) for y, x in pairs)


def in_threads(calls):
    failures = []

    def guarded(call):
        try:
            call()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
        assert not thread.is_alive()
    return failures


# -- devices (triton #2441, #310) ------------------------------------------------------------------


@pytest.fixture
def two_devices(torch):
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    return torch


def test_arrays_decide_the_device(two_devices):
    torch = two_devices
    for device in ("cuda:1", "cuda:0"):
        y, x = pair(torch, device=device)
        add_one(tl.partition(y, (128,)), x)
        assert torch.equal(y, x + 1)
    assert torch.cuda.current_device() == 0


def test_arrays_on_two_devices_are_refused(two_devices):
    torch = two_devices
    y, _ = pair(torch, device="cuda:1")
    _, x = pair(torch, device="cuda:0")
    with pytest.raises(tl.LaunchError, match="device"):
        add_one(tl.partition(y, (128,)), x)


def test_numpy_beside_a_cuda_tensor_is_refused(torch):
    y, _ = pair(torch)
    with pytest.raises(tl.LaunchError, match="device"):
        add_one(tl.partition(y, (128,)), np.zeros(1000, np.float32))
    assert bool(y.isnan().all())


def test_cpu_tensor_is_refused_or_runs_on_the_cpu(torch):
    x = torch.randn(1000)
    y = torch.zeros_like(x)
    try:
        add_one(tl.partition(y, (128,)), x)
    except tl.LaunchError as error:
        assert "x" in str(error) or "y" in str(error)
    else:
        assert torch.equal(y, x + 1)


# -- streams and captures (vllm PR 36587, triton #10596) -------------------------------------------


def test_launch_follows_the_current_stream(torch):
    y, x = pair(torch, 1 << 20)
    z = torch.zeros_like(x)
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(20_000_000)
        torch.add(x, 1, out=z)
        add_one(tl.partition(y, (1024,)), z)
    stream.synchronize()
    assert torch.equal(y, x + 1 + 1)


def capture(torch, call):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph


def replays_follow(torch, graph, y, x):
    for _ in range(3):
        x.normal_()
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(y, x + 1)


def test_capture_of_a_warm_kernel_replays(torch):
    y, x = pair(torch)
    add_one(tl.partition(y, (128,)), x)
    replays_follow(torch, capture(torch, lambda: add_one(tl.partition(y, (128,)), x)), y, x)


def test_capture_of_a_cold_kernel_replays_or_is_refused_cleanly(torch):
    y, x = pair(torch)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        z = x + 1
        try:
            add_one_never_before(tl.partition(y, (128,)), x)
        except tl.LaunchError:
            y.copy_(z)  # the capture must still be valid
    replays_follow(torch, graph, y, x)


def test_capture_of_an_empty_array_records_nothing(torch):
    y, x = pair(torch, 0)
    kept, source = pair(torch)

    def call():
        add_one(tl.partition(y, (128,)), x)
        torch.add(source, 1, out=kept)

    torch.add(source, 1, out=kept)
    replays_follow(torch, capture(torch, call), kept, source)


def test_runs_are_deterministic(torch):
    from tilec import kernels

    x = torch.randn(333, 1953, device="cuda")
    outputs = [torch.empty_like(x) for _ in range(5)]
    for y in outputs:
        kernels.softmax(y, x)
    assert all(torch.equal(outputs[0], y) for y in outputs)


def test_gpu_agrees_with_the_cpu_executor(torch, rng):
    from tilec import kernels

    x = rng.standard_normal((37, 1185)).astype(np.float32)
    on_cpu = np.empty_like(x)
    kernels.softmax(on_cpu, x)
    on_gpu = torch.empty(x.shape, device="cuda")
    kernels.softmax(on_gpu, torch.from_numpy(x).cuda())
    np.testing.assert_allclose(on_gpu.cpu().numpy(), on_cpu, rtol=2e-6, atol=1e-30)
