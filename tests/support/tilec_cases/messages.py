"""Mistakes that must be refused, each with its place in the source."""

import re

import numpy as np
import pytest

import tilec as tl

# -- one mistake each (cutile-python #72, #53, #6; triton #3307; helion #762) ----------------------


@tl.kernel
def mma_inner_mismatch(y, x):
    a, b = tl.zeros((64, 32), tl.float32), tl.zeros((128, 64), tl.float32)
    y.store(tl.mma(a, b, tl.zeros((64, 64), tl.float32)))


@tl.kernel
def store_of_another_shape(y, x):
    y.store(tl.zeros((7,), tl.float32))


@tl.kernel
def add_of_other_shapes(y, x):
    y.store(x.load_like(y) + tl.zeros((7,), tl.float32))


@tl.kernel
def impossible_reshape(y, x):
    y.store(tl.zeros((6,), tl.float32).reshape(4))


@tl.kernel
def index_of_another_rank(y, x):
    y.store(x.load((0, 0), (8,)))


@tl.kernel
def run_time_tile_shape(y, x):
    y.store(x.load((0,), (x.shape[0],)))


@tl.kernel
def axis_out_of_range(y, x):
    y.store(tl.sum(x.load_like(y), axis=2))


@tl.kernel
def mma_of_mixed_types(y, x):
    a, b = tl.zeros((16, 16), tl.int32), tl.zeros((16, 16), tl.float16)
    y.store(tl.mma(a, b, tl.zeros((16, 16), tl.float32)))


@tl.kernel
def branch_changes_type(y, x, flag):
    v = tl.zeros((8,), tl.int32)
    if flag > 0:
        v = tl.zeros((8,), tl.float32)
    y.store(v.to(tl.float32))


@tl.kernel
def branch_changes_shape(y, x, flag):
    v = tl.zeros((8,), tl.float32)
    if flag > 0:
        v = tl.zeros((4,), tl.float32)
    y.store(v)


@tl.kernel
def too_many_indices(y, x):
    m, n = y.index
    y.store(x.load((m + n,), (8,)))


@tl.kernel
def python_truth_of_a_tile(y, x):
    if x.load_like(y) > 0:
        y.store(x.load_like(y))


@tl.kernel
def float_of_a_tile(y, x):
    y.store(x.load_like(y) * float(x.load_like(y)))


@tl.kernel
def length_of_an_array(y, x):
    y.store(x.load_like(y) * len(x))


@tl.kernel
def assignment_to_an_input(y, x):
    x[0] = 1.0


@tl.kernel
def shape_out_of_range(y, x):
    y.store(x.load_like(y) * x.shape[5])


@tl.kernel
def store_to_an_input(y, x):
    x.store((0,), tl.zeros((8,), tl.float32))


MISTAKES = [
    mma_inner_mismatch, store_of_another_shape, add_of_other_shapes, impossible_reshape,
    index_of_another_rank, run_time_tile_shape, axis_out_of_range, mma_of_mixed_types,
    too_many_indices, python_truth_of_a_tile, float_of_a_tile, length_of_an_array,
    assignment_to_an_input, shape_out_of_range, store_to_an_input,
]  # fmt: skip


def assert_placed(error, function):
    """The message shows the line in the kernel, and no internals."""
    assert error.frames
    assert error.frames[0].span.file == __file__
    assert error.frames[0].function == function
    text = re.sub(r"^\w+Error: ", "", error.message)  # an exception of the author's own code
    assert not text[0].isupper()
    assert not error.message.endswith(".")
    assert "-->" in error.render() and "^" in error.render()


@pytest.mark.parametrize("kernel", MISTAKES, ids=lambda kernel: kernel.__name__)
def test_mistake_is_refused_with_its_place(place, kernel):
    y = place.output(8, np.float32)
    with pytest.raises(tl.TilecError) as error:
        kernel(tl.partition(y.array, (8,)), place.array(np.ones(8, np.float32)))
    assert_placed(error.value, kernel.__name__)
    assert np.isnan(y.read()).all()


@pytest.mark.parametrize("kernel", [branch_changes_type, branch_changes_shape])
def test_branches_that_disagree_are_refused_by_name(place, kernel):
    y = place.output(8, np.float32)
    with pytest.raises(tl.TilecError, match=r"\bv\b") as error:
        kernel(tl.partition(y.array, (8,)), place.array(np.ones(8, np.float32)), 1)
    assert error.value.frames


def test_array_of_an_unsupported_type_is_refused_by_name(place):
    y = place.output(8, np.float32)
    with pytest.raises(tl.TilecError, match="complex64"):
        store_of_another_shape(tl.partition(y.array, (8,)), place.array(np.ones(8, np.complex64)))
