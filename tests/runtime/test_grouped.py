"""What reaches the driver when a kernel is launched for a list of problems."""

from __future__ import annotations

import ctypes
import struct

import numpy as np
import pytest

from tilec import _runtime
from tilec._runtime import partition
from tilec.diagnostics import DriverError, LaunchError

MAP = {"arg": 1, "order": [1, 0], "box": [32, 8], "swizzle": 128, "element_bytes": 4}


def launch(kernel, problems, **shared):
    kernel._launch_grouped(problems, **shared)


def bits(value: float) -> int:
    return struct.unpack("<I", struct.pack("<f", value))[0]


def rows_of(table: bytes, problems: int, row_bytes: int) -> list[list[int]]:
    cells = np.frombuffer(table, np.uint64, problems * row_bytes // 8)
    return cells.reshape(problems, -1).tolist()


def starts_of(table: bytes, problems: int) -> list[int]:
    return np.frombuffer(table[-4 * problems :], np.uint32).tolist()


def test_table_has_a_row_a_problem_and_the_first_tiles(driver, memory, kernel_class):
    kernel = kernel_class("y", "x", "s")
    driver.library.fake_set_parameter_count(4)
    problems = []
    for rows, columns, scalar in ((100, 60, 2.5), (8, 32, -1.0), (17, 33, 0.0)):
        y, x = memory.array((rows, columns)), memory.array((rows, 64))
        x.shape, x.strides = (rows, columns), (512, 8)
        problems.append((partition(y, (8, 32)), x, scalar))
    launch(kernel, problems)
    rows, starts, count, tiles = driver.parameters(4)
    table = driver.table()
    row_bytes = 8 * 10
    assert rows == driver.table_fact("address") and starts == rows + 3 * row_bytes
    assert (count, tiles) == (3, 13 * 2 + 1 + 3 * 2)
    assert list(driver.last.grid) == [tiles, 1, 1] and list(driver.last.block) == [128, 1, 1]
    assert starts_of(table, 3) == [0, 26, 27]
    for row, (y, x, scalar) in zip(rows_of(table, 3, row_bytes), problems, strict=True):
        m, n = x.shape
        assert row == [y.array.pointer, m, n, n, x.pointer, m, n, 128, 2, bits(scalar)]


def test_specialization_is_what_holds_for_all(driver, memory, kernel_class):
    kernel = kernel_class("y", "x", "s")
    first = (partition(memory.array((16, 64)), (8, 32)), memory.array((16, 64)), 1)
    second = (
        partition(memory.array((20, 48)), (8, 32)),
        memory.array((3, 5), offset=4, strides=(64, 8)),
        2**40,
    )
    launch(kernel, [first, second])
    ((specs, device),) = kernel.misses
    assert device == 0
    y, x, s = specs
    assert y == ("view", "f32", 2, "exclusive", (False, True), (4, 16), (64, 4), 128, 32, (8, 32))
    assert x == ("view", "f32", 2, "read", (False, False), (1, 1), (64, 4), 4, 32, None)
    assert s == ("scalar", "i64")
    launch(kernel, [second, first])
    assert len(kernel.misses) == 1


def test_grouped_and_single_launches_have_variants_of_their_own(driver, memory, kernel_class):
    kernel = kernel_class("y")
    y = partition(memory.array((16, 64)), (8, 32))
    kernel(y)
    launch(kernel, [(y,)])
    kernel(y)
    launch(kernel, [(y,)])
    assert len(kernel.misses) == 2 and driver.launches == 4
    assert driver.counter("allocations") == 2


def test_table_lives_on_the_stream_of_the_launch(driver, memory, kernel_class):
    kernel = kernel_class("y")
    for stream in (77, 78):
        launch(kernel, [(partition(memory.array((4,), stream=stream), (4,)),)])
        assert driver.last.stream == stream
        assert driver.table_fact("copied_on") == driver.table_fact("freed_on") == stream
    launch(kernel, [(partition(memory.array((4,), stream=77), (4,)),)], stream=99)
    assert driver.last.stream == driver.table_fact("freed_on") == 99
    assert driver.counter("pools") == 1
    assert driver.counter("allocations") == driver.counter("frees") == 3
    assert driver.table_fact("pool_threshold") == 2**64 - 1


def test_each_device_has_a_pool_of_its_own(driver, memory, kernel_class):
    kernel = kernel_class("y")
    for device in (0, 1, 0, 1):
        launch(kernel, [(partition(memory.array((4,), device=device), (4,)),)])
        assert driver.table_fact("address") >> 40 == device + 1
    assert driver.counter("pools") == 2


def test_long_tables_are_copied_in_pieces_that_the_driver_takes_at_once(
    driver, memory, kernel_class
):
    kernel = kernel_class("y", "x")
    problems = [
        (partition(memory.array((4, 4)), (4, 4)), memory.array((4, 4))) for _ in range(1500)
    ]
    launch(kernel, problems)
    assert driver.table_fact("bytes") == 1500 * (8 * 8 + 4)
    assert driver.counter("copies") == 2
    rows = rows_of(driver.table(), 1500, 64)
    assert [row[0] for row in rows] == [y.array.pointer for y, _ in problems]


def test_problems_without_tiles_are_left_out(driver, memory, kernel_class):
    kernel = kernel_class("y")
    shapes = [(0, 8), (8, 8), (8, 0), (3, 3)]
    arrays = [memory.array(shape) for shape in shapes]
    launch(kernel, [(partition(y, (4, 4)),) for y in arrays])
    assert starts_of(driver.table(), 2) == [0, 4]
    assert [row[0] for row in rows_of(driver.table(), 2, 32)] == [
        arrays[1].pointer,
        arrays[3].pointer,
    ]
    launch(kernel, [(partition(arrays[0], (4, 4)),)])
    launch(kernel, [])
    assert driver.launches == 1


def test_tensor_maps_lie_in_the_rows(driver, memory, kernel_class):
    kernel = kernel_class("y", "x", maps=[MAP])
    problems = [
        (partition(memory.array((rows, 64)), (8, 32)), memory.array((rows, 64)))
        for rows in (8, 40, 9)
    ]
    launch(kernel, problems)
    assert driver.counter("encoded_maps") == 3
    table = driver.table()
    for number, (_, x) in enumerate(problems):
        start = number * 256 + 128
        address, *extents = struct.unpack_from("<3Q", table, start + 8)
        assert (address, extents) == (x.pointer, [64, x.shape[0]])
    launch(kernel, problems)
    assert driver.counter("encoded_maps") == 3  # known by now
    assert driver.table() == table


def test_persistent_grids_have_as_many_programs_as_run_at_once(driver, memory, kernel_class):
    grid = {"rule": "tiles", "arg": 0, "tile": [8, 8], "persistent": True}
    kernel = kernel_class("y", grid=grid)
    small = [(partition(memory.array((8, 8)), (8, 8)),)] * 1
    launch(kernel, small)
    assert driver.last.grid[0] == 1
    launch(kernel, [(partition(memory.array((800, 80)), (8, 8)),) for _ in range(5)])
    assert driver.last.grid[0] == 132
    assert driver.parameters(4)[2:] == [0, 0]  # not recorded


def test_clusters_count_tiles_together(driver, memory, kernel_class):
    grid = {"rule": "tiles", "arg": 0, "tile": [8, 8], "persistent": True, "cluster_tiles": [2, 1]}
    driver.library.fake_set_resident(66)
    driver.library.fake_set_parameter_count(4)
    kernel = kernel_class("y", grid=grid, cluster=[2, 1, 1])
    shapes = [(24, 16), (8, 8), (16, 40)]
    launch(kernel, [(partition(memory.array(shape), (8, 8)),) for shape in shapes])
    assert starts_of(driver.table(), 3) == [0, 4, 5]
    assert driver.parameters(4)[2:] == [3, 10]
    assert driver.last.grid[0] == 20 and list(driver.last.cluster) == [2, 1, 1]


def test_captured_table_belongs_to_the_graph(driver, memory, kernel_class):
    kernel = kernel_class("y")
    driver.library.fake_set_capturing(1)
    y = memory.array((4, 4))
    launch(kernel, [(partition(y, (4, 4)),)])
    assert driver.counter("retained") == 1
    assert driver.counter("capture_exchanges") == 4  # around loading, and around the pool's making
    kept = ctypes.string_at(driver.library.fake_graph_memory(), driver.table_fact("bytes"))
    assert kept == driver.table()
    driver.library.fake_destroy_graph()
    driver.library.fake_set_capturing(0)
    launch(kernel, [(partition(y, (4, 4)),)])
    assert driver.counter("retained") == 1


def test_table_is_freed_when_the_launch_fails(driver, memory, kernel_class):
    kernel = kernel_class("y")
    driver.library.fake_set_launch_result(1)
    with pytest.raises(DriverError, match=r"^cuLaunchKernel failed with CUDA_ERROR_INVALID_VALUE"):
        launch(kernel, [(partition(memory.array((4,)), (4,)),)])
    assert driver.counter("allocations") == driver.counter("frees") == 1


def test_driver_without_memory_pools_is_refused_by_name(driver, memory, kernel_class):
    driver.library.fake_hide(b"cuMemPoolCreate")
    with pytest.raises(DriverError) as raised:
        launch(kernel_class("y"), [(partition(memory.array((4,)), (4,)),)])
    assert raised.value.message == (
        "the NVIDIA driver lacks cuMemPoolCreate, which CUDA 11.2 introduced"
    )


# -- refusals ----------------------------------------------------------------------------------


def refusal(kernel, problems, **shared) -> LaunchError:
    with pytest.raises(LaunchError) as raised:
        launch(kernel, problems, **shared)
    return raised.value


@pytest.fixture
def three(memory):
    """Problems of a kernel with an output, an input and a scalar."""

    def problem(rows):
        y, x = memory.array((rows, 64)), memory.array((rows, 64))
        return [partition(y, (8, 32)), x, 1.0]

    return [problem(rows) for rows in (8, 40, 16)]


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (1, "f8", "problem 2: argument 'x' has dtype f64, expected f32 as in problem 0"),
        (1, (4, 8, 8), "problem 2: argument 'x' has 3 dimensions, expected 2 as in problem 0"),
        (1, "unchecked", "problem 2: argument 'x' has access unchecked, expected read as in "
         "problem 0"),
        (0, (16, 32), "problem 2: argument 'y' has tiles of (16, 32), expected (8, 32) as in "
         "problem 0"),
        (2, 1, "problem 2: argument 's' has dtype i32, expected f32 as in problem 0"),
        (2, None, "problem 2: argument 's' has a constant, expected a number as in problem 0"),
    ],
)  # fmt: skip
def test_problems_that_differ_in_more_than_shapes(
    driver, memory, kernel_class, three, place, value, message
):
    if value == "f8":
        value = memory.array((16, 64), "<f8")
    elif value == "unchecked":
        value = _runtime.unchecked(memory.array((16, 64)))
    elif isinstance(value, tuple):
        array = memory.array(value if len(value) == 3 else (16, 64))
        value = array if len(value) == 3 else partition(array, value)
    three[2][place] = value
    error = refusal(kernel_class("y", "x", "s"), three)
    assert error.message == message
    assert error.hint == "the problems of one launch share dtypes, ranks and tiles"
    assert driver.launches == 0


