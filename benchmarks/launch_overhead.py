"""Host time of a launch: what the calling thread pays before it can go on.

Arguments rotate over 64 sets of fresh tensors and scalars, the partition is made inside the loop,
and all checks are on. Batches are shorter than the driver's launch queue and the GPU is idle at
the start of each, so that no call waits for an earlier one; contenders take turns.

The row "driver alone" repeats the bare driver call of the same prepared kernel from C++: no launch
can be faster than that on the machine at hand. ``--breakdown`` repeats every part of a launch that
way; the parts are warm there, so their sum is somewhat below the whole.

With ``--recording-driver`` it runs without a GPU, on the driver of the tests that launches nothing:
what remains is binding, checks and packing, for arrays with DLPack's exchange table (as torch's)
and for arrays that are shown through ``__cuda_array_interface__``, the slower way in.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SETS = 64
ROUNDS = 5  # 320 launches a batch; the driver queues 1024
SHAPE = (128, 256)
TILE = (8, 256)
SUPPORT = Path(__file__).parents[1] / "tests" / "support"

Batch = Callable[[], int]
"""Launches once for each set of arguments, ROUNDS times; returns how many launches that were."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--quick", action="store_true", help="few batches")
    parser.add_argument("--breakdown", action="store_true", help="time each part of a launch too")
    parser.add_argument("--recording-driver", action="store_true", help="run without a GPU")
    options = parser.parse_args()
    batches = 5 if options.quick else 200
    if options.recording_driver:
        contenders, wait = _recorded(options.breakdown), lambda: None
    else:
        contenders, wait = _on_gpu(options.breakdown)
    rows = measure(contenders, wait, batches)
    show(rows)
    if options.json:
        options.json.write_text(
            json.dumps({"benchmark": "launch_overhead", "rows": rows}, indent=2)
        )


