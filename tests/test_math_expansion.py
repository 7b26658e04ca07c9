"""What `tilegpu-expand-math` emits, run on NumPy arrays: held to the bounds of docs/numerics.md."""

import ml_dtypes
import numpy as np
import pytest
from tilec_math.cases import CASES, bounds, expected, inputs, ulp_errors, within_limit
from tilec_math.scalar_ir import call, kernels

from tilec.execute.numerics import narrow

from .tools import PYTHON, check

DTYPES = {"f32": np.float32, "f64": np.float64}
COUNT = 20_000
FEW = 2_000  # where the reference is slow


def op_name(function):
    return "arith.remf" if function == "remf" else f"math.{function}"


def kernel_text(name, op, operand_types, result_type):
    """A kernel that prints one op's result."""
    arguments = [f"%a{i}: {type_}" for i, type_ in enumerate(operand_types)]
    operands = ", ".join(f"%a{i}" for i in range(len(operand_types)))
    if op in ("arith.extf", "arith.truncf", "arith.bitcast"):
        types = f"{operand_types[0]} to {result_type}"
    else:
        types = result_type
    return f"""tile.kernel @{name}({", ".join(arguments)}) {{
  %r = {op} {operands} : {types}
  tile.print "{{}}"(%r) : {result_type}
  tile.return
}}
"""


def expand(texts, tmp_path, target=""):
    source = tmp_path / "source.mlir"
    attributes = f"attributes {{tilegpu.target = {target}}} " if target else ""
    source.write_text(f"module {attributes}{{\n{''.join(texts)}}}\n")
    return check(PYTHON, "-m", "tilec.opt", "--tilegpu-expand-math", source)


@pytest.fixture(scope="module")
def expanded(tmp_path_factory):
    texts = [
        kernel_text(f"{name}_{dtype}", op_name(name), [dtype] * case.arity, dtype)
        for name, case in CASES.items()
        for dtype in DTYPES
    ]
    return kernels(expand(texts, tmp_path_factory.mktemp("math")))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CASES)
def test_math_function_is_within_its_bound(expanded, name, dtype):
    _, found = expanded
    case, format_ = CASES[name], DTYPES[dtype]
    slow = dtype == "f64" and case.reference_f64 is not None
    columns = inputs(case, format_, FEW if slow else COUNT)
    exact = expected(case, columns)
    inside = within_limit(case, columns, format_)
    worst = 0.0
    for skew in (-1, 0, 1):
        (got,) = call(found[f"{name}_{dtype}"], columns, skew)
        errors = np.where(inside, ulp_errors(got, exact, format_), 0.0)
        where = int(np.argmax(errors))
        worst = max(worst, errors[where])
        assert errors[where] <= bounds()[name, dtype], (
            f"{name}({', '.join(repr(c[where]) for c in columns)}): {errors[where]:.3f} ulp, "
            f"expected {exact[where]}, found {got[where]}"
        )
    print(f"{name} {dtype}: {worst:.2f}")


@pytest.mark.parametrize("name", ["exp", "powf"])
def test_math_narrow_floats_are_rounded_once_from_f32(tmp_path, name):
    arity = CASES[name].arity
    text = expand([kernel_text("k", op_name(name), ["f16"] * arity, "f16")], tmp_path)
    _, found = kernels(text)
    x = np.arange(0, 0x7C00, dtype=np.uint16).view(np.float16)
    (got,) = call(found["k"], [x] * arity)
    with np.errstate(all="ignore"):
        exact = CASES[name].reference(*[x.astype(np.float64)] * arity)
        assert np.array_equal(got, exact.astype(np.float32).astype(np.float16)) or np.all(
            ulp_errors(got, exact, np.float16) < 0.51
        )


SMALL = {"f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2}


@pytest.mark.parametrize("small", SMALL)
def test_small_floats_extend_exactly(tmp_path, small):
    text = expand([kernel_text("k", "arith.extf", [small], "f32")], tmp_path)
    _, found = kernels(text)
    bits = np.arange(256, dtype=np.uint8)
    (got,) = call(found["k"], [bits.view(np.int8)])
    exact = bits.view(SMALL[small]).astype(np.float32)
    np.testing.assert_array_equal(got, exact)
    assert np.array_equal(np.signbit(got), np.signbit(exact))


@pytest.mark.parametrize("wide", ["f32", "f64"])
@pytest.mark.parametrize("small", SMALL)
def test_small_floats_round_to_nearest_and_saturate(tmp_path, small, wide):
    text = expand([kernel_text("k", "arith.truncf", [wide], small)], tmp_path)
    _, found = kernels(text)
    format_, largest = SMALL[small], float(ml_dtypes.finfo(SMALL[small]).max)
    rng = np.random.default_rng(7)
    every = np.arange(256, dtype=np.uint8).view(format_).astype(DTYPES[wide])
    every = np.sort(every[np.isfinite(every)])
    ties = (every[1:] + every[:-1]) / 2
    x = np.concatenate([every, ties, np.nextafter(ties, np.inf), np.nextafter(ties, -np.inf)])
    x = np.concatenate([x, rng.normal(0, 100, 1000), [np.inf, -np.inf, np.nan, 1e9, -1e-9]])
    x = x.astype(DTYPES[wide])
    (got,) = call(found["k"], [x])
    exact = narrow(np.clip(x, -largest, largest), np.dtype(format_)).astype(np.float32)
    found_values = got.view(np.uint8).view(format_).astype(np.float32)
    np.testing.assert_array_equal(found_values, exact)
    assert np.array_equal(
        np.signbit(found_values), np.signbit(exact) | (np.isnan(x) & np.signbit(x))
    )


def integer_text(name, op, type_):
    return kernel_text(name, f"arith.{op}", [type_, type_], type_)


@pytest.mark.parametrize("bits", [8, 32, 64])
@pytest.mark.parametrize("op", ["floordivsi", "ceildivsi", "ceildivui"])
def test_integer_division_rounds_as_named(tmp_path, op, bits):
    _, found = kernels(expand([integer_text("k", op, f"i{bits}")], tmp_path))
    values = np.array([-128, -8, -7, -3, -2, -1, 1, 2, 3, 7, 8, 100, 127])
    x, y = (part.ravel() for part in np.meshgrid(values, values))
    fits = ~((x == -128) & (y == -1))
    x, y = x[fits].astype(f"i{bits // 8}"), y[fits].astype(f"i{bits // 8}")
    (got,) = call(found["k"], [x, y])
    if op == "ceildivui":
        unsigned = f"u{bits // 8}"
        wide = [int(a) for a in x.view(unsigned)], [int(b) for b in y.view(unsigned)]
        exact = np.array([-(-a // b) for a, b in zip(*wide, strict=True)], object)
        assert [int(v) for v in got.view(unsigned)] == list(exact)
    else:
        wide = zip((int(a) for a in x), (int(b) for b in y), strict=True)
        exact = [a // b if op == "floordivsi" else -(-a // b) for a, b in wide]
        assert [int(v) for v in got] == exact
