"""Ordinary slips: each is refused at its place, with what to do instead."""

import math
import sys
import traceback

import numpy as np
import pytest
from carets import EXACT, marked, marked_column

import tilec as tl

COLLECTED = []
TABLE = [0]


class Counter:
    total = 0


# Before Python 3.12 parts of an f-string and the condition of an assert have no place of their own.
FINE_POSITIONS = sys.version_info >= (3, 12)


def expp(y, x):
    y.store(tl.expp(x.load_like(y)))


def undefined_name(y, x):
    y.store(x.load_like(y) + missing)  # noqa: F821


def print_tile(y, x):
    print(x.load_like(y))


def float_of_tile(y, x):
    y.store(float(x.load_like(y)))


def math_function(y, x):
    y.store(math.exp(tl.sum(x.load_like(y))))


def numpy_function(y, x):
    y.store(np.exp(x.load_like(y)))


def numpy_array(y, x):
    y.store(np.asarray(x.load_like(y)))


def f_string(y, x):
    t = x.load_like(y)
    raise ValueError(f"tile {t}")


def run_time_index(y, x, n):
    t = x.load_like(y)
    y.store(t[n])


def assign_to_input(y, x):
    x[0] = 1.0


def assign_to_tile(y, x):
    t = x.load_like(y)
    t[0] = 1.0


def iterate_tile(y, x):
    for value in x.load_like(y):
        y.store(value)


def sum_builtin(y, x):
    y.store(sum(x.load_like(y)))


def assert_traced(y, x):
    t = x.load_like(y)
    assert tl.all(t > 0)
    y.store(t)


def run_time_list_index(y, x, n):
    y.store([1.0, 2.0][n])


def range_in_comprehension(y, x, n):
    y.store(sum([i for i in range(n)]))


def returns_value(y, x):
    return x.load_like(y)


def wrong_attribute(y, x):
    y.store(x.laod((0,), (8,)))


def wrong_arguments(y, x):
    y.store(x.load((0,)))


def own_exception(y, x):
    raise ValueError("tile too small")


def store_nothing(y, x):
    y.store(None)


def static_assertion(y, x):
    tl.static_assert(y.tile_shape[0] > 8, "the tile is too small")


def static_assertion_on_run_time_value(y, x, n):
    tl.static_assert(n > 8)


def escapes_by_list(y, x, n):
    kept = []
    for _ in range(n):
        kept.append(x.load_like(y))
    y.store(kept[0])


def escapes_by_nested_list(y, x, n):
    kept = [[]]
    for _ in range(n):
        kept[0].append(x.load_like(y))
    y.store(kept[0][0])


def escapes_by_helper(y, x, n):
    kept = []

    def keep(tile):
        kept.append(tile)

    for _ in range(n):
        keep(x.load_like(y))
    y.store(kept[0])


def attribute_in_branch(y, x, n):
    state = Counter()
    if n > 1:
        state.total = n
    y.store(state.total)


def element_of_global_in_loop(y, x, n):
    for i in range(n):
        TABLE[0] = i
    y.store(TABLE[0])


def unhashable(y, x):
    y.store({x.load_like(y): 1.0})


