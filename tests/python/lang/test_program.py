"""Grids, promises and compile-time helpers."""

import numpy as np
import pytest

import tilec as tl


def test_program_id_over_explicit_grid(tools):
    def kernel(y):
        i, j = tl.program_id(0), tl.program_id(1)
        y.store((i, j), tl.full((1, 1), i * 10 + j + tl.num_programs(1) * 100, tl.int32))

    y = np.zeros((2, 3), np.int32)
    spec = tools.view(tl.int32, 2, access="unchecked")
    tools.execute(kernel, [spec], [y], grid=(2, 3))
    assert y.tolist() == [[300, 301, 302], [310, 311, 312]]


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


def test_value_without_a_description_cannot_be():
    from tilec.lang.values import Traced

    with pytest.raises(TypeError, match=r"abstract.*_describe"):
        Traced()