def test_constants_differ(driver, memory, kernel_class):
    kernel = kernel_class("y", ("k", True, False))
    problems = [(partition(memory.array((4,)), (4,)), k) for k in (3, 5)]
    error = refusal(kernel, problems)
    assert error.message == "problem 1: argument 'k' has 5, expected 3 as in problem 0"
    assert error.hint == "constants hold for all problems: pass them by keyword"
    launch(kernel, [problem[:1] for problem in problems], k=7)
    assert kernel.misses[0][0][1] == ("constant", 7)


def test_tuples_differ(driver, memory, kernel_class):
    kernel = kernel_class("y", "pair")
    arrays = [memory.array((4,)) for _ in range(5)]
    problems = [
        (partition(arrays[0], (4,)), (arrays[1], arrays[2])),
        (partition(arrays[3], (4,)), (arrays[4],)),
    ]
    error = refusal(kernel, problems)
    assert error.message == (
        "problem 1: argument 'pair' has a tuple of 1, expected one of 2 as in problem 0"
    )
    problems[1] = (problems[1][0], (arrays[4], memory.array((4,), "<f8")))
    assert refusal(kernel, problems).message == (
        "problem 1: argument 'pair[1]' has dtype f64, expected f32 as in problem 0"
    )


def test_arguments_of_a_problem_are_refused_by_its_number(driver, memory, kernel_class, three):
    kernel = kernel_class("y", "x", "s")
    assert refusal(kernel, [three[0], three[1][:2]]).message == (
        "problem 1: kernel misses its argument 's'"
    )
    three[1][1] = object()
    assert refusal(kernel, three).message.startswith("problem 1: argument 'x' has type object,")
    three[1][1] = memory.array((40, 64), read_only=True)
    three[1][0] = partition(memory.array((40, 64), read_only=True), (8, 32))
    assert refusal(kernel, three).message == (
        "problem 1: argument 'y' is a read-only array, expected a writable one"
    )