@pytest.mark.parametrize(
    ("kernel", "message", "caret", "hint"),
    [
        (expp, "module 'tilec' has no attribute 'expp'", "tl.expp", "did you mean exp?"),
        (undefined_name, "name 'missing' is not defined", "missing", None),
        (
            print_tile,
            "print() runs while the kernel is traced, when a tile has no value yet",
            "print(x.load_like(y))",
            'use tl.print("{}", x) at run time, or tl.static_print(x) for its type',
        ),
        (
            float_of_tile,
            "float() takes one compile-time number, found a tile of float32 (8,)",
            "float(x.load_like(y))",
            "convert every element: x.to(tl.float32)",
        ),
        (
            math_function,
            "expected a compile-time number here, found a tile of float32 ()",
            "math.exp(tl.sum(x.load_like(y)))",
            "use x.to(tl.float32), and tl.exp and its kin instead of the math module",
        ),
        (
            numpy_function,
            "NumPy functions do not take tiles",
            "np.exp(x.load_like(y))",
            "use the function of the same name in tilec, e.g. tl.exp for np.exp",
        ),
        (
            numpy_array,
            "NumPy cannot take a tile of float32 (8,)",
            "np.asarray(x.load_like(y))",
            "use the function of the same name in tilec, e.g. tl.exp for np.exp",
        ),
        (
            f_string,
            "a tile of float32 (8,) has no value while the kernel is traced",
            "{t}" if FINE_POSITIONS else 'f"tile {t}"',
            'print it at run time with tl.print("{}", x), or its type with tl.static_print(x)',
        ),
        (
            run_time_index,
            "a tile is indexed with :, None and ... only, found a run-time int",
            "t[n]",
            "select elements with tl.where and a comparison of tl.arange, then reduce",
        ),
        (
            assign_to_input,
            "x cannot be assigned to",
            "x[0]",
            "pass it as tl.partition(x, tile_shape) and call .store(tile)",
        ),
        (assign_to_tile, "tiles are immutable", "t[0]", "build a new tile with tl.where"),
        (
            iterate_tile,
            "a tile of float32 (8,) cannot be looped over",
            "x.load_like(y)",
            "loop over range(n)",
        ),
        (
            sum_builtin,
            "sum() cannot iterate over a tile of float32 (8,)",
            "sum(x.load_like(y))",
            "use tl.sum(x, axis=...)",
        ),
        (
            assert_traced,
            "Python needs the truth of a tile of bool () while the kernel is traced",
            "tl.all(t > 0)" if FINE_POSITIONS else "assert tl.all(t > 0)",
            "use tl.where, or tl.assert_ for a check at run time",
        ),
        (
            run_time_list_index,
            "expected a compile-time integer here, found a run-time int",
            "[1.0, 2.0][n]",
            "pass it as a tl.Constant, or loop with tl.static_range",
        ),
        (
            range_in_comprehension,
            "a range with run-time bounds can only be looped over by a `for` statement",
            "range(n)" if sys.version_info >= (3, 13) else "[i for i in range(n)]",
            "write the loop out, or use tl.static_range with constants",
        ),
        (
            wrong_attribute,
            "'TensorView' object has no attribute 'laod'",
            "x.laod",
            "did you mean load?",
        ),
        (
            wrong_arguments,
            "TypeError: TensorView.load() missing 1 required positional argument: 'tile_shape'",
            "x.load((0,))",
            None,
        ),
        (own_exception, "ValueError: tile too small", 'raise ValueError("tile too small")', None),
        (
            store_nothing,
            "store: expected a tile, a scalar or a number, found None",
            "y.store(None)",
            None,
        ),
        (
            static_assertion,
            "static_assert failed: the tile is too small",
            'tl.static_assert(y.tile_shape[0] > 8, "the tile is too small")',
            None,
        ),
        (
            static_assertion_on_run_time_value,
            "static_assert: expected a compile-time condition, found a run-time bool",
            "tl.static_assert(n > 8)",
            "use tl.assert_ for a check at run time",
        ),
        (
            escapes_by_list,
            "kept is a list of 0 in the iteration before and a list of 1 in the next of this `for` "
            "on a run-time value",
            "range(n)",
            None,
        ),
        (
            escapes_by_nested_list,
            "kept is a list of 0 in the iteration before and a list of 1 in the next of this `for` "
            "on a run-time value",
            "range(n)",
            None,
        ),
        (
            escapes_by_helper,
            "a value made inside a loop or branch is used outside of it",
            "y.store(kept[0])",
            "assign it to a variable before the loop or branch, and update that variable inside",
        ),
        (
            attribute_in_branch,
            "state.total is changed inside a `if` on a run-time value",
            "n > 1",
            "assign a local variable there, and the attribute or element after it",
        ),
        (
            element_of_global_in_loop,
            "TABLE[0] is changed inside a `for` on a run-time value",
            "range(n)",
            "assign a local variable there, and the attribute or element after it",
        ),
        (
            unhashable,
            "TypeError: unhashable type: 'Tile'",
            "{x.load_like(y): 1.0}",
            None,
        ),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_slip_refused_at_its_place(tools, kernel, message, caret, hint):
    more = [tools.scalar(tl.int32)] * (kernel.__code__.co_argcount - 2)
    found = tools.refused(kernel, *more)
    assert (found[0], found[2], found[4]) == (message, marked(caret), hint)


def test_kernel_that_returns_a_value_refused(tools):
    error = tools.error(returns_value, tools.view(tl.float32, 1, (8,)), tools.view(tl.float32, 1))
    assert error.message == "kernel returns_value returns a value"
    assert error.hint == "kernels return nothing; write results with y.store(tile)"


def test_kernel_called_from_kernel_refused(tools):
    class Kernel:
        __tilec_kernel__ = True
        __name__ = "other"

        def __call__(self, *arguments):
            raise AssertionError("launched while tracing")

    other = Kernel()

    def kernel(y, x):
        other(y, x)

    found = tools.refused(kernel)
    assert found[0] == "kernel other is called from a kernel"
    assert found[2] == marked("other")


def test_kernel_defined_in_kernel_refused(tools):
    def kernel(y, x):
        @tl.kernel
        def inner(z):
            z.store(0)

    found = tools.refused(kernel)
    assert found[0] == "a kernel is defined inside a kernel"
    # Python 3.10 calls a decorator at the line of the `def`.
    assert found[2] == ("tl.kernel" if EXACT else "def inner(z):")


def test_trace_inside_trace_refused(tools):
    def kernel(y, x):
        tools.bytecode(expp, tools.view(tl.float32, 1, (8,)), tools.view(tl.float32, 1))

    assert tools.refused(kernel)[0] == "kernel expp is defined or called inside a kernel"


def test_kernel_with_variable_arguments_refused(tools):
    def kernel(*arrays):
        pass

    error = tools.error(kernel, tools.view(tl.float32, 1, (8,)))
    assert error.message == "kernel kernel takes a variable number of arguments (*arrays)"


def test_generator_kernel_refused(tools):
    def kernel(y):
        yield y

    error = tools.error(kernel, tools.view(tl.float32, 1, (8,)))
    assert error.message == "kernel kernel is a generator or coroutine"


def test_error_of_a_launch_has_no_traceback_through_tilec():
    x, y = np.ones(8, np.float32), np.zeros(8, np.float32)
    with pytest.raises(tl.TraceError) as caught:
        tl.kernel(expp)(tl.partition(y, (8,)), x)
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert names == ["test_error_of_a_launch_has_no_traceback_through_tilec", "_resolve"]
    place = f"{expp.__code__.co_firstlineno + 1}:{marked_column(13, 5)}"
    assert f"test_refusals.py:{place}, in expp" in str(caught.value)


def test_supported_slips_work(tools):
    """What looks like a slip but has a meaning: len, repr, import, with, own lists."""

    def kernel(y, x):
        import math as m

        t = x.load_like(y)
        COLLECTED.append(len(t))
        kept = [t * i for i in range(3)]
        tl.static_print(repr(t))
        y.store(sum(kept) + m.pi * len(t))

    x, y = np.arange(8.0), np.zeros(8)
    tools.run(kernel, tools.part(y, (8,)), x)
    np.testing.assert_allclose(y, x * 3 + math.pi * 8)
    assert COLLECTED == [8]
