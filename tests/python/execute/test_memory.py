import numpy as np
import pytest

from tilec.execute import execute


def copy_kernel(ir, y, x, tile, *, start="%i", pad="", step=""):
    """Each program stores the tile of x at its own coordinates (or at others, from `start`)."""
    rank = y.ndim
    part = ir.partition_type(y, tile)
    names = [f"%i{d}" for d in range(rank)]
    element = ir.tile_type(tile, {1: "i8", 4: "f32", 8: "f64"}[x.dtype.itemsize])
    starts = ", ".join(names) if start == "%i" else start
    body = f"""
  {", ".join(names)} = tile.index %y : {part} -> {", ".join(["index"] * rank)}
  %t = tile.load %x[{starts}] {pad} {step} : {ir.view_type(x)} -> {element}
  tile.store %t, %y : {element}, {part}"""
    return ir.kernel({"y": part, "x": ir.view_type(x)}, body)


@pytest.mark.parametrize("tile", [(1,), (3,), (4,), (7,), (8,), (13,)])
@pytest.mark.parametrize("size", [1, 7, 8, 1185])
def test_copy_ragged_tiles_covers_the_array(ir, rng, tile, size):
    x = rng.standard_normal(size).astype(np.float32)
    surroundings = np.full(size + 20, np.nan, np.float32)
    y = surroundings[10:-10]
    execute(copy_kernel(ir, y, x, tile), [y, x])
    np.testing.assert_array_equal(y, x)
    assert np.isnan(surroundings[:10]).all() and np.isnan(surroundings[-10:]).all()


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x[::-1],
        lambda x: x[:, ::2],
        lambda x: x.T,
        lambda x: np.broadcast_to(x[:1], (9, 12)),
        lambda x: np.broadcast_to(x[:, :1], (9, 12)),
        lambda x: x[1:, 1:],
    ],
)
def test_copy_strided_input_reads_its_elements(ir, rng, make):
    x = make(rng.standard_normal((9, 12)))
    y = np.full(x.shape, np.nan)
    execute(copy_kernel(ir, y, x, (4, 5)), [y, x])
    np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize("tiles", range(1, 9))
@pytest.mark.parametrize("rows", [1, 2, 4])
def test_copy_many_tiles_along_an_axis_keeps_the_middle(ir, rng, tiles, rows):
    x = rng.standard_normal((rows, 128 * tiles)).astype(np.float32)
    y = np.full_like(x, np.nan)
    execute(copy_kernel(ir, y, x, (rows, 128)), [y, x])
    np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize("shape", [(0,), (0, 128), (128, 0), (0, 0)])
def test_empty_output_runs_no_program(ir, shape):
    x, y = np.zeros(shape), np.zeros(shape)
    execute(copy_kernel(ir, y, x, (4,) * len(shape)), [y, x])


@pytest.mark.parametrize("offset", [-9, -2, -1, 0, 1, 2, 9])
def test_load_out_of_range_in_any_direction_reads_the_pad(ir, offset):
    x = np.arange(1.0, 7.0)
    y = np.full(4, np.nan)
    part = ir.partition_type(y, (4,))
    body = f"""
  %c = arith.constant {offset} : index
  %p = arith.constant -7.0 : f64
  %t = tile.load %x[%c] pad %p : f64 : {ir.view_type(x)} -> tensor<4xf64>
  tile.store %t, %y : tensor<4xf64>, {part}"""
    execute(ir.kernel({"y": part, "x": ir.view_type(x)}, body), [y, x])
    wanted = [x[i] if 0 <= i < 6 else -7.0 for i in range(offset * 4, offset * 4 + 4)]
    np.testing.assert_array_equal(y, wanted)


