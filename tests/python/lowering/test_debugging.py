"""Lowered prints and assertions, run thread by thread against the device's functions."""

import re

import ml_dtypes
import numpy as np
import pytest

import tilec as tl
from tilec.compiler.phases import module_text


@pytest.fixture
def device(tools, run_programs):
    """Runs every program of a kernel; gives what was printed, and which assertions failed."""

    def run(kernel, *arguments, blocks=1):
        specs, values = tools.flat(*arguments)
        text = module_text(tools.bytecode(kernel, *specs), locations=True)
        machines = run_programs(text, values, blocks)
        printed = [line for machine in machines for line in machine.device.printed]
        return printed, [failure for machine in machines for failure in machine.device.failures]

    return run


def test_scalars_print_once_a_program(device, tools):
    def kernel(y, n, flag):
        j = y.index[1]
        tl.print("n is {}, 100% of {} at {}", n, flag, j)
        tl.print("maximum", tl.max(y.load()))
        y.store(0)

    y = np.full((4, 96), 7, np.float32)
    printed, _ = device(kernel, tools.part(y, (4, 32)), -3, True, blocks=3)
    assert printed == [
        line
        for j in range(3)
        for line in (f"program (0, {j}): n is -3, 100% of True at {j}\n",
                     f"program (0, {j}): maximum 7\n")
    ]  # fmt: skip


VALUES = [
    (np.float32, [0.5, -0.0, np.nan, np.inf, 0.1], ["0.5", "-0", "nan", "inf", "0.100000001"]),
    (np.float16, [0.1], ["0.099976"]),
    (ml_dtypes.bfloat16, [0.1, 3e38], ["0.1001", "3.004e+38"]),
    (np.float64, [0.1], ["0.10000000000000001"]),
    (ml_dtypes.float8_e4m3fn, [0.1, 448], ["0.102", "448"]),
    (ml_dtypes.float8_e5m2, [0.1], ["0.094"]),
    (np.int8, [-128, 127], ["-128", "127"]),
    (np.uint8, [255, 1], ["255", "1"]),
    (np.int16, [-5], ["-5"]),
    (np.uint16, [65535], ["65535"]),
    (np.uint32, [2**32 - 1], ["4294967295"]),
    (np.int64, [-(2**63)], ["-9223372036854775808"]),
    (np.uint64, [2**64 - 1], ["18446744073709551615"]),
    (np.bool_, [True, False], ["True", "False"]),
]


@pytest.mark.parametrize(
    ("dtype", "values", "shown"), VALUES, ids=lambda v: getattr(v, "__name__", "")
)
def test_every_dtype_prints_its_values(device, tools, dtype, values, shown):
    def kernel(y, x):
        tl.print("{}", x.load((0,), (8,)))
        y.store(0)

    x = np.zeros(8, dtype)
    x[: len(values)] = values
    printed, _ = device(kernel, tools.part(np.zeros(1, np.int32), (1,)), x)
    found = dict(
        re.fullmatch(r"program \(0,\), element \((\d),\): (.*)\n", p).groups() for p in printed
    )
    assert sorted(found) == list("01234567")
    assert [found[str(number)] for number in range(len(values))] == shown


@pytest.mark.parametrize("shape", [(8, 16), (3, 5), (2, 3, 4), (1, 185), (64, 64)])
def test_tile_prints_every_element_once(device, tools, shape):
    def kernel(y, x):
        tile = x.load((0,) * len(shape), shape)
        tl.print("{} twice is {}", tile, tile * 2)
        y.store(0)

    x = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    printed, _ = device(kernel, tools.part(np.zeros(1, np.int32), (1,)), x)
    expected = [
        f"program (0,), element {tuple(map(int, place))}: {x[place]} twice is {2 * x[place]}\n"
        for place in np.ndindex(shape)
    ]
    assert sorted(printed) == sorted(expected)


def test_tiles_of_several_shapes_have_lines_of_their_own(device, tools):
    def kernel(y, x):
        row, column = x.load((0, 0), (1, 4)), x.load((0, 0), (2, 1))
        tl.print("row {} column {} corner {}", row, column, x.load((0, 0), (1, 1)))
        y.store(0)

    x = np.arange(8, dtype=np.int32).reshape(2, 4)
    printed, _ = device(kernel, tools.part(np.zeros(1, np.int32), (1,)), x)
    rows = [f"program (0,), element (0, {i}): row {i} column [...] corner 0\n" for i in range(4)]
    columns = [
        f"program (0,), element ({i}, 0): row [...] column {4 * i} corner 0\n" for i in (0, 1)
    ]
    assert sorted(printed) == sorted(rows + columns)


def test_tiles_of_one_print_share_a_layout(device, tools):
    def kernel(y, x):
        tile = x.load((0, 0), (32, 32))
        tl.print("{} {}", tile, x.T.load((0, 0), (32, 32)))
        y.store(0)

    x = np.arange(1024, dtype=np.float32).reshape(32, 32)
    printed, _ = device(kernel, tools.part(np.zeros(1, np.int32), (1,)), x)
    expected = [
        f"program (0,), element ({i}, {j}): {x[i, j]:g} {x[j, i]:g}\n"
        for i in range(32)
        for j in range(32)
    ]
    assert sorted(printed) == sorted(expected)


def test_program_of_an_explicit_grid_has_three_coordinates(device):
    def kernel(n):
        tl.print("{}", n)

    printed, _ = device(kernel, 5, blocks=2)
    assert printed == ["program (0, 0, 0): 5\n", "program (1, 0, 0): 5\n"]


def test_print_in_a_loop_prints_every_turn(device, tools):
    def kernel(y, n):
        for k in range(n):
            if k > 1:
                tl.print("k", k)
        y.store(0)

    printed, _ = device(kernel, tools.part(np.zeros(1, np.int32), (1,)), 4)
    assert printed == ["program (0,): k 2\n", "program (0,): k 3\n"]


@pytest.mark.parametrize("shape", [(128,), (3, 5), (1, 1), ()])
@pytest.mark.parametrize("spot", [None, 0, -1])
def test_assertion_on_a_tile_fails_in_one_thread(device, tools, shape, spot):
    def kernel(y, x):
        tl.assert_(x.load((0,) * len(shape), shape) > 0, "must be positive")
        y.store(0)

    x = np.ones(shape, np.float32)
    if spot is not None:
        x.reshape(-1)[spot] = -1
    _, failures = device(kernel, tools.part(np.zeros(1, np.int32), (1,)), x)
    line = kernel.__code__.co_firstlineno + 1
    assert failures == ([] if spot is None else [("must be positive", __file__, line, "kernel")])


def test_assertion_in_a_helper_names_the_helper(device, tools):
    def helper(n):
        tl.assert_(n < 2, "100% too large")

    def kernel(y, n):
        helper(n)
        y.store(0)

    line = helper.__code__.co_firstlineno + 1
    part = tools.part(np.zeros(64, np.int32), (64,))
    assert device(kernel, part, 1)[1] == []
    assert device(kernel, part, 2)[1] == [("100% too large", __file__, line, "helper")]