def test_lists_of_something_else(driver, memory, kernel_class, three):
    kernel = kernel_class("y", "x", "s")
    assert refusal(kernel, 5).message == (
        "the problems of kernel.grouped have type int, expected a list of tuples of arguments"
    )
    assert refusal(kernel, [three[0], 5]).message == (
        "problem 1 has type int, expected a tuple of the positional arguments of kernel"
    )
    with pytest.raises(LaunchError) as raised:
        kernel._launch_grouped(three, three)
    assert raised.value.message == (
        "kernel.grouped takes one positional argument, the list of problems, found 2"
    )
    assert refusal(kernel, three, grid=4).message == (
        "problem 0: grid= was given to a grouped launch, whose grid is the tiles of all problems"
    )
    bare = kernel_class("y")
    assert refusal(bare, [(_runtime.unchecked(memory.array((4,))),)]).message == (
        "problem 0: kernel has no partition, expected one: a grouped launch has a program for "
        "each of its tiles"
    )


def test_problems_on_several_devices_or_streams(driver, memory, kernel_class):
    kernel = kernel_class("y")
    on = [partition(memory.array((4,), device=device), (4,)) for device in (0, 0, 1)]
    assert refusal(kernel, [(y,) for y in on]).message == (
        "problems are on different devices: problem 0 is in cuda:0, problem 2 is in cuda:1"
    )
    of = [partition(memory.array((4,), stream=stream), (4,)) for stream in (None, 77, 78)]
    error = refusal(kernel, [(y,) for y in of])
    assert error.message == "problems belong to different streams: problem 1 to 77, problem 2 to 78"
    launch(kernel, [(y,) for y in of], stream=5)
    assert driver.last.stream == 5


