import numpy as np
import pytest

from tilec import LaunchError
from tilec.execute import ExecutionError, execute


@pytest.fixture
def copy(ir):
    like = np.zeros(8, np.float32)
    part, view = ir.partition_type(like, (4,)), ir.view_type(like)
    body = f"""
  %i = tile.index %y : {part} -> index
  %t = tile.load %x[%i] : {view} -> tensor<4xf32>
  tile.store %t, %y : tensor<4xf32>, {part}"""
    return ir.kernel({"y": part, "x": view}, body)


def message(error):
    return error.value.message


@pytest.mark.parametrize(
    ("arguments", "grid", "text"),
    [
        ([np.zeros(8, np.float32)], None, "k takes 2 arguments, found 1"),
        ([np.zeros(8, np.float32), 3], None, "argument 'x' must be a NumPy array, found int"),
        ([np.zeros(8, np.float32), np.zeros((2, 4), np.float32)], None,
         "argument 'x' must have rank 1, found shape (2, 4)"),
        ([np.zeros(8, np.float32), np.zeros(8)], None,
         "argument 'x' must hold f32 elements, found float64"),
        ([np.broadcast_to(np.float32(0), (8,)), np.zeros(8, np.float32)], None,
         "argument 'y' is written by the kernel, but the array is read-only"),
        ([np.zeros(8, np.float32), np.zeros(8, np.float32)], (2,),
         "k has partitions, which give its grid: grid= must be left out"),
    ],
)  # fmt: skip
def test_execute_unfit_arguments_refused(copy, arguments, grid, text):
    with pytest.raises(LaunchError) as error:
        execute(copy, arguments, grid)
    assert message(error) == text


def test_execute_different_tile_grids_refused(ir):
    y, z = np.zeros(8), np.zeros(9)
    kinds = {"y": ir.partition_type(y, (4,)), "z": ir.partition_type(z, (4,))}
    with pytest.raises(LaunchError) as error:
        execute(ir.kernel(kinds, ""), [y, z])
    assert message(error) == "tile grids differ: 'y' has (2,), 'z' has (3,)"


def test_execute_missing_grid_refused(ir):
    y = np.zeros(8)
    with pytest.raises(LaunchError) as error:
        execute(ir.kernel({"y": ir.view_type(y, "unchecked")}, ""), [y])
    assert message(error) == "k has no partition: grid= is needed"


@pytest.mark.parametrize("grid", [(), (1, 2, 3, 4), (-1,)])
def test_execute_bad_grid_refused(ir, grid):
    y = np.zeros(8)
    with pytest.raises(LaunchError) as error:
        execute(ir.kernel({"y": ir.view_type(y, "unchecked")}, ""), [y], grid)
    assert message(error) == f"grid must be one to three non-negative integers, found {grid}"


def test_execute_static_shape_mismatch_refused(ir):
    x = np.zeros(8)
    view = ir.view_type(x, "unchecked").replace("?xf64", "6xf64")
    with pytest.raises(LaunchError) as error:
        execute(ir.kernel({"x": view}, ""), [x], (1,))
    assert message(error) == "dimension 0 of argument 'x' must be 6, found 8"


@pytest.mark.parametrize(
    ("value", "stored"),
    [(-1, -1), (2**31 - 1, 2**31 - 1), (2**31, -(2**31)), (2**32 - 1, -1), (-(2**31), -(2**31))],
)
def test_execute_integer_scalar_takes_either_signedness(ir, value, stored):
    y = np.zeros(1, np.int32)
    part = ir.partition_type(y, (1,))
    body = f"""
  %t = tile.splat %s : i32 -> tensor<1xi32>
  tile.store %t, %y : tensor<1xi32>, {part}"""
    execute(ir.kernel({"y": part, "s": "i32"}, body), [y, value])
    assert y[0] == stored


@pytest.mark.parametrize("value", [2**32, -(2**31) - 1])
def test_execute_integer_scalar_out_of_range_refused(ir, value):
    with pytest.raises(LaunchError) as error:
        execute(ir.kernel({"s": "i32"}, ""), [value], (1,))
    assert message(error) == f"argument 's' must fit i32, found {value}"


def test_execute_unknown_op_names_it_and_its_place(ir):
    body = '  %c = arith.constant 1.0 : f32\n  %p = ub.poison : f32 loc("add.py":7:5)'
    with pytest.raises(ExecutionError) as error:
        execute(ir.kernel({}, body), [], (1,))
    assert str(error.value) == (
        "the CPU executor has no rule for ub.poison\n  --> add.py:7:5, in kernel"
    )


def test_execute_not_a_module_is_refused():
    with pytest.raises(ExecutionError, match="not a module of the tile dialect"):
        execute(b"nonsense", [])


def test_execute_module_without_kernel_refused():
    with pytest.raises(ExecutionError) as error:
        execute(b"module {}", [])
    assert message(error) == "a module must hold one tile.kernel, found 0"


def test_assert_failing_names_program_element_and_call_chain(ir, tmp_path, monkeypatch):
    source = tmp_path / "kernel.py"
    source.write_text("def helper(t):\n    tl.assert_(t > 0, 'positive')\n\n\nhelper(t)\n")
    monkeypatch.chdir(tmp_path)
    x = np.array([1.0, 1.0, 1.0, -2.0])
    y = np.zeros(4)
    part = ir.partition_type(y, (2,))
    body = f"""
  %i = tile.index %y : {part} -> index
  %t = tile.load %x[%i] : {ir.view_type(x)} -> tensor<2xf64>
  %z = arith.constant dense<0.0> : tensor<2xf64>
  %c = arith.cmpf ogt, %t, %z : tensor<2xf64>
  tile.assert %c, "positive" : tensor<2xi1>
      loc(callsite("helper"("{source}":2:5 to 2:34) at "k"("{source}":5:1 to 5:10)))"""
    with pytest.raises(ExecutionError) as error:
        execute(ir.kernel({"y": part, "x": ir.view_type(x)}, body), [y, x])
    assert error.value.render() == (
        "error: assertion failed in program (1,) at element (1,): positive\n"
        "  --> kernel.py:2:5, in helper (called from kernel.py:5)\n"
        "   |     tl.assert_(t > 0, 'positive')\n"
        "   |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"
    )


def test_assume_false_is_reported(ir):
    body = "  %c = arith.constant false\n  tile.assume %c"
    with pytest.raises(ExecutionError) as error:
        execute(ir.kernel({}, body), [], (1, 2))
    assert message(error) == "an assumption does not hold in program (0, 0, 0)"


def test_print_fills_the_places_of_its_format(ir, capsys):
    body = """
  %p = tile.program_id 0 : index
  %t = arith.constant dense<[1, 2]> : tensor<2xi32>
  tile.print "{} has {}!" (%p, %t) : index, tensor<2xi32>
  tile.print "bare" """
    execute(ir.kernel({}, body), [], (2,))
    assert capsys.readouterr().out == "".join(
        f"program ({i}, 0, 0): {text}\n" for i in range(2) for text in (f"{i} has [1 2]!", "bare")
    )


def test_execute_failure_inside_numpy_names_the_op(ir, monkeypatch):
    from tilec.execute import views

    def broken(*_):
        raise MemoryError("no room")

    monkeypatch.setattr(views, "load", broken)
    x = np.zeros(2)
    with pytest.raises(ExecutionError) as error:
        ir.evaluate("  %r = arith.addf %x0, %x0 : tensor<2xf64>", x)
    assert message(error) == "the executor failed: MemoryError: no room"
    assert error.value.frames[0].span.line == 3