def test_load_with_step_reads_overlapping_windows(ir):
    x = np.arange(10.0)
    y = np.full((4, 3), np.nan)
    part = ir.partition_type(y, (1, 3))
    body = f"""
  %i, %j = tile.index %y : {part} -> index, index
  %t = tile.load %x[%i] step [2] : {ir.view_type(x)} -> tensor<3xf64>
  %r = tile.reshape %t : tensor<3xf64> -> tensor<1x3xf64>
  tile.store %r, %y : tensor<1x3xf64>, {part}"""
    execute(ir.kernel({"y": part, "x": ir.view_type(x)}, body), [y, x])
    np.testing.assert_array_equal(y, [[0, 1, 2], [2, 3, 4], [4, 5, 6], [6, 7, 8]])


def test_load_before_store_keeps_the_old_tile(ir):
    y = np.arange(4.0)
    part, view = ir.partition_type(y, (4,)), ir.view_type(y, "exclusive")
    body = f"""
  %zero = arith.constant 0 : index
  %c = arith.constant dense<9.0> : tensor<4xf64>
  %v = tile.view_of %y : {part} -> {view}
  %old = tile.load %v[%zero] : {view} -> tensor<4xf64>
  tile.store %c, %y : tensor<4xf64>, {part}
  %new = tile.load %v[%zero] : {view} -> tensor<4xf64>
  %r = arith.subf %new, %old : tensor<4xf64>
  tile.store %r, %y : tensor<4xf64>, {part}"""
    execute(ir.kernel({"y": part}, body), [y])
    np.testing.assert_array_equal(y, 9 - np.arange(4.0))


def test_gather_masked_and_out_of_range_reads_the_fill(ir):
    x = np.arange(12.0).reshape(3, 4)
    rows = np.array([0, 2, -1, 3, 1, 1], np.int32)
    columns = np.array([0, 3, 0, 0, 4, 2], np.int32)
    mask = np.array([1, 1, 1, 1, 1, 0], np.int8)
    y = np.full(6, np.nan)
    part = ir.partition_type(y, (6,))
    views = {"x": x, "r": rows, "c": columns, "m": mask}
    loads = "\n".join(
        f"  %{n}t = tile.load %{n}[%zero] : {ir.view_type(a)} -> tensor<6x{e}>"
        for n, a, e in (("r", rows, "i32"), ("c", columns, "i32"), ("m", mask, "i8"))
    )
    body = f"""
  %zero = arith.constant 0 : index
  %f = arith.constant -5.0 : f64
{loads}
  %mt1 = arith.trunci %mt : tensor<6xi8> to tensor<6xi1>
  %r1 = tile.gather %x[%rt, %ct] mask %mt1 : tensor<6xi1> fill %f : f64
      : {ir.view_type(x)}, tensor<6xi32>, tensor<6xi32> -> tensor<6xf64>
  tile.store %r1, %y : tensor<6xf64>, {part}"""
    arguments = {"y": part, **{n: ir.view_type(a) for n, a in views.items()}}
    execute(ir.kernel(arguments, body), [y, *views.values()])
    np.testing.assert_array_equal(y, [0, 11, -5, -5, -5, -5])


def test_permuted_view_reads_transposed(ir, rng):
    x = rng.standard_normal((5, 7))
    y = np.full((7, 5), np.nan)
    part = ir.partition_type(y, (2, 3))
    body = f"""
  %i, %j = tile.index %y : {part} -> index, index
  %v = tile.permute_view %x [1, 0] : {ir.view_type(x)} -> {ir.view_type(x)}
  %t = tile.load %v[%i, %j] : {ir.view_type(x)} -> tensor<2x3xf64>
  tile.store %t, %y : tensor<2x3xf64>, {part}"""
    execute(ir.kernel({"y": part, "x": ir.view_type(x)}, body), [y, x])
    np.testing.assert_array_equal(y, x.T)


def test_store_with_step_goes_to_multiples_of_the_step(ir):
    y = np.zeros(9)
    view = ir.view_type(y, "unchecked")
    body = f"""
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %one = arith.constant dense<1.0> : tensor<3xf64>
  %two = arith.constant dense<2.0> : tensor<3xf64>
  tile.store %one, %y[%c1] step [2] : tensor<3xf64>, {view}
  tile.store %two, %y[%c3] step [2] : tensor<3xf64>, {view}"""
    execute(ir.kernel({"y": view}, body), [y], grid=(1,))
    np.testing.assert_array_equal(y, [0, 0, 1, 1, 1, 0, 2, 2, 2])


