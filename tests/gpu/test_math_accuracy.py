"""Elementary functions on the GPU, held to the bounds of docs/numerics.md."""

import numpy as np
import pytest
import tilec_cases.gpu  # noqa: F401  skips without a GPU
import torch
from tilec_math.cases import CASES, bounds, expected, inputs, ulp_errors, within_limit

import tilec as tl

pytestmark = pytest.mark.gpu

COUNT = 1 << 20
FEW = 2_000  # where the reference is slow
TILE = 1024
DTYPES = {"f32": np.float32, "f64": np.float64}
FUNCTIONS = {name: getattr(tl, {"powf": "pow"}.get(name, name)) for name in CASES if name != "remf"}


def unary(function):
    @tl.kernel
    def kernel(y, x):
        y.store(function(x.load_like(y)))

    return kernel


def binary(function):
    @tl.kernel
    def kernel(y, a, b):
        y.store(function(a.load_like(y), b.load_like(y)))

    return kernel


def run(name, columns):
    """The function of some columns, computed on the GPU."""
    make = unary if len(columns) == 1 else binary
    arrays = [torch.from_numpy(column).cuda() for column in columns]
    result = torch.empty_like(arrays[0])
    make(FUNCTIONS[name])(tl.partition(result, (TILE,)), *arrays)
    return result.cpu().numpy()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_math_function_on_gpu_is_within_its_bound(name, dtype):
    case, format_ = CASES[name], DTYPES[dtype]
    slow = dtype == "f64" and case.reference_f64 is not None
    columns = inputs(case, format_, FEW if slow else COUNT)
    exact = expected(case, columns)
    got = run(name, columns)
    errors = np.where(within_limit(case, columns, format_), ulp_errors(got, exact, format_), 0.0)
    where = int(np.argmax(errors))
    assert errors[where] <= bounds()[name, dtype], (
        f"{name}({', '.join(repr(c[where]) for c in columns)}): {errors[where]:.3f} ulp, "
        f"expected {exact[where]}, found {got[where]}"
    )
    print(f"{name} {dtype}: {errors[where]:.3f} ulp")


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if CASES[n].arity == 1])
def test_math_function_in_f16_on_gpu_is_within_half_an_ulp(name):
    case = CASES[name]
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    exact = expected(case, [x])
    got = run(name, [x])
    errors = np.where(
        within_limit(case, [x.astype(np.float32)], np.float32),
        ulp_errors(got, exact, np.float16),
        0.0,
    )
    assert errors.max() <= 0.51
