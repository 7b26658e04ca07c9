"""Printing, assertions and the debugger, on the CPU executor."""

import copy
import io
import pdb
import sys

import numpy as np
import pytest

import tilec as tl
from tilec.compiler.phases import compile_module
from tilec.compiler.target import TARGETS
from tilec.execute.errors import ExecutionError


def test_print_formats_and_lists_values(tools, capfd):
    def kernel(y):
        (i,) = y.index
        tl.print("program {}: {}", i, tl.arange(2))
        tl.print("i =", i, 2.5)
        tl.print(i, True)
        y.store(0)

    tools.run(kernel, tools.part(np.zeros(1, np.int32), (1,)))
    assert capfd.readouterr().out.splitlines() == [
        "program (0,): program 0: [0 1]",
        "program (0,): i = 0 2.5",
        "program (0,): 0 True",
    ]


def test_print_shows_unsigned_integers_as_such(tools, capfd):
    def kernel(y, x, n):
        tl.print("{} {}", x.load_like(y), n)
        y.store(0)

    x = np.array([1, 2**32 - 1], np.uint32)
    tools.run(kernel, tools.part(np.zeros(2, np.int32), (2,)), x, -1)
    assert capfd.readouterr().out == "program (0,): [         1 4294967295] -1\n"


def test_assert_stops_with_message(tools):
    def kernel(y, x):
        tl.assert_(x.load_like(y) > 0, "x must be positive")
        y.store(0)

    y = np.zeros(2, np.int32)
    tools.run(kernel, tools.part(y, (2,)), np.ones(2, np.int32))
    with pytest.raises(ExecutionError, match="x must be positive"):
        tools.run(kernel, tools.part(y, (2,)), np.array([1, -1], np.int32))


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (lambda n: tl.print("{} {}", n), "print: the format has 2 places for 1 values"),
        (lambda n: tl.print("x", "y"), "print: expected a tile, a scalar or a number, found a str"),
        (lambda n: tl.assert_(n), "assert_: expected a bool condition, found a run-time int"),
    ],
)
def test_call_that_does_not_fit_refused(tools, statement, message):
    def kernel(y, n):
        statement(n)

    error = tools.error(kernel, tools.view(tl.float32, 1, (8,)), tools.scalar(tl.int32))
    assert error.message == message


def test_call_outside_of_a_kernel_refused():
    with pytest.raises(tl.TraceError) as error:
        tl.breakpoint()
    assert error.value.message == (
        "breakpoint works on tiles, inside a kernel, and no kernel is being traced"
    )


# -- the debugger ----------------------------------------------------------------------------------


@pytest.fixture
def stops(monkeypatch):
    """What a debugger would see at each stop: the place, and copies of the variables."""
    seen = []

    def hook():
        frame = sys._getframe(1)
        variables = copy.deepcopy(frame.f_locals)
        seen.append((frame.f_code.co_filename, frame.f_code.co_name, variables))

    monkeypatch.setattr(sys, "breakpointhook", hook)
    return seen


def test_breakpoint_shows_the_variables_of_each_program(tools, stops, capsys):
    def kernel(y, x, n):
        (i,) = y.index
        tile = x.load_like(y)
        pair = (i, [tile * 2, "text", tl.float32])
        tl.breakpoint()
        y.store(pair[1][0])

    x = np.arange(4, dtype=np.uint8)
    tools.run(kernel, tools.part(np.zeros(4, np.uint8), (2,)), x, 7)
    assert capsys.readouterr().out == "breakpoint in program (0,)\nbreakpoint in program (1,)\n"
    (file, name, first), (_, _, second) = stops
    assert (file, name) == (__file__, "kernel")
    assert sorted(first) == ["i", "n", "pair", "program", "tile", "x", "y"]
    assert (first["program"], first["i"], first["n"]) == ((0,), 0, 7)
    np.testing.assert_array_equal(second["tile"], x[2:], strict=True)
    number, (doubled, *rest) = second["pair"]
    assert (number, rest) == (1, ["text"])
    np.testing.assert_array_equal(doubled, 2 * x[2:], strict=True)
    np.testing.assert_array_equal(second["x"], x, strict=True)
    assert second["y"].tolist() == [0, 2, 0, 0]


def test_breakpoint_gives_arrays_to_read_only(tools, monkeypatch):
    def overwrite():
        for name in ("tile", "x", "y"):
            with pytest.raises(ValueError, match="read-only"):
                sys._getframe(1).f_locals[name][0] = 5

    def kernel(y, x):
        tile = x.load_like(y)
        tl.breakpoint()
        y.store(tile)

    monkeypatch.setattr(sys, "breakpointhook", overwrite)
    y = np.zeros(2, np.int32)
    tools.run(kernel, tools.part(y, (2,)), np.ones(2, np.int32))
    assert y.tolist() == [1, 1]