def measure(
    contenders: dict[str, Batch], wait: Callable[[], None], batches: int
) -> list[dict[str, Any]]:
    """Time batches of launches in turn; returns microseconds per launch of each contender."""
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(batches + 2):  # the first two warm up
        for name, batch in contenders.items():
            wait()
            start = time.perf_counter()
            launches = batch()
            elapsed_us = (time.perf_counter() - start) * 1e6
            if number >= 2:
                samples[name].append(elapsed_us / launches)
    wait()
    return [
        {
            "contender": name,
            "median_us": statistics.median(values),
            "low_us": min(values),
            "high_us": sorted(values)[-1 - len(values) // 5],
        }
        for name, values in samples.items()
    ]


def show(rows: list[dict[str, Any]]) -> None:
    """Print the figures as a table."""
    print(f"  {'host time per launch':<34}{'median µs':>11}{'best':>8}{'p80':>8}")
    for row in rows:
        print(
            f"  {row['contender']:<34}{row['median_us']:>11.2f}{row['low_us']:>8.2f}"
            f"{row['high_us']:>8.2f}"
        )


def _on_gpu(breakdown: bool) -> tuple[dict[str, Batch], Callable[[], None]]:
    import environment
    import torch

    if not torch.cuda.is_available():
        sys.exit(
            "this benchmark needs an NVIDIA GPU and a torch that sees it, or --recording-driver"
        )
    environment.show(environment.describe())
    sets = [
        ([torch.randn(SHAPE, device="cuda") for _ in range(3)], float(number))
        for number in range(SETS)
    ]
    contenders = {
        "empty loop": _empty(sets),
        **_tilec(sets, breakdown),
        "torch.add": _torch_add(sets),
    }
    for make in (_tilec_many, _triton, _cupy):
        try:
            contenders.update(make())
        except ImportError as error:
            print(f"  not measured: {error}")
    return contenders, torch.cuda.synchronize


def _empty(sets: list[Any]) -> Batch:
    def batch() -> int:
        for _ in range(ROUNDS):
            for (_y, _a, _b), _s in sets:
                pass
        return ROUNDS * len(sets)

    return batch


def _parts(kernel: Any, arguments: tuple[Any, ...], breakdown: bool) -> dict[str, Batch]:
    """Parts of a launch that was made before, repeated from C++; only the driver's by default."""

    def repeated(part: str) -> Batch:
        def batch() -> int:
            kernel._repeat(part, ROUNDS * SETS, *arguments)
            return ROUNDS * SETS

        return batch

    rows = {"driver alone": repeated("cuLaunchKernel")}
    if breakdown:
        rows |= {f"  {part}": repeated(part) for part in kernel._parts}
    return rows


def _tilec(sets: list[Any], breakdown: bool) -> dict[str, Batch]:
    import torch

    import tilec as tl

    @tl.kernel
    def scaled_sum(y, a, b, s):
        y.store(a.load_like(y) * s + b.load_like(y))

    (y, a, b), s = sets[3]
    scaled_sum(tl.partition(y, TILE), a, b, s)
    torch.testing.assert_close(y, a * s + b)

    def batch() -> int:
        for _ in range(ROUNDS):
            for (y, a, b), s in sets:
                scaled_sum(tl.partition(y, TILE), a, b, s)
        return ROUNDS * len(sets)

    def partitions() -> int:
        for _ in range(ROUNDS):
            for (y, _a, _b), _s in sets:
                tl.partition(y, TILE)
        return ROUNDS * len(sets)

    return {
        "tilec, 3 arrays + 1 scalar": batch,
        **_parts(scaled_sum, (tl.partition(y, TILE), a, b, s), breakdown),
        **({"  partition": partitions} if breakdown else {}),
    }


def _tilec_many() -> dict[str, Batch]:
    import torch

    import tilec as tl

    @tl.kernel
    def many(y, arrays, numbers):
        acc = tl.zeros(y.tile_shape, tl.float32)
        for array in arrays:
            acc = acc + array.load_like(y)
        for number in numbers:
            acc = acc + number
        y.store(acc)

    sets = [
        (
            torch.empty(SHAPE, device="cuda"),
            tuple(torch.randn(SHAPE, device="cuda") for _ in range(9)),
            tuple(float(k + number) for k in range(9)),
        )
        for number in range(SETS)
    ]
    y, arrays, numbers = sets[0]
    many(tl.partition(y, TILE), arrays, numbers)
    torch.testing.assert_close(y, sum(arrays) + sum(numbers), rtol=1e-5, atol=1e-4)

    def batch() -> int:
        for _ in range(ROUNDS):
            for y, arrays, numbers in sets:
                many(tl.partition(y, TILE), arrays, numbers)
        return ROUNDS * len(sets)

    return {"tilec, 10 arrays + 9 scalars": batch}


def _torch_add(sets: list[Any]) -> Batch:
    import torch

    def batch() -> int:
        for _ in range(ROUNDS):
            for (y, a, b), s in sets:
                torch.add(a, b, alpha=s, out=y)
        return ROUNDS * len(sets)

    return batch


def _triton() -> dict[str, Batch]:
    import torch
    import triton
    import triton.language as language

    @triton.jit
    def scaled_sum(y, a, b, s, size: language.constexpr):
        offsets = language.program_id(0) * size + language.arange(0, size)
        value = language.load(a + offsets) * s + language.load(b + offsets)
        language.store(y + offsets, value)

    sets = [
        ([torch.randn(SHAPE, device="cuda") for _ in range(3)], float(number) + 0.5)
        for number in range(SETS)
    ]
    tile = TILE[0] * TILE[1]
    grid = (SHAPE[0] * SHAPE[1] // tile,)

    def batch() -> int:
        for _ in range(ROUNDS):
            for (y, a, b), s in sets:
                scaled_sum[grid](y, a, b, s, tile)
        return ROUNDS * len(sets)

    return {"Triton, the same": batch}


def _cupy() -> dict[str, Batch]:
    import cupy

    source = """
    extern "C" __global__ void scaled_sum(float *y, const float *a, const float *b, float s) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      y[i] = a[i] * s + b[i];
    }"""
    kernel = cupy.RawKernel(source, "scaled_sum")
    sets = [
        ([cupy.random.standard_normal(SHAPE, dtype=cupy.float32) for _ in range(3)], number + 0.5)
        for number in range(SETS)
    ]
    grid, block = (SHAPE[0] * SHAPE[1] // 256,), (256,)

    def batch() -> int:
        for _ in range(ROUNDS):
            for (y, a, b), s in sets:
                kernel(grid, block, (y, a, b, cupy.float32(s)))
        return ROUNDS * len(sets)

    return {"CuPy RawKernel, the same": batch}


def _recorded(breakdown: bool) -> dict[str, Batch]:
    sys.path.insert(0, str(SUPPORT))
    import ctypes
    import tempfile

    import recording_driver as support
    from exchange_arrays import exchange_array_class

    from tilec import _runtime

    path = support.build_library(Path(tempfile.mkdtemp(prefix="tilec-launch-")))
    _runtime.replace_driver(path)
    library = ctypes.CDLL(path)
    library.fake_push_context(ctypes.c_uint64(0xC0))  # as in a process that uses torch
    memory = support.Memory()
    kernel = support.PlannedKernel("y", "a", "b", "s")
    mapped = support.PlannedKernel("y", "a", "b", "s", params=_mapped_parameters())
    slower = [([memory.array(SHAPE) for _ in range(3)], float(number)) for number in range(SETS)]
    array_class = exchange_array_class(library)
    sets = [([array_class(x.pointer, x.shape) for x in arrays], s) for arrays, s in slower]

    def launches(sets: list[Any], kernel: Any = kernel) -> Batch:
        def batch() -> int:
            for _ in range(ROUNDS):
                for (y, a, b), s in sets:
                    kernel(_runtime.partition(y, TILE), a, b, s)
            return ROUNDS * len(sets)

        return batch

    def partitions() -> int:
        for _ in range(ROUNDS):
            for (y, _a, _b), _s in sets:
                _runtime.partition(y, TILE)
        return ROUNDS * len(sets)

    (y, a, b), s = sets[3]
    arguments = _runtime.partition(y, TILE), a, b, s
    kernel(*arguments)
    return {
        "empty loop": _empty(sets),
        "3 arrays + 1 scalar, no driver": launches(sets),
        "the same through the interface": launches(slower),
        "the same as 3 tensor maps": launches(sets, mapped),
        **_parts(kernel, arguments, breakdown),
        **({"  partition": partitions} if breakdown else {}),
    }


def _mapped_parameters() -> list[dict[str, Any]]:
    mapped = {"kind": "tensor_map", "order": [1, 0], "box": [32, 8]}
    mapped |= {"swizzle": 128, "element_bytes": 4}
    maps = [{**mapped, "arg": number} for number in range(3)]
    return [*maps, {"kind": "scalar", "arg": 3, "dtype": "f32"}]


if __name__ == "__main__":
    main()
