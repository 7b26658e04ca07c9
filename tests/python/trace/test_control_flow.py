"""Control flow on run-time values does what Python does: each function runs both ways."""

import numpy as np
import pytest

import tilec as tl


def count_up(c, n):
    total = c
    for i in range(n):
        total = total + i
    return total


def shrink(c, n):
    for i in range(n):
        if c > i:
            c = c - (i + 1)
    return c


def nested_loops(c, n):
    total = 0
    for i in range(n):
        for j in range(i):
            total += i * j + c
    return total


def range_with_step(c, n):
    total = 0
    for i in range(c, 3 * n, 2):
        total = total * 2 + i
    return total


def range_down(c, n):
    total = 0
    for i in range(n, c, -1):
        total = total * 3 + i
    return total


def range_step_at_run_time(c, n):
    total = 0
    for i in range(0, 20, n + 1):
        total = total * 2 + i + c
    return total


def for_break(c, n):
    last = -1
    for i in range(n):
        if i == c:
            break
        last = i
    return last


def for_continue(c, n):
    total = 0
    for i in range(n):
        if i % 2 == c % 2:
            continue
        total += i
    return total


def for_else(c, n):
    v = c
    for i in range(n):
        if i == c:
            break
    else:
        v = v + 100
    return v


def for_else_without_break(c, n):
    v = c
    for i in range(n):
        v += i
    else:
        v = v + 100
    return v


def while_else(c, n):
    i = 0
    while i < n:
        if i == c:
            break
        i += 1
    else:
        i = i + 100
    return i


def break_from_inner(c, n):
    total = 0
    for i in range(n):
        for j in range(n):
            if j > i:
                break
            total += j
        total += 10
    return total


def break_from_both(c, n):
    total = 0
    for _ in range(n):
        for j in range(n):
            if j == 2:
                break
            total += j
        if total > c:
            break
        total += 1
    return total


def unrolled_break(c, n):
    total = 0
    for i in range(5):
        if i == c:
            break
        total += i + n
    return total


def unrolled_continue(c, n):
    total = 0
    for i in (1, 2, 3):
        if i == c:
            continue
        total += i * n
    return total


def long_constant_range(c, n):
    total = 0
    for i in range(40):
        total += i * c
    return total


def long_constant_range_binds(c, n):
    for i in range(40):
        last = i * c + n
    return last


def while_loop(c, n):
    x = c + 17
    steps = 0
    while x > 1 and steps < n * 4:
        x = x // 2 if x % 2 == 0 else 3 * x + 1
        steps += 1
    return steps


def while_true_break(c, n):
    x = c
    while True:
        x += 3
        if x > n * 5:
            break
    return x


def while_not(c, n):
    i = c
    while not (i >= n):
        i += 2
    return i


def early_return(c, n):
    if c > n:
        return c - n
    return n - c


def early_returns_nested(c, n):
    if c > 1:
        if n > 2:
            return 1
        c = c + 10
    elif n == 0:
        return 2
    else:
        c = c + 20
    return c


def return_in_loop(c, n):
    for i in range(n):
        if i * i > c:
            return i
    return -1


def return_in_while(c, n):
    i = 0
    while i < 50:
        i += 1
        if i * n > c:
            return i
    return -7


def return_in_nested_loop(c, n):
    for i in range(n):
        for j in range(n):
            if i + j == c:
                return i * 10 + j
        c += 0
    return -1


def return_from_unrolled(c, n):
    for i in (3, 1, 2):
        if i == c:
            return i + n
    return 0


def if_elif_else(c, n):
    if c == 0:
        v = 5
    elif c == n:
        v = 6
    else:
        v = c
    return v


def if_updates_several(c, n):
    a, b = 1, 2
    if c > n:
        a, b = b, a
        b += c
    return a * 10 + b


