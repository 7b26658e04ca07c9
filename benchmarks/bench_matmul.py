"""Matrix products through tl.AUTO, untuned: ours, cuBLAS (by way of torch), Triton if asked for.

The table of gemm_rows.py, then random shapes. A ratio says how many times as fast as the fastest
call of cuBLAS ours is, in alternating blocks of one run.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import baselines
import gemm_rows
import harness
import report
import torch
from gemm_rows import Row

from tilec import kernels

CHECKED_ROWS = 512
UNITS = {
    torch.bfloat16: 2.0**-8,
    torch.float16: 2.0**-11,
    torch.float32: 2.0**-24,
    torch.float64: 2.0**-53,
    torch.int32: 0.0,
}
UNIT_F32 = 2.0**-24
FP8_SUM = 2.0**-10
"""Of the terms' sizes: tensor cores keep fewer digits of sums of 8-bit floats."""
TF32_PRODUCT = 2.0**-9
STEEPEST = 1.2
"""The slope of the GELU is less."""
LIBRARY = "cublas"
"""Begins the name of every contender that ours is compared with."""


# -- cases -----------------------------------------------------------------------------------------


def cases(rows: Iterable[Row], with_triton: bool) -> Iterator[harness.Case]:
    for row in rows:
        a, b = row.operands()
        bias = torch.randn(row.n, device=gemm_rows.DEVICE).to(row.result) if row.gelu else None
        yield harness.Case(
            row.name,
            contenders(row, a, b, bias, with_triton),
            check_product(row, a, b, bias),
            moved_bytes=row.moved_bytes,
            flops=row.flops,
        )


