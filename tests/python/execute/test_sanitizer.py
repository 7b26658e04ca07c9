import numpy as np
import pytest

from tilec.execute import SanitizerError, execute, uninitialized

PARTITION_HINT = "programs run in any order: write through a partition, or with an atomic"


def store_at(ir, y, start):
    """Program p of an explicit grid stores two ones at tile index `start` (of %p)."""
    view = ir.view_type(y, "unchecked")
    body = f"""
  %p = tile.program_id 0 : index
{start}
  %t = arith.constant dense<1.0> : tensor<2xf64>
  tile.store %t, %y[%i] : tensor<2xf64>, {view}"""
    return ir.kernel({"y": view}, body)


def message(call, *arguments, **keywords):
    with pytest.raises(SanitizerError) as error:
        call(*arguments, **keywords)
    return error.value


def test_sanitizer_disjoint_stores_pass(ir):
    y = np.zeros(8)
    execute(store_at(ir, y, "  %i = arith.addi %p, %p : index"), [y], (2,), sanitize=True)
    np.testing.assert_array_equal(y, [1, 1, 0, 0, 1, 1, 0, 0])


def test_sanitizer_two_programs_writing_one_element_is_a_race(ir):
    y = np.zeros(8)
    kernel = store_at(ir, y, "  %i = arith.constant 1 : index")
    execute(kernel, [y], (3,), sanitize=False)
    error = message(execute, kernel, [y], (3,), sanitize=True)
    assert error.message == (
        "program (1, 0, 0) writes element (2,) of 'y', which program (0, 0, 0) wrote"
    )
    assert error.hint == PARTITION_HINT


def shift_kernel(ir, y, offset):
    """y[p] = y[p + offset] in place: reads a neighbour's element."""
    part, view = ir.partition_type(y, (1,)), ir.view_type(y, "exclusive")
    body = f"""
  %i = tile.index %y : {part} -> index
  %c = arith.constant {offset} : index
  %j = arith.addi %i, %c : index
  %v = tile.view_of %y : {part} -> {view}
  %t = tile.load %v[%j] : {view} -> tensor<1xf64>
  tile.store %t, %y : tensor<1xf64>, {part}"""
    return ir.kernel({"y": part}, body)


@pytest.mark.parametrize(
    ("offset", "text"),
    [
        (1, "program (1,) writes element (1,) of 'y', which program (0,) read"),
        (-1, "program (1,) reads element (0,) of 'y', which program (0,) wrote"),
    ],
)
def test_sanitizer_reading_a_neighbour_is_a_race_either_way(ir, offset, text):
    y = np.arange(4.0)
    assert message(execute, shift_kernel(ir, y, offset), [y], sanitize=True).message == text


def test_sanitizer_own_tile_in_place_passes(ir):
    y = np.arange(4.0)
    execute(shift_kernel(ir, y, 0), [y], sanitize=True)


def test_sanitizer_reading_an_uninitialized_output_is_reported(ir):
    y = uninitialized((4,), np.float64)
    error = message(execute, shift_kernel(ir, y, 0), [y], sanitize=True)
    assert error.message == "program (0,) reads element (0,) of 'y', which no program has written"
    assert error.hint == "the array came from tilec.execute.uninitialized: store before loading"


def test_sanitizer_view_of_an_uninitialized_array_counts(ir):
    y = np.asarray(uninitialized((8,), np.float64))[::2]
    error = message(execute, shift_kernel(ir, y, 0), [y], sanitize=True)
    assert error.message.endswith("which no program has written")


def test_sanitizer_empty_input_passes(ir):
    y, x = np.zeros(4), np.zeros((3, 0))
    part, view = ir.partition_type(y, (2,)), ir.view_type(x)
    body = f"""
  %zero = arith.constant 0 : index
  %t = tile.load %x[%zero, %zero] : {view} -> tensor<1x2xf64>
  %r = tile.reshape %t : tensor<1x2xf64> -> tensor<2xf64>
  tile.store %r, %y : tensor<2xf64>, {part}"""
    execute(ir.kernel({"y": part, "x": view}, body), [y, x], sanitize=True)


def test_sanitizer_array_counts_as_written_after_a_launch(ir):
    y = uninitialized((4,), np.float64)
    part = ir.partition_type(y, (1,))
    body = f"""
  %t = arith.constant dense<2.0> : tensor<1xf64>
  tile.store %t, %y : tensor<1xf64>, {part}"""
    execute(ir.kernel({"y": part}, body), [y])
    execute(shift_kernel(ir, y, 0), [y], sanitize=True)
    np.testing.assert_array_equal(y, [2.0] * 4)