def swap_in_loop(c, n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


def tuple_carried(c, n):
    pair = (c, 0)
    for i in range(n):
        pair = (pair[1], pair[0] + i)
    return pair[0] * 100 + pair[1]


def list_changed_in_loop(c, n):
    parts = [c, 0, [1, 2]]
    for i in range(n):
        parts[0] += i
        parts[2][1] = parts[2][0] + i
        if i % 2:
            parts[1] = parts[0]
    return parts[0] * 1000 + parts[1] * 10 + parts[2][1]


def list_changed_in_one_arm(c, n):
    parts = [c, n]
    if c > n:
        parts[0] = 7
    else:
        parts.reverse()
    return parts[0] * 10 + parts[1]


def list_swapped_in_while(c, n):
    parts = [0, 1]
    i = 0
    while i < n:
        parts[0], parts[1] = parts[1], parts[0] + parts[1]
        i += 1
    return parts[0]


def dict_changed_in_loop(c, n):
    state = {"sum": 0, "last": c}
    for i in range(n):
        state["sum"] += state["last"]
        state["last"] = i
    return state["sum"] * 100 + state["last"]


def list_built_while_unrolling(c, n):
    parts = []
    for i in range(4):
        parts.append(c * i)
        if n == 0:
            parts[0] = 5
    return sum(parts) + len(parts)


def boolean_operators(c, n):
    if (c > 1 and n > 1) or not c:
        return 1
    if c < n < 5:
        return 2
    return 3


def boolean_variable(c, n):
    found = False
    for i in range(n):
        if i == c:
            found = True
    return 1 if found else 0


def ternary_chain(c, n):
    return 1 if c > 3 else 2 if n > 3 else c if c else n


def min_max(c, n):
    return max(c, n, 2) * 10 + min(c, n)


def constants_stay_constants(c, n):
    factor = 3
    table = (1, 2, 3, 4)
    total = 0
    for i in range(n):
        total += table[factor] * i
    return total + c


def constant_condition(c, n):
    flag = None
    if flag is None:
        v = c
    else:
        v = n
    while flag is not None:
        v = 0
    return v


def loop_variable_reused(c, n):
    total = 0
    for i in range(n):
        total += i
    for i in range(c):
        total += i * 2
    return total


def local_function(c, n):
    def twice(x):
        if x > 2:
            return x * 2
        return x

    return twice(c) + twice(n)


def comprehension(c, n):
    return sum([c * i + n for i in range(4)])


def walrus(c, n):
    if (m := c + n) > 4:
        return m
    return 0


def with_statement(c, n):
    import contextlib

    with contextlib.nullcontext(c) as v:
        if v > n:
            v = n
    return v


FUNCTIONS = [
    value
    for value in list(globals().values())
    if callable(value) and getattr(value, "__module__", None) == __name__
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 5])
def test_control_flow_as_python(tools, function, n):
    def kernel(y, n):
        (c,) = y.index
        y.store(function(c, n))

    y = np.full(7, -99, np.int64)
    tools.run(kernel, tools.part(y, (1,)), n)
    assert y.tolist() == [function(c, n) for c in range(7)]


# -- which IR it becomes -----------------------------------------------------------------------


def _ops(tools, kernel, *more):
    return tools.ops(kernel, tools.view(tl.float32, 1, (8,)), tools.view(tl.float32, 1), *more)


def test_if_on_constant_leaves_no_trace(tools):
    def kernel(y, x, flag):
        if flag:
            y.store(x.load_like(y))
        else:
            y.store(0)

    ops = _ops(tools, kernel, tools.constant(True))
    assert ops == ["tile.index", "tile.load", "tile.store", "tile.return"]


def test_range_of_constant_short_unrolled(tools):
    def kernel(y, x):
        acc = x.load_like(y)
        for i in range(3):
            acc = acc + i
        y.store(acc)

    ops = _ops(tools, kernel)
    assert ops.count("arith.addf") == 3
    assert "scf.for" not in ops


def test_static_range_long_unrolled(tools):
    def kernel(y, x):
        acc = x.load_like(y)
        for i in tl.static_range(20):
            acc = acc + i
        y.store(acc)

    assert _ops(tools, kernel).count("arith.addf") == 20


def test_continue_only_stays_scf_for(tools):
    def kernel(y, x, n):
        acc = x.load_like(y)
        for i in range(n):
            if i == 2:
                continue
            acc = acc + 1
        y.store(acc)

    ops = _ops(tools, kernel, tools.scalar(tl.int32))
    assert "scf.for" in ops and "scf.while" not in ops


def test_literal_accumulator_takes_the_dtype_of_the_loop(tools):
    def kernel(y, x):
        acc = 0.0
        for k in range(x.num_tiles(0, 64)):
            acc += tl.sum(x.load((k,), (64,)))
        y.store(acc)

    x = np.arange(200, dtype=np.float64)
    y = np.zeros(1)
    tools.run(kernel, tools.part(y, (1,)), x)
    assert y[0] == x.sum()


def test_software_pipelined_loop_carries_tiles(tools):
    def kernel(c, a, b, *, tk):
        (m, n), (tm, tn) = c.index, c.tile_shape
        acc = tl.zeros((tm, tn), tl.float32)
        a_next, b_next = a.load((m, 0), (tm, tk)), b.load((0, n), (tk, tn))
        for k in range(1, a.num_tiles(1, tk)):
            a_now, b_now = a_next, b_next
            a_next, b_next = a.load((m, k), (tm, tk)), b.load((k, n), (tk, tn))
            acc = tl.mma(a_now, b_now, acc)
        c.store(tl.mma(a_next, b_next, acc))

    rng = np.random.default_rng(7)
    a = rng.integers(-4, 5, (16, 64)).astype(np.float32)
    b = rng.integers(-4, 5, (64, 8)).astype(np.float32)
    c = np.zeros((16, 8), np.float32)
    tools.run(kernel, tools.part(c, (8, 4)), a, b, tools.constant(8))
    np.testing.assert_array_equal(c, a @ b)