def check_product(
    row: Row, a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None
) -> Callable[[torch.Tensor], None]:
    """Return a check of some rows against float64; all rows of a large product would take long."""
    chosen = torch.randperm(row.m, device=a.device)[: max(1, CHECKED_ROWS // row.batch)]
    some, wide = a[..., chosen, :].double(), b.double()
    inner, size = some @ wide, some.abs() @ wide.abs()
    if bias is not None:
        inner = inner + bias.double()
    exact = torch.nn.functional.gelu(inner, approximate="tanh") if row.gelu else inner
    unit = UNITS[row.result]
    allowed = _sum_error(row) * size + unit * exact.abs()
    if row.gelu:  # a library may round before the GELU
        allowed = STEEPEST * (allowed + (unit + 2.0**-16) * inner.abs())

    def check(output: torch.Tensor) -> None:
        if output.is_floating_point():
            assert bool(torch.isfinite(output).all()), "an element is not finite"
        error = (output[..., chosen, :].double() - exact).abs()
        worst = float((error / allowed).nan_to_num(0.0).max())
        assert bool((error <= allowed).all()), f"off by {worst:.3g} bounds"

    return check


def _sum_error(row: Row) -> float:
    """Return the error of a sum of products, in terms of their sizes."""
    if row.element == "int8":
        return 0.0
    if row.element == "e4m3":
        return FP8_SUM
    if row.element == "f64":
        return 4 * row.k * UNITS[torch.float64]
    return 4 * row.k * UNIT_F32 + (TF32_PRODUCT if row.element == "tf32" else 0.0)


# -- contenders ------------------------------------------------------------------------------------


def contenders(
    row: Row, a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None, with_triton: bool
) -> dict[str, harness.Implementation]:
    (ours,) = row.outputs(1)
    found = {"tilec": harness.Implementation(_own(row, ours, a, b, bias), ours)}
    for name, make in _library(row, a, b, bias).items():
        (theirs,) = row.outputs(1)
        found[name] = harness.Implementation(make(theirs), theirs)
    if with_triton and row.batch == 1 and not row.gelu and (triton := baselines.triton("matmul")):
        (output,) = row.outputs(1)
        found["triton"] = harness.Implementation(lambda: triton.matmul(output, a, b), output)
    return found


def _own(
    row: Row, c: torch.Tensor, a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None
) -> Callable[[], None]:
    if row.gelu:
        return lambda: kernels.linear(c, a, b, bias, activation="gelu")
    return lambda: kernels.matmul(c, a, b, allow_tf32=row.element == "tf32")


_Make = Callable[[torch.Tensor], Callable[[], Any]]


def _library(
    row: Row, a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None
) -> dict[str, _Make]:
    """Return the ways of torch to have cuBLAS do it, each to be given an output."""
    torch.backends.cuda.matmul.allow_tf32 = row.element == "tf32"
    if row.gelu:
        assert bias is not None
        return _with_gelu(a, b, bias)
    if row.element == "e4m3":
        return _of_fp8(a, b)
    if row.element == "int8":
        return {LIBRARY: lambda c: lambda: torch._int_mm(a, b, out=c)}
    product = torch.bmm if row.batch > 1 else torch.mm
    return {LIBRARY: lambda c: lambda: product(a, b, out=c)}


def _of_fp8(a: torch.Tensor, b: torch.Tensor) -> dict[str, _Make]:
    one = torch.ones((), device=a.device)

    def scaled(fast: bool) -> _Make:
        return lambda c: (
            lambda: torch._scaled_mm(
                a, b, scale_a=one, scale_b=one, out_dtype=c.dtype, use_fast_accum=fast, out=c
            )
        )

    # Fast accumulation stays in the tensor cores, as ours does.
    return {LIBRARY: scaled(True), "cublas, slow": scaled(False)}


def _with_gelu(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor) -> dict[str, _Make]:
    def fused(c: torch.Tensor) -> Callable[[], Any]:
        return lambda: torch._addmm_activation(bias, a, b, use_gelu=True, out=c)

    def separate(c: torch.Tensor) -> Callable[[], Any]:
        product = torch.empty_like(c)

        def run() -> None:
            torch.addmm(bias, a, b, out=product)
            torch._C._nn.gelu(product, approximate="tanh", out=c)

        return run

    return {LIBRARY: fused, "cublas, gelu": separate}


# -- figures ---------------------------------------------------------------------------------------


def ratio(outcome: harness.Outcome, rival: str = LIBRARY) -> float | None:
    """Return how many times as fast as the fastest rival ours is; None if either has no time."""
    times = [t.median_us for name, t in outcome.timings.items() if name.startswith(rival)]
    own = outcome.timings.get("tilec")
    return min(times) / own.median_us if own and times else None


def show_table(rows: Iterable[Row], outcomes: Iterable[harness.Outcome]) -> list[dict[str, Any]]:
    """Print one line a row; return the same as data."""
    found: list[dict[str, Any]] = []
    print(f"\n{'case':<34}{'x cuBLAS':>9}{'floor':>7}{'goal':>7}{'x Triton':>10}")
    for row, outcome in zip(rows, outcomes, strict=True):
        line = {
            "case": row.name,
            "of_cublas": ratio(outcome),
            "of_triton": ratio(outcome, "triton"),
            "floor": row.floor,
            "goal": row.goal,
        }
        found.append(line)
        shown = [_number(line[key]) for key in ("of_cublas", "floor", "goal", "of_triton")]
        print(
            f"{row.name:<34}{shown[0]:>9}{shown[1]:>7}{shown[2]:>7}{shown[3]:>10}  {_verdict(line)}"
        )
    return found


def _number(value: float | None) -> str:
    return f"{value:.3f}" if value else ""


def _verdict(line: dict[str, Any]) -> str:
    if line["of_cublas"] is None:
        return "no figure"
    if line["of_cublas"] < line["floor"]:
        return "below the floor"
    return "goal" if line["goal"] and line["of_cublas"] >= line["goal"] else ""


def show_random(outcomes: Iterable[harness.Outcome], seed: int) -> dict[str, Any]:
    """Print mean and worst of the random shapes; return the same as data."""
    ratios = {outcome.case: r for outcome in outcomes if (r := ratio(outcome)) is not None}
    if not ratios:
        return {"seed": seed, "ratios": {}}
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    worst = min(ratios, key=lambda case: ratios[case])
    print(
        f"\n{len(ratios)} random shapes (seed {seed}), x cuBLAS: geometric mean {mean:.3f} "
        f"(floor {gemm_rows.RANDOM_FLOOR}, goal {gemm_rows.RANDOM_GOAL}), least "
        f"{ratios[worst]:.3f} (floor {gemm_rows.RANDOM_LEAST}), {worst}"
    )
    return {"seed": seed, "geometric_mean": mean, "least": ratios[worst], "ratios": ratios}


# -- command line ----------------------------------------------------------------------------------


def main() -> None:
    parser = report.parser("matmul")
    parser.add_argument("--triton", action="store_true", help="Triton too; its tuning takes long")
    parser.add_argument("--only", nargs="*", default=[], help="rows whose names contain any of it")
    parser.add_argument("--random", type=int, default=30, help="random shapes after the table")
    parser.add_argument("--seed", type=int, help="of the random shapes; drawn by default")
    options = parser.parse_args()
    rows = _chosen(options)
    seed = random.SystemRandom().randrange(2**31) if options.seed is None else options.seed
    run = report.Run("matmul", options)
    table = [run.measured(case) for case in cases(rows, options.triton)]
    count = min(options.random, 2) if options.quick else options.random
    drawn = [run.measured(case) for case in cases(gemm_rows.random_rows(count, seed), False)]
    figures = {"table": show_table(rows, table), "random": show_random(drawn, seed)}
    run.write(**figures)
    if run.failures:
        sys.exit(f"wrong or refused: {', '.join(run.failures)}")


def _chosen(options: argparse.Namespace) -> list[Row]:
    rows = gemm_rows.QUICK if options.quick else gemm_rows.TABLE
    only = options.only
    return [row for row in rows if not only or any(part in row.name for part in only)]


if __name__ == "__main__":
    main()
