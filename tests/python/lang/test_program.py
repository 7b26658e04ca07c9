"""Grids, printing, checks and compile-time helpers."""

import numpy as np
import pytest

import tilec as tl
from tilec.execute.errors import ExecutionError


def test_program_id_over_explicit_grid(tools):
    def kernel(y):
        i, j = tl.program_id(0), tl.program_id(1)
        y.store((i, j), tl.full((1, 1), i * 10 + j + tl.num_programs(1) * 100, tl.int32))

    y = np.zeros((2, 3), np.int32)
    spec = tools.view(tl.int32, 2, access="unchecked")
    tools.execute(kernel, [spec], [y], grid=(2, 3))
    assert y.tolist() == [[300, 301, 302], [310, 311, 312]]


def test_print_formats_and_lists_values(tools, capfd):
    def kernel(y):
        (i,) = y.index
        tl.print("program {}: {}", i, tl.arange(2))
        tl.print("i =", i, 2.5)
        tl.print(i, True)
        y.store(0)

    tools.run(kernel, tools.part(np.zeros(1, np.int32), (1,)))
    lines = capfd.readouterr().out.splitlines()
    assert [line.replace("True", "true") for line in lines] == [
        "program 0: [0 1]",
        "i = 0 2.5",
        "0 true",
    ]


def test_assert_stops_with_message(tools):
    def kernel(y, x):
        tl.assert_(x.load_like(y) > 0, "x must be positive")
        y.store(0)

    y = np.zeros(2, np.int32)
    tools.run(kernel, tools.part(y, (2,)), np.ones(2, np.int32))
    with pytest.raises(ExecutionError, match="x must be positive"):
        tools.run(kernel, tools.part(y, (2,)), np.array([1, -1], np.int32))


def test_assume_takes_one_condition(tools):
    def kernel(y, x, n):
        tl.assume(n > 0)
        tl.assume(tl.all(x.load_like(y) == 1))
        y.store(n)

    ops = tools.ops(
        kernel, tools.view(tl.float32, 1, (8,)), tools.view(tl.float32, 1), tools.scalar(tl.int32)
    )
    assert ops.count("tile.assume") == 2


def test_static_print_shows_dtype_and_shape(tools, capsys):
    def kernel(y, n):
        tl.static_print("tile:", tl.zeros((2, 3), tl.float16), n, y.tile_shape)

    tools.bytecode(kernel, tools.view(tl.float32, 1, (8,)), tools.scalar(tl.int32))
    assert capsys.readouterr().out == "tile: <a tile of float16 (2, 3)> <a run-time int> (8,)\n"


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (lambda n: tl.program_id(3), "program_id: axis must be 0, 1 or 2, found 3"),
        (lambda n: tl.print("{} {}", n), "print: the format has 2 places for 1 values"),
        (lambda n: tl.print("x", "y"), "print: expected a tile, a scalar or a number, found a str"),
        (lambda n: tl.assert_(n), "assert_: expected a bool condition, found a run-time int"),
        (lambda n: tl.assume(n), "assume: expected a bool condition, found a run-time int"),
        (
            lambda n: tl.assume(tl.zeros((2,), tl.bool_)),
            "assume: expected one bool, found a tile of bool (2,)",
        ),
        (
            lambda n: tl.static_range(n),
            "static_range must be known at compile time, found a run-time int",
        ),
    ],
)
def test_helper_that_does_not_fit_refused(tools, statement, message):
    def kernel(y, n):
        statement(n)

    error = tools.error(kernel, tools.view(tl.float32, 1, (8,)), tools.scalar(tl.int32))
    assert error.message == message