# -- memory ------------------------------------------------------------------------------------


def test_outputs_of_two_problems_share_memory(driver, memory, kernel_class, three):
    three[2][0] = partition(three[0][0].array, (8, 32))
    error = refusal(kernel_class("y", "x", "s"), three)
    assert error.message == (
        "problem 0: argument 'y' is written, but shares memory with argument 'y' of problem 2, "
        "expected disjoint arrays"
    )
    assert error.hint == "the problems of one launch run at the same time, in no order"


@pytest.mark.parametrize("reader", [0, 2])
def test_one_problem_writes_what_another_reads(driver, memory, kernel_class, three, reader):
    three[reader][1] = three[1][0].array
    assert refusal(kernel_class("y", "x", "s"), three).message == (
        "problem 1: argument 'y' is written, but shares memory with argument 'x' of problem "
        f"{reader}, expected disjoint arrays"
    )


def test_problems_read_the_same_array(driver, memory, kernel_class, three):
    for problem in three:
        problem[1] = three[1][1]
    launch(kernel_class("y", "x", "s"), three)
    assert driver.launches == 1


def test_interleaved_columns_of_one_array_are_disjoint(driver, memory, kernel_class):
    whole = memory.array((100, 64))
    columns = [
        type(whole)(whole.pointer + 4 * first, (100, 16), "<f4", (256, 4))
        for first in (0, 16, 32, 48)
    ]
    kernel = kernel_class("y")
    launch(kernel, [(partition(y, (4, 16)),) for y in columns])
    columns[2] = type(whole)(whole.pointer + 4 * 31, (100, 16), "<f4", (256, 4))
    assert refusal(kernel, [(partition(y, (4, 16)),) for y in columns]).message == (
        "problem 1: argument 'y' is written, but shares memory with argument 'y' of problem 2, "
        "expected disjoint arrays"
    )


