"""Control flow on run-time values that cannot work: what is refused, to the letter."""

import pytest
from carets import marked

import tilec as tl


def test_variable_bound_in_run_time_loop_only_refused(tools):
    def kernel(y, x, n):
        for _ in range(n):
            v = x.load_like(y)
        y.store(v)

    error = tools.refused(kernel, tools.scalar(tl.int32))
    assert error == (
        "v may be unbound here",
        "y.store(v)",
        marked("v"),
        ["v is bound only inside the `for`, which may run zero times (range(n))"],
        "give v a value before that statement",
    )


def test_variable_bound_in_one_arm_only_refused(tools):
    def kernel(y, x, flag):
        if flag:
            v = x.load_like(y)
        y.store(v)

    error = tools.refused(kernel, tools.scalar(tl.bool_))
    assert error == (
        "v may be unbound here",
        "y.store(v)",
        marked("v"),
        ["v is bound in one arm only of the `if` on a run-time value (not in the else arm) (flag)"],
        "give v a value before that statement",
    )


def test_variable_of_two_dtypes_refused(tools):
    def kernel(y, x, flag):
        v = tl.zeros((8,), tl.int32)
        if flag:
            v = x.load_like(y)
        y.store(v)

    error = tools.refused(kernel, tools.scalar(tl.bool_))
    assert error[0] == (
        "v is float32 (8,) in one arm and int32 (8,) in the other of this `if` on a run-time value"
    )
    assert error[1:3] == ("if flag:", "flag")


def test_variable_of_two_shapes_refused(tools):
    def kernel(y, x, flag):
        if flag:
            v = tl.zeros((8,))
        else:
            v = tl.zeros((4,))
        y.store(v)

    error = tools.refused(kernel, tools.scalar(tl.bool_))
    assert error[0] == (
        "v is float32 (8,) in one arm and float32 (4,) in the other of this `if` "
        "on a run-time value"
    )
    assert error[3] == ["v is assigned here (v)", "v is assigned here (v)"]


def test_accumulator_that_changes_dtype_refused(tools):
    def kernel(y, x, n):
        acc = tl.zeros((8,), tl.float16)
        for _ in range(n):
            acc += x.load_like(y)
        y.store(acc)

    error = tools.refused(kernel, tools.scalar(tl.int32))
    assert error[0] == (
        "acc is float16 (8,) in the iteration before and float32 (8,) in the next of this `for` "
        "on a run-time value"
    )
    assert error[3] == ["acc is assigned here (acc)"]
    assert error[4] == "convert one of them, e.g. .to(tl.float16)"


def test_return_of_different_arity_refused(tools):
    def helper(x, flag):
        if flag:
            return x, x
        return x

    def kernel(y, x, flag):
        y.store(helper(x.load_like(y), flag))

    error = tools.refused(kernel, tools.scalar(tl.bool_))
    assert error[0] == (
        "the paths of this function return different things: 2 values and float32 (8,)"
    )


def test_return_of_nothing_on_some_path_refused(tools):
    def helper(x, flag):
        if flag:
            return x

    def kernel(y, x, flag):
        y.store(helper(x.load_like(y), flag))

    error = tools.refused(kernel, tools.scalar(tl.bool_))
    assert (
        error[0] == "the paths of this function return different things: float32 (8,) and nothing"
    )


def test_unpacking_a_loop_variable_refused(tools):
    def kernel(y, x, n):
        for a, b in range(n):
            y.store(a + b)

    error = tools.refused(kernel, tools.scalar(tl.int32))
    assert error[0] == "a run-time int cannot be iterated or unpacked"


def test_tile_as_condition_refused(tools):
    def kernel(y, x):
        t = x.load_like(y)
        if t:
            y.store(t)

    error = tools.refused(kernel)
    assert error == (
        "the truth of a tile of float32 (8,) is not one value",
        "if t:",
        "t",
        [],
        "reduce it with tl.any or tl.all, or combine conditions with & | ~",
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("try:\n  pass\n except ValueError:\n  pass", "`try` is not supported in a kernel"),
        ("global z\n z = 1", "`global` is not supported in a kernel"),
        ("class A: pass", "`class` is not supported in a kernel"),
    ],
)
def test_unsupported_statement_refused(tools, tmp_path, body, message):
    path = tmp_path / "source.py"
    path.write_text(f"def kernel(y, x):\n {body}\n y.store(x.load_like(y))\n")
    namespace = {"__name__": "source"}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    assert tools.refused(namespace["kernel"])[0] == message
