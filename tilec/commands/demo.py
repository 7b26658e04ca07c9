"""``tilec demo``: the worked kernels on this machine, from source to result.

Each runs on the CPU executor and is compared with NumPy in float64; each is compiled for a target
twice, the second time out of the cache; with a GPU here, each runs there too.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import ml_dtypes
import numpy as np

from tilec.commands.demo_cases import CASES, Array, Case
from tilec.commands.loading import Example, examples_of, gpu_capability
from tilec.compiler.target import Target
from tilec.diagnostics import CompileError
from tilec.jit.cache import DiskCache
from tilec.jit.job import CompileJob

_DEFAULT_TARGET = "sm_90a"
_PHASES = {
    "trace": ("trace", "parse"),
    "tile": ("tile",),
    "tilegpu": ("tilegpu",),
    "lower": ("lower",),
    "llvm": ("optimize", "ptx"),
    "cubin": ("assemble",),
}
"""Columns of the table, with the timings that they sum."""


EPILOG = None


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--target", help=f"the GPU's by default, else {_DEFAULT_TARGET}")


def run(options: argparse.Namespace) -> int:
    """Run the demonstration; return 1 when a result is wrong or a kernel does not compile."""
    from rich.console import Console

    console = Console()
    capability = gpu_capability()
    target = _target(options.target, capability)
    right = _run_everywhere(console, capability is not None)
    with tempfile.TemporaryDirectory(prefix="tilec-demo-") as directory:
        compiled = _compile_everything(console, target, Path(directory))
    console.print("all results are right" if right else "[red]some results are wrong[/red]")
    return 0 if right and compiled else 1


def _target(name: str | None, capability: tuple[int, int] | None) -> Target:
    if name is not None or capability is None:
        return Target.parse(name or _DEFAULT_TARGET)
    return Target.of_capability(*capability)


def _run_everywhere(console: Any, gpu: bool) -> bool:
    """Run each kernel on the CPU, and on the GPU where there is one; tell whether all is right."""
    from rich.table import Table

    to_device = _array_library() if gpu else None
    table = Table("kernel", "CPU ms", "error", "allowed", title="Results, against NumPy in float64")
    if to_device is not None:
        table.add_column("GPU ms")
        table.add_column("error")
    right = True
    for case in CASES:
        outputs, inputs, reference = case.make(np.random.default_rng(7))
        row = [case.name]
        for convert in filter(None, (lambda array: array, to_device)):
            error, ms = _measure(case, outputs, inputs, reference, convert)
            right = right and error <= case.tolerance
            row += [f"{ms:.1f}", f"{error:.1e}"]
        table.add_row(*row[:3], f"{case.tolerance:.1e}", *row[3:])
    console.print(table)
    if gpu and to_device is None:
        console.print("there is a GPU, but neither torch nor cupy to make arrays on it")
    return right


def _measure(
    case: Case,
    output: Array,
    inputs: list[Array],
    reference: Array,
    convert: Callable[[Any], Any],
) -> tuple[float, float]:
    """Return the largest relative error and the milliseconds of the second of two runs."""
    result, arguments = convert(output), [convert(array) for array in inputs]
    case.function(result, *arguments)
    start = time.perf_counter()
    case.function(result, *arguments)
    found = _to_numpy(result).astype(np.float64)
    ms = 1e3 * (time.perf_counter() - start)
    scale = max(float(np.abs(reference).max()), 1e-30)
    return float(np.abs(found - reference).max()) / scale, ms


def _array_library() -> Callable[[Any], Any] | None:
    """Return what makes a device array of a NumPy array, or None without a library for it."""
    for name, make in (("torch", _torch_array), ("cupy", _cupy_array)):
        if importlib.util.find_spec(name) is not None:
            return make
    return None


def _torch_array(array: Array) -> Any:
    torch = importlib.import_module("torch")
    if array.dtype == ml_dtypes.bfloat16:  # which torch does not know by that name
        return torch.as_tensor(array.view(np.int16), device="cuda").view(torch.bfloat16)
    return torch.as_tensor(array, device="cuda")


def _cupy_array(array: Array) -> Any:
    return importlib.import_module("cupy").asarray(array)


def _to_numpy(array: Any) -> Array:
    if type(array) is np.ndarray:
        return cast("Array", array)
    if hasattr(array, "get"):
        return array.get()
    if str(array.dtype) == "torch.bfloat16":
        integers = array.view(importlib.import_module("torch").int16)
        return integers.cpu().numpy().view(ml_dtypes.bfloat16)
    return array.cpu().numpy()


def _compile_everything(console: Any, target: Target, directory: Path) -> bool:
    """Compile each kernel into an empty cache, and take it out again; tell whether all did."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    title = f"Compiled for {target.name}: ms by phase, in all, and again from the cache"
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=0, title=title)
    table.add_column("kernel", no_wrap=True)
    for column in (*_PHASES, "all", "again", "KiB", "regs", "spill"):
        table.add_column(column, justify="right", no_wrap=True)
    first, second = DiskCache(directory, 2**30), DiskCache(directory, 2**30)
    refusals: list[str] = []
    for example, label in [pair for case in CASES for pair in _labelled(examples_of(case.place))]:
        try:
            table.add_row(label, *_compile(example, target, first, second))
        except CompileError as error:
            refusals.append(f"{example.kernel.name}: {error.render()}")
    console.print(table)
    for refusal in refusals:
        console.print(refusal, style="red", markup=False)
    return not refusals


def _labelled(examples: list[Example]) -> Iterator[tuple[Example, str]]:
    """Pair each with its kernel's name, and with the dtype of its input if there are others."""
    count = Counter(example.kernel.name for example in examples)
    for example in examples:
        name = example.kernel.name
        _, given, *_ = example.text.split()
        dtype = f" {given.partition('[')[0]}" if count[name] > 1 else ""
        yield example, name.removesuffix("_kernel") + dtype


def _compile(example: Example, target: Target, first: DiskCache, second: DiskCache) -> list[str]:
    args, kwargs = example.arguments()
    request = example.kernel.request(*args, target=target.name, **kwargs)
    made = first.obtain(request, CompileJob(request))
    found = second.obtain(request, CompileJob(request))
    spent: dict[str, float] = dict(made.entry.metadata["timings_ms"])
    spent["trace"] = 1e3 * made.seconds - sum(spent.values())
    resources: dict[str, Any] = made.entry.metadata["resources"] or {}
    return [
        *(_short(sum(spent.get(name, 0.0) for name in names)) for names in _PHASES.values()),
        _short(1e3 * made.seconds),
        _short(1e3 * found.seconds),
        f"{len(made.entry.cubin) / 1024:.0f}",
        str(resources.get("registers", "?")),
        str(resources.get("spill_store_bytes", "?")),
    ]


def _short(ms: float) -> str:
    return f"{ms:.1f}" if ms < 10 else f"{ms:.0f}"
