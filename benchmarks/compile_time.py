"""How long the first launch takes, in a fresh process: cold (every cache empty) and warm (disk).

The clock runs from the first call, with tilec or Triton, and torch, already imported, to the
synchronised result. Import time stands beside it. Each figure is the median of several processes.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OPERATORS = ("add", "softmax", "layernorm", "matmul")
FRAMEWORKS = ("tilec", "triton")
CACHE_VARIABLES = ("TILEC_CACHE_DIR", "CUDA_CACHE_PATH", "TRITON_CACHE_DIR")
_TIMEOUT_S = 300.0


@dataclass(frozen=True)
class FirstLaunch:
    """One process's clock readings, in milliseconds."""

    import_ms: float
    first_ms: float
    second_ms: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--repeats", type=int, default=5, help="processes a figure")
    parser.add_argument("--quick", action="store_true", help="one process a figure")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(_child(*options.child).__dict__))
        return
    repeats = 1 if options.quick else options.repeats
    rows = list(_rows(repeats))
    _show(rows)
    if options.json:
        options.json.write_text(json.dumps({"benchmark": "compile_time", "rows": rows}, indent=2))


def _rows(repeats: int) -> Any:
    for framework in FRAMEWORKS:
        for operator in OPERATORS:
            try:
                yield _row(framework, operator, repeats)
            except subprocess.CalledProcessError as error:
                reason = (error.stderr.strip() or "no message").splitlines()[-1]
                yield {"framework": framework, "operator": operator, "failure": reason}


def _row(framework: str, operator: str, repeats: int) -> dict[str, Any]:
    cold: list[FirstLaunch] = []
    warm: list[FirstLaunch] = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as directory:
            cold.append(_process(framework, operator, directory))
            warm.append(_process(framework, operator, directory))
    return {
        "framework": framework,
        "operator": operator,
        "import_ms": _median(cold + warm, lambda run: run.import_ms),
        "cold_ms": _median(cold, lambda run: run.first_ms),
        "warm_ms": _median(warm, lambda run: run.first_ms),
        "second_ms": _median(cold + warm, lambda run: run.second_ms),
    }


def _median(runs: list[FirstLaunch], of: Callable[[FirstLaunch], float]) -> float:
    return statistics.median(map(of, runs))


def _process(framework: str, operator: str, cache: str) -> FirstLaunch:
    caches = {variable: str(Path(cache, variable)) for variable in CACHE_VARIABLES}
    done = subprocess.run(
        [sys.executable, __file__, "--child", framework, operator],
        env={**os.environ, **caches},
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=True,
    )
    return FirstLaunch(**json.loads(done.stdout.splitlines()[-1]))


def _child(framework: str, operator: str) -> FirstLaunch:
    import torch

    torch.cuda.init()
    before = time.perf_counter()
    function = _load(framework, operator)
    imported = time.perf_counter()
    call = _call(function, operator)
    torch.cuda.synchronize()
    marks = [time.perf_counter()]
    for _ in range(2):
        call()
        torch.cuda.synchronize()
        marks.append(time.perf_counter())
    first, second = (later - sooner for sooner, later in itertools.pairwise(marks))
    return FirstLaunch((imported - before) * 1e3, first * 1e3, second * 1e3)


def _load(framework: str, operator: str) -> Callable[..., None]:
    if framework == "tilec":
        from tilec import kernels

        return getattr(kernels, operator)
    import baselines

    module = baselines.triton(operator)
    if module is None:
        sys.exit("Triton is not installed")
    return _one_configuration(module, operator)


def _one_configuration(module: Any, operator: str) -> Callable[..., None]:
    """Leave one configuration to the autotuner: tuning is not compiling."""
    tuned = getattr(module, f"_{operator}")
    tuned.configs = tuned.configs[:1]
    return getattr(module, operator)


def _call(function: Callable[..., None], operator: str) -> Callable[[], None]:
    import torch

    def tensor(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)

    arguments = {
        "add": lambda: [tensor(1 << 20) for _ in range(3)],
        "softmax": lambda: [tensor(1024, 1024) for _ in range(2)],
        "layernorm": lambda: [*(tensor(1024, 1024) for _ in range(2)), tensor(1024), tensor(1024)],
        "matmul": lambda: [tensor(512, 512) for _ in range(3)],
    }[operator]()
    if operator == "layernorm":
        arguments.append(1e-5)
    return lambda: function(*arguments)


def _show(rows: list[dict[str, Any]]) -> None:
    print(f"  {'':<20}{'import ms':>10}{'cold ms':>10}{'warm ms':>10}{'second ms':>11}")
    for row in rows:
        name = f"{row['framework']} {row['operator']}"
        if "failure" in row:
            print(f"  {name:<20}not measured: {row['failure']}")
            continue
        print(
            f"  {name:<20}{row['import_ms']:>10.1f}{row['cold_ms']:>10.1f}"
            f"{row['warm_ms']:>10.2f}{row['second_ms']:>11.3f}"
        )


if __name__ == "__main__":
    main()