def test_unchecked_store_goes_to_its_indices_and_drops_the_rest(ir):
    y = np.full(10, -1.0)
    view = ir.view_type(y, "unchecked")
    body = f"""
  %i = tile.program_id 0 : index
  %one = arith.constant 1 : index
  %j = arith.subi %i, %one : index
  %t = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf64>
  tile.store %t, %y[%j] : tensor<4xf64>, {view}"""
    execute(ir.kernel({"y": view}, body), [y], (4,))
    np.testing.assert_array_equal(y, [1, 2, 3, 4, 1, 2, 3, 4, 1, 2])


def test_dim_and_num_tiles_count_elements_and_tiles(ir):
    x = np.zeros((10, 7))
    y = np.zeros(3, np.int64)
    part = ir.partition_type(y, (3,))
    body = f"""
  %a = tile.dim %x, 0 : {ir.view_type(x)}
  %b = tile.num_tiles %x, 0 by 4 : {ir.view_type(x)}
  %c = tile.num_tiles %y, 0 by 2 : {part}
  %at = tile.splat %a : index -> tensor<3xindex>
  %iota = tile.iota axis = 0 : tensor<3xi64>
  %ai = arith.index_cast %a : index to i64
  %bi = arith.index_cast %b : index to i64
  %ci = arith.index_cast %c : index to i64
  %as = tile.splat %ai : i64 -> tensor<3xi64>
  %bs = tile.splat %bi : i64 -> tensor<3xi64>
  %cs = tile.splat %ci : i64 -> tensor<3xi64>
  %zero = arith.constant dense<0> : tensor<3xi64>
  %one = arith.constant dense<1> : tensor<3xi64>
  %is0 = arith.cmpi eq, %iota, %zero : tensor<3xi64>
  %is1 = arith.cmpi eq, %iota, %one : tensor<3xi64>
  %bc = arith.select %is1, %bs, %cs : tensor<3xi1>, tensor<3xi64>
  %r = arith.select %is0, %as, %bc : tensor<3xi1>, tensor<3xi64>
  tile.store %r, %y : tensor<3xi64>, {part}"""
    body = body.replace("  %at = tile.splat %a : index -> tensor<3xindex>\n", "")
    execute(ir.kernel({"y": part, "x": ir.view_type(x)}, body), [y, x])
    np.testing.assert_array_equal(y, [10, 3, 2])


def test_explicit_grid_numbers_programs_by_axis(ir):
    y = np.zeros((2, 3, 4), np.int64)
    view = ir.view_type(y, "unchecked")
    lines = [f"  %p{d} = tile.program_id {d} : index" for d in range(3)]
    lines += [f"  %n{d} = tile.num_programs {d} : index" for d in range(3)]
    body = (
        "\n".join(lines)
        + f"""
  %a = arith.muli %p0, %n1 : index
  %b = arith.addi %a, %p1 : index
  %c = arith.muli %b, %n2 : index
  %d = arith.addi %c, %p2 : index
  %e = arith.index_cast %d : index to i64
  %t = tile.splat %e : i64 -> tensor<1x1x1xi64>
  tile.store %t, %y[%p0, %p1, %p2] : tensor<1x1x1xi64>, {view}"""
    )
    execute(ir.kernel({"y": view}, body), [y], (2, 3, 4))
    np.testing.assert_array_equal(y, np.arange(24).reshape(2, 3, 4))


def test_unsigned_and_bool_arrays_are_written_in_place(ir):
    for x in (np.array([200, 255], np.uint8), np.array([True, False])):
        y = np.zeros_like(x)
        execute(copy_kernel(ir, y, x, (2,)), [y, x])
        np.testing.assert_array_equal(y, x)