def test_any_pair_that_shares_memory_is_found(driver, memory, kernel_class):
    """Against a comparison of all pairs, over arrays strewn at random."""
    rng = np.random.default_rng()
    kernel = kernel_class("y", "x")
    for _ in range(200):
        arrays = []
        for _ in range(2 * int(rng.integers(2, 7))):
            start, length = int(rng.integers(0, 400)), int(rng.integers(1, 40))
            arrays.append(type(memory.array((1,)))((1 << 40) + 4 * start, (length,)))
        problems = list(zip(arrays[::2], arrays[1::2], strict=True))
        spans = [
            (set(range(y.pointer, y.pointer + 4 * y.shape[0])),
             set(range(x.pointer, x.pointer + 4 * x.shape[0])))
            for y, x in problems
        ]  # fmt: skip
        shares = any(
            written & (other if j == k else spans[k][0] | other)
            for j, (written, _) in enumerate(spans)
            for k, (_, other) in enumerate(spans)
        )
        before = driver.launches
        try:
            launch(kernel, [(partition(y, (4,)), x) for y, x in problems])
        except LaunchError:
            pass
        assert (driver.launches == before) == shares


# -- tl.AUTO and the CPU -----------------------------------------------------------------------


class Planning:
    """A kernel that plans one tile for everything."""

    def __init__(self, kernel_class, tile):
        class Kernel(kernel_class):
            def _plan_group(self, specs, shapes, device, varying, problems):
                self.asked.append((specs, shapes, device, varying, problems))
                return tile, ""

            def _resolve_group(self, specs, device, decisions):
                self.decided = decisions
                return super()._resolve_group(specs, device)

        self.make = Kernel

    def __call__(self, *parameters, **plan):
        kernel = self.make(*parameters, **plan)
        kernel.asked = []
        return kernel


def test_one_tile_is_planned_for_the_whole_list(driver, memory, kernel_class):
    kernel = Planning(kernel_class, (8, 16))("y", "x")

    def problems(rows):
        return [
            (partition(memory.array((m, 64)), _runtime.AUTO), memory.array((m, 64))) for m in rows
        ]

    launch(kernel, problems([11, 21, 0, 3]))
    ((specs, shapes, device, varying, count),) = kernel.asked
    assert specs[0][-1] == "auto" and device == 0
    assert shapes == ((9, 64), (9, 64))
    assert varying == ((True, False), (True, False)) and count == 4
    assert driver.last.grid[0] == 4 * (2 + 3 + 1)
    assert specs[1][5] == (1, 16)
    launch(kernel, problems([9, 9, 9, 9]))  # on average the same, and of equal shapes
    assert len(kernel.asked) == 2
    launch(kernel, problems([17, 5, 10, 1]))
    assert len(kernel.asked) == 2 and driver.last.grid[0] == 4 * (3 + 1 + 2 + 1)


def test_means_are_rounded_so_that_like_lists_share_a_plan(driver, memory, kernel_class):
    kernel = Planning(kernel_class, (8, 16))("y")
    for rows in ([1001, 1011], [1003, 1015], [1021, 1023], [1031, 1401]):
        launch(kernel, [(partition(memory.array((m, 3 * m)), _runtime.AUTO),) for m in rows])
    assert [shapes[0][0] for _, shapes, *_ in kernel.asked] == [1024, 1280]


def test_host_arrays_run_one_problem_after_the_other(kernel_class):
    kernel = Planning(kernel_class, (2,))("y", "s")
    arrays = [np.zeros(length, np.float32) for length in (5, 0, 3)]
    launch(kernel, [(partition(y, _runtime.AUTO), float(k)) for k, y in enumerate(arrays)])
    assert [arguments[1] for arguments, _ in kernel.host_calls] == [0.0, 2.0]
    assert all(np.shares_memory(arguments[0], arrays[k])
               for k, (arguments, _) in zip((0, 2), kernel.host_calls, strict=True))  # fmt: skip


# -- plans -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"row_bytes": 4}, "malformed launch plan: 'row_bytes' is out of range"),
        ({"row_bytes": 16}, "malformed launch plan: 'offset' does not fit into a row"),
        ({"offset": 4}, "malformed launch plan: 'offset' does not fit into a row"),
        ({"row_bytes": 36}, "malformed launch plan: 'row_bytes' does not keep rows aligned"),
    ],
)
def test_malformed_rows_are_refused(change, message):
    import json

    from recording_driver import grouped_plan_of

    spec = ("view", "f32", 2, "exclusive", (False, True), (1, 1), (4, 4), 4, 32, (8, 8))
    plan = grouped_plan_of([spec])
    if "offset" in change:
        plan["params"][1]["offset"] = change["offset"]
    else:
        plan["group"].update(change)
    with pytest.raises(ValueError, match=f"^{message}$"):
        _runtime.Variant(b"cubin", json.dumps(plan))