def test_breakpoint_in_control_flow_stops_where_it_is_taken(tools, stops):
    def kernel(y, n):
        acc = tl.zeros((1,), tl.int32)
        for k in range(n):
            if k % 3 == 2:
                tl.breakpoint()
            last = acc + k
            acc = last
        y.store(acc)

    tools.run(kernel, tools.part(np.zeros(1, np.int32), (1,)), 7)
    found = [(variables["k"], variables["acc"].tolist()) for _, _, variables in stops]
    assert found == [(2, [1]), (5, [10])]


def test_breakpoint_leaves_out_what_does_not_exist_there(tools, stops):
    kept = []

    def keep(value):
        kept.append(value)

    def kernel(y, n):
        for k in range(n):
            keep(k + 1)
        finished = kept[-1]
        if n > 100:
            unbound = tl.zeros((1,), tl.int32)
            y.store(unbound)
        tl.breakpoint()
        tl.static_assert(finished is not None)

    tools.run(kernel, tools.part(np.zeros(1, np.int32), (1,)), 3)
    ((_, _, variables),) = stops
    assert sorted(variables) == ["n", "program", "y"]


def test_breakpoint_in_a_loop_traced_twice_sees_each_turns_variables(tools, stops):
    def kernel(y, x, n):
        acc = 0.0  # becomes a tile: the body is traced again
        for k in range(n):
            tl.breakpoint()
            tile = x.load_like(y) * (k + 1)
            acc = acc + tile
        y.store(acc)

    y, x = np.zeros(1, np.float32), np.ones(1, np.float32)
    tools.run(kernel, tools.part(y, (1,)), x, 3)
    assert [float(variables["acc"][0]) for _, _, variables in stops] == [0, 1, 3]
    assert "tile" not in stops[0][2]


def test_breakpoint_in_a_helper_shows_the_helpers_variables(tools, stops):
    def helper(tile, scale):
        scaled = tile * scale
        tl.breakpoint()
        return scaled

    def kernel(y):
        y.store(helper(tl.ones((2,), tl.float32), 3))

    tools.run(kernel, tools.part(np.zeros(2, np.float32), (2,)))
    ((_, name, variables),) = stops
    assert name == "helper"
    assert variables.pop("scaled").tolist() == [3, 3]
    assert variables.pop("tile").tolist() == [1, 1]
    assert variables == {"program": (0,), "scale": 3}


def test_breakpoint_stops_pdb_at_its_line(tools, monkeypatch, capsys):
    def kernel(y):
        tile = tl.full((2,), 5, tl.int32)
        tl.breakpoint()
        y.store(tile)

    def debug():
        typed = io.StringIO("p tile, program\np tile.sum()\nc\n")
        debugger = pdb.Pdb(stdin=typed, stdout=sys.stdout, nosigint=True, readrc=False)
        debugger.prompt = ""
        debugger.set_trace(sys._getframe().f_back)

    monkeypatch.setattr(sys, "breakpointhook", debug)
    tools.run(kernel, tools.part(np.zeros(2, np.int32), (2,)))
    line = kernel.__code__.co_firstlineno + 2
    assert capsys.readouterr().out.splitlines() == [
        "breakpoint in program (0,)",
        f"> {__file__}({line})kernel()",
        "-> tl.breakpoint()",
        "(array([5, 5], dtype=int32), (0,))",
        "np.int64(10)",
    ]


def test_leaving_the_debugger_ends_the_launch(tools, monkeypatch):
    from bdb import BdbQuit

    def quit_debugger():
        raise BdbQuit

    def kernel(y):
        tl.breakpoint()
        y.store(1)

    monkeypatch.setattr(sys, "breakpointhook", quit_debugger)
    y = np.zeros(1, np.int32)
    with pytest.raises(BdbQuit):
        tools.run(kernel, tools.part(y, (1,)))
    assert y[0] == 0


def refusal(tools, kernel, *specs):
    with pytest.raises(tl.CompileError) as error:
        compile_module(tools.bytecode(kernel, *specs), TARGETS["sm_90a"])
    return error.value.render()


def test_breakpoint_compiled_for_a_gpu_is_refused_with_its_place(tools):
    def kernel(y):
        tl.breakpoint()

    line = kernel.__code__.co_firstlineno + 1
    text = refusal(tools, kernel, tools.view(tl.float32, 1, (8,)))
    assert text.splitlines()[0] == (
        "error: tl.breakpoint stops on the CPU executor only: run the kernel on NumPy arrays"
    )
    assert f"test_debugging.py:{line}:9, in kernel" in text
    assert "        tl.breakpoint()\n" in text


def test_print_of_too_many_numbers_compiled_for_a_gpu_is_refused_with_its_place(tools):
    def kernel(y, n):
        tl.print(*[n] * 32)

    line = kernel.__code__.co_firstlineno + 1
    text = refusal(tools, kernel, tools.view(tl.float32, 1, (8,)), tools.scalar(tl.int32))
    assert text.splitlines()[0] == (
        "error: tl.print takes at most 32 numbers on a GPU, coordinates of program and element "
        "included, found 33"
    )
    assert f"test_debugging.py:{line}:9, in kernel" in text
