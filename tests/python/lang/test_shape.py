"""Creation and shape operations against NumPy on the CPU executor."""

import numpy as np
import pytest

import tilec as tl


def result(tools, function, shape, dtype=np.int32):
    """The tile that ``function`` makes of ``arange(24)`` in shape (2, 3, 4)."""

    def kernel(y, x):
        y.store(function(x.load((0, 0, 0), (2, 3, 4))))

    x = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    y = np.zeros(shape, dtype)
    tools.run(kernel, tools.part(y, shape), x)
    return x, y


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (lambda t: t.reshape(6, 4), lambda x: x.reshape(6, 4)),
        (lambda t: t.reshape((4, -1)), lambda x: x.reshape(4, 6)),
        (lambda t: t.permute(2, 0, 1), lambda x: x.transpose(2, 0, 1)),
        (lambda t: t.permute((1, -1, 0)), lambda x: x.transpose(1, 2, 0)),
        (lambda t: t.T, lambda x: x.T),
        (lambda t: tl.transpose(t), lambda x: x.swapaxes(-1, -2)),
        (lambda t: t[:, None], lambda x: x[:, None]),
        (lambda t: t[..., None, :], lambda x: x[..., None, :]),
        (lambda t: t[None, ..., None], lambda x: x[None, ..., None]),
        (lambda t: tl.expand_dims(t, (0, -1)), lambda x: np.expand_dims(x, (0, -1))),
        (lambda t: tl.squeeze(tl.expand_dims(t, 1)), lambda x: x),
        (lambda t: tl.squeeze(t[None, :, None], 2), lambda x: x[None]),
        (lambda t: tl.broadcast_to(t, (5, 2, 3, 4)), lambda x: np.broadcast_to(x, (5, 2, 3, 4))),
        (lambda t: t + tl.arange(4), lambda x: x + np.arange(4, dtype=np.int32)),
        (lambda t: t * tl.arange(3)[:, None], lambda x: x * np.arange(3, dtype=np.int32)[:, None]),
    ],
)
def test_shape_operation_as_numpy(tools, ours, theirs):
    expected = theirs(np.arange(24, dtype=np.int32).reshape(2, 3, 4))
    _, found = result(tools, ours, expected.shape)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("ours", "expected"),
    [
        (lambda: tl.arange(5), np.arange(5)),
        (lambda: tl.arange(3, 17, 4), np.arange(3, 17, 4)),
        (lambda: tl.arange(5, 0, -2), np.arange(5, 0, -2)),
        (lambda: tl.arange(3, dtype=tl.float32), np.arange(3.0)),
        (lambda: tl.zeros(4), np.zeros(4)),
        (lambda: tl.ones((4,), tl.int8), np.ones(4)),
        (lambda: tl.full((4,), 7), np.full(4, 7)),
        (lambda: tl.full((4,), 2.5, tl.float16), np.full(4, 2.5)),
        (lambda: tl.full((4,), True), np.ones(4)),
        (lambda: tl.full((4,), tl.sum(tl.arange(4))), np.full(4, 6)),
    ],
)
def test_creation_as_numpy(tools, ours, expected):
    def kernel(y):
        y.store(ours().to(tl.float64))

    y = np.zeros(expected.shape)
    tools.run(kernel, tools.part(y, y.shape))
    np.testing.assert_array_equal(y, expected)


def test_creation_default_dtypes(tools):
    found = []

    def kernel(y):
        found.extend(
            t.dtype
            for t in (tl.arange(3), tl.zeros(3), tl.full(3, 1), tl.full(3, 1.0), tl.full(3, True))
        )

    tools.bytecode(kernel, tools.view(tl.float32, 1, (8,)))
    assert found == [tl.int32, tl.float32, tl.int32, tl.float32, tl.bool_]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda t: t.reshape(4, 3), "reshape: (8,) has 8 elements, (4, 3) has 12"),
        (lambda t: t.reshape(3, -1), "reshape: (8,) has 8 elements, (3, 2) has 6"),
        (
            lambda t: t.permute(0, 0),
            "permute: expected an order of the dimensions 0 to 0, found (0, 0)",
        ),
        (lambda t: tl.transpose(t), "transpose: expected rank 2 or more, found shape (8,)"),
        (lambda t: tl.squeeze(t, 0), "squeeze: dimension 0 of (8,) has extent 8, not 1"),
        (lambda t: tl.broadcast_to(t, (4,)), "broadcast_to: shapes (8,) and (4,) do not broadcast"),
        (
            lambda t: tl.broadcast_to(t, (8, 1)),
            "broadcast_to: shape (8,) does not broadcast to (8, 1)",
        ),
        (lambda t: t[3], "a tile is indexed with :, None and ... only, found 3"),
        (lambda t: t[:, :], "too many indices for a tile of shape (8,)"),
        (
            lambda t: tl.arange(0),
            "arange: range(0, 0) is empty, and a tile has at least one element",
        ),
        (lambda t: tl.zeros("a"), "full: expected a shape, found a str"),
        (lambda t: tl.zeros((2.5,)), "full: a tile's shape must be an integer, found 2.5"),
        (lambda t: tl.full((2,), 1.5, tl.int32), "full: 1.5 is no int32"),
        (
            lambda t: tl.zeros((2,), "complex64"),
            "unknown dtype 'complex64': expected one of "
            + (", ".join(str(d) for d in tl.lang.dtypes.DTYPES)),
        ),
        (lambda t: t.item(), "item: expected a tile of one element, found shape (8,)"),
    ],
)
def test_shape_that_does_not_fit_refused(tools, function, message):
    def kernel(y, x):
        function(x.load_like(y))

    error = tools.error(kernel, tools.view(tl.float32, 1, (8,)), tools.view(tl.float32, 1))
    assert error.message == message
