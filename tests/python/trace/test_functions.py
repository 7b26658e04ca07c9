"""Functions that a kernel calls: all kinds of them, with and without source."""

import functools
import types
from dataclasses import dataclass

import numpy as np
import pytest
from carets import marked, text_above_caret

import tilec as tl


def plain(x, limit=3):
    if x > limit:
        return x - limit
    return x * 10


def tree_sum(values):
    if len(values) == 1:
        return values[0]
    half = len(values) // 2
    return tree_sum(values[:half]) + tree_sum(values[half:])


def make_closure(limit):
    def inner(x):
        return plain(x, limit) if x % 2 == 0 else -x

    return inner


@dataclass(frozen=True)
class Model:
    limit: int

    def method(self, x):
        while x > self.limit:
            x = x - 2
        return x

    @staticmethod
    def static(x):
        return x if x > 1 else 7

    @classmethod
    def of_class(cls, x):
        return x if x > 1 else 8

    def __call__(self, x):
        return self.limit if x > self.limit else x

    def __hidden(self, x):
        return x if x > self.limit else 9

    def private(self, x):
        return self.__hidden(x) if x > 1 else 4


def unrelated_decorator(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        return function(*arguments) + 1

    return wrapper


@unrelated_decorator
def decorated(x):
    return x if x > 2 else 0


def keyword_only(x, *, scale=2, **more):
    if x > more["least"]:
        return x * scale
    return 0


FUNCTIONS = {
    "plain": plain,
    "lambda": lambda x: x if x > 2 else -1,
    "closure": make_closure(2),
    "method": Model(2).method,
    "private method": Model(2).private,
    "method of a subclass": type("Sub", (Model,), {})(3).method,
    "static": Model.static,
    "class method": Model.of_class,
    "callable object": Model(4),
    "partial": functools.partial(plain, limit=1),
    "partial of method": functools.partial(Model.method, Model(1)),
    "decorated": decorated,
    "recursion": lambda x: tree_sum([x + i for i in range(8)]),
    "keyword only": lambda x: keyword_only(x, least=2),
    "reduce": lambda x: functools.reduce(lambda a, b: a + b, [x, 1, 2]),
    "map": lambda x: sum(map(lambda i: i * x, [1, 2, 3])),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_called_from_kernel_inlined(tools, name):
    function = FUNCTIONS[name]

    def kernel(y):
        (c,) = y.index
        y.store(function(c))

    y = np.zeros(6, np.int64)
    tools.run(kernel, tools.part(y, (1,)))
    assert y.tolist() == [function(c) for c in range(6)]


def test_two_lambdas_on_one_line_kept_apart(tools):
    pair = (lambda x: x if x > 1 else 5, lambda x: x if x > 2 else 6)

    def kernel(y, z):
        (c,) = y.index
        y.store(pair[0](c))
        z.store(pair[1](c))

    y, z = np.zeros(4, np.int64), np.zeros(4, np.int64)
    tools.run(kernel, tools.part(y, (1,)), tools.part(z, (1,)))
    assert (y.tolist(), z.tolist()) == ([5, 5, 2, 3], [6, 6, 6, 3])


def test_functions_of_one_factory_keep_their_own_cells(tools):
    def run(limit):
        function = make_closure(limit)

        def kernel(y):
            y.store(function(y.index[0]))

        y = np.zeros(5, np.int64)
        tools.run(kernel, tools.part(y, (1,)))
        return y.tolist()

    for limit in (1, 3, 1):
        assert run(limit) == [make_closure(limit)(c) for c in range(5)]


def _executed(source, name="kernel"):
    namespace = {"tl": tl, "__name__": "executed"}
    exec(source, namespace)
    return namespace[name]


def test_straight_line_kernel_without_source_traces(tools):
    kernel = _executed("def kernel(y, x):\n    y.store(tl.exp(x.load_like(y)) + 1)\n")
    ops = tools.ops(kernel, tools.view(tl.float32, 1, (8,)), tools.view(tl.float32, 1))
    body = ["tile.index", "tile.load", "math.exp", "arith.constant", "arith.addf", "tile.store"]
    assert ops == [*body, "tile.return"]


def test_control_flow_without_source_refused_and_says_why(tools):
    kernel = _executed("def kernel(y, x, n):\n    if n > 1:\n        y.store(0.0)\n")
    error = tools.error(
        kernel,
        tools.view(tl.float32, 1, (8,)),
        tools.view(tl.float32, 1),
        tools.scalar(tl.int32),
    )
    assert error.message == "Python needs the truth of a run-time bool while the kernel is traced"
    assert error.hint == (
        "kernel runs as plain Python, without control flow on run-time values, "
        "because there is no source text for <string>"
    )
    assert (error.frames[0].function, error.frames[0].span.line) == ("kernel", 2)


def test_source_changed_since_import_refused_and_says_so(tools, tmp_path):
    path = tmp_path / "edited.py"
    path.write_text("def kernel(y, n):\n    if n > 1:\n        y.store(1)\n")
    namespace = {"__name__": "edited"}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    path.write_text("def kernel(y, n):\n    if n > 2:\n        y.store(1)\n")
    error = tools.error(
        namespace["kernel"], tools.view(tl.float32, 1, (8,)), tools.scalar(tl.int32)
    )
    assert error.hint.endswith(f"because {path} has changed since it was imported")


def guarded(limit):
    try:
        return int(limit)
    except ValueError:
        return 3


def guarded_badly(x):
    try:
        return x if x > 2 else 0
    finally:
        pass


def test_helper_with_unsupported_statement_runs_as_python(tools):
    def kernel(y):
        y.store(plain(y.index[0], guarded("two")))

    y = np.zeros(6, np.int64)
    tools.run(kernel, tools.part(y, (1,)))
    assert y.tolist() == [plain(c) for c in range(6)]


def test_helper_with_unsupported_statement_and_control_flow_refused(tools):
    def kernel(y, x):
        y.store(guarded_badly(tl.sum(x.load_like(y))))

    message, _, caret, _, hint = tools.refused(kernel)
    assert message == "Python needs the truth of a tile of bool () while the kernel is traced"
    assert caret == marked("x > 2")
    assert hint == (
        "guarded_badly runs as plain Python, without control flow on run-time values, "
        "because `try` is not supported in a kernel"
    )


def test_function_type_copy_traces(tools):
    copy = types.FunctionType(plain.__code__, {"__builtins__": __builtins__}, "copy", (2,))

    def kernel(y):
        y.store(copy(y.index[0]))

    y = np.zeros(5, np.int64)
    tools.run(kernel, tools.part(y, (1,)))
    assert y.tolist() == [plain(c, 2) for c in range(5)]


def test_kernel_in_an_indented_block_traces(tools, tmp_path):
    path = tmp_path / "indented.py"
    path.write_text(
        "if True:\n"
        "    class Kernels:\n"
        "        @staticmethod\n"
        "        def kernel(y,\n"
        "                   n):\n"
        "            '''A docstring\n"
        "with an odd margin.'''\n"
        "            if n > 1:\n"
        "                y.store(1)\n"
        "            else:\n"
        "                y.store(2)\n"
    )
    namespace = {"__name__": "indented"}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    y = np.zeros(2, np.int64)
    tools.run(namespace["Kernels"].kernel, tools.part(y, (1,)), 1)
    assert y.tolist() == [2, 2]


def endless(x):
    return endless(x + 1)


def endless_without_ops(x):
    return endless_without_ops(x)


@pytest.mark.parametrize("function", [endless, endless_without_ops])
def test_endless_recursion_refused_with_chain(tools, function):
    def kernel(y, x):
        y.store(function(x.load_like(y)))

    error = tools.error(kernel, tools.view(tl.float32, 1, (8,)), tools.view(tl.float32, 1))
    assert error.message == f"the recursion of {function.__name__} does not end while tracing"
    assert error.hint == "its depth must follow from compile-time values"
    names = [frame.function for frame in error.frames]
    assert names[:6] == [function.__name__] * 6
    assert "kernel" in names


def test_error_in_helper_has_call_chain(tools):
    def helper(t):
        return t.reshape(5, 5)

    def kernel(y, x):
        y.store(helper(x.load_like(y)))

    error = tools.error(kernel, tools.view(tl.float32, 1, (8,)), tools.view(tl.float32, 1))
    first = helper.__code__.co_firstlineno
    assert [(f.function, f.span.line - first) for f in error.frames[:2]] == [
        ("helper", 1),
        ("kernel", 4),
    ]
    assert "reshape: (8,) has 8 elements, (5, 5) has 25\n" in str(error)
    span = error.frames[0].span
    assert f"test_functions.py:{first + 1}:{span.column}, in helper (called from " in str(error)
    assert text_above_caret(span) == marked("t.reshape(5, 5)")


def test_globals_seen_at_their_value_when_tracing(tools):
    kernel = _executed("VALUE = 3\ndef kernel(y):\n    y.store(VALUE)\n")
    found = []
    for value in (3, 4):
        kernel.__globals__["VALUE"] = value
        y = np.zeros(1, np.int64)
        tools.run(kernel, tools.part(y, (1,)))
        found.append(int(y[0]))
    assert found == [3, 4]