def test_sanitizer_many_readers_then_a_writer_is_a_race(ir):
    y = np.zeros(4)
    view = ir.view_type(y, "unchecked")
    body = f"""
  %p = tile.program_id 0 : index
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  %t = tile.load %y[%zero] : {view} -> tensor<1xf64>
  %last = arith.cmpi eq, %p, %two : index
  scf.if %last {{
    tile.store %t, %y[%zero] : tensor<1xf64>, {view}
  }}"""
    error = message(execute, ir.kernel({"y": view}, body), [y], (3,), sanitize=True)
    assert error.message == (
        "program (2, 0, 0) writes element (0,) of 'y', which more than one program read"
    )


def test_sanitizer_overlapping_arguments_share_their_shadow(ir):
    buffer = np.zeros(8)
    y, x = buffer[:4], buffer[2:6][::-1]
    part, view = ir.partition_type(y, (1,)), ir.view_type(x)
    body = f"""
  %i = tile.index %y : {part} -> index
  %t = tile.load %x[%i] : {view} -> tensor<1xf64>
  tile.store %t, %y : tensor<1xf64>, {part}"""
    kernel = ir.kernel({"y": part, "x": view}, body)
    error = message(execute, kernel, [y, x], sanitize=True)
    assert error.message == "program (3,) reads element (3,) of 'x', which program (2,) wrote"


@pytest.mark.parametrize(
    ("constant", "place"), [(-1, "(-2,)"), (4, "(8,)"), (1 << 40, f"({1 << 41},)")]
)
def test_sanitizer_unchecked_tile_outside_is_reported(ir, constant, place):
    y = np.zeros(8)
    kernel = store_at(ir, y, f"  %i = arith.constant {constant} : index")
    assert message(execute, kernel, [y], (1,), sanitize=True).message == (
        f"program (0, 0, 0) accesses a tile of 'y' that begins at {place}, outside its shape (8,)"
    )


def test_sanitizer_unchecked_tile_over_the_edge_is_ordinary(ir):
    y = np.zeros(7)
    kernel = store_at(ir, y, "  %i = arith.constant 3 : index")
    execute(kernel, [y], (1,), sanitize=True)
    assert y[6] == 1.0


def test_sanitizer_unchecked_gather_outside_is_reported(ir):
    y = np.zeros((2, 3))
    view = ir.view_type(y, "unchecked")
    body = f"""
  %r = arith.constant dense<[0, 1]> : tensor<2xi32>
  %c = arith.constant dense<[2, 3]> : tensor<2xi32>
  %t = tile.gather %y[%r, %c] : {view}, tensor<2xi32>, tensor<2xi32> -> tensor<2xf64>"""
    kernel = ir.kernel({"y": view}, body)
    execute(kernel, [y], (1,), sanitize=False)
    assert message(execute, kernel, [y], (1,), sanitize=True).message == (
        "program (0, 0, 0) gathers element (1, 3) of 'y', outside its shape (2, 3)"
    )


def test_sanitizer_permuted_view_follows_the_memory(ir):
    y = np.zeros((2, 3))
    view = ir.view_type(y, "unchecked")
    body = f"""
  %p = tile.program_id 0 : index
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %t = arith.constant dense<1.0> : tensor<1x1xf64>
  %v = tile.permute_view %y [1, 0] : {view} -> {view}
  %first = arith.cmpi eq, %p, %zero : index
  scf.if %first {{
    tile.store %t, %y[%zero, %one] : tensor<1x1xf64>, {view}
  }} else {{
    tile.store %t, %v[%one, %zero] : tensor<1x1xf64>, {view}
  }}"""
    error = message(execute, ir.kernel({"y": view}, body), [y], (2,), sanitize=True)
    assert error.message == (
        "program (1, 0, 0) writes element (1, 0) of 'y', which program (0, 0, 0) wrote"
    )


def test_sanitizer_environment_variable_turns_it_on(ir, monkeypatch):
    from tilec import settings

    monkeypatch.setenv("TILEC_SANITIZE", "1")
    settings.current.cache_clear()
    try:
        y = np.zeros(8)
        kernel = store_at(ir, y, "  %i = arith.constant 1 : index")
        with pytest.raises(SanitizerError):
            execute(kernel, [y], (3,))
    finally:
        monkeypatch.undo()
        settings.current.cache_clear()
