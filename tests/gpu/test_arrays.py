"""Arrays of every library, and of none: the interfaces alone."""

import numpy as np
import pytest
import tilec_cases.gpu  # noqa: F401

import tilec as tl


@tl.kernel
def add_one(y, x):
    y.store(x.load_like(y) + 1)


class CudaArrayInterface:
    """An array of no library: only the interface, and memory that a tensor owns."""

    def __init__(self, tensor):
        self._tensor = tensor
        self.__cuda_array_interface__ = tensor.__cuda_array_interface__


class DLPack:
    """An array of no library: only the two methods."""

    def __init__(self, tensor):
        self._tensor = tensor

    def __dlpack__(self, **keywords):
        return self._tensor.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self._tensor.__dlpack_device__()


@pytest.mark.parametrize("wrap", [CudaArrayInterface, DLPack], ids=lambda wrap: wrap.__name__)
@pytest.mark.parametrize("shape", [(1000,), (33, 70), (0, 4)])
def test_bare_interface_is_accepted(torch, wrap, shape):
    x = torch.randn(shape, device="cuda")
    y = torch.zeros_like(x)
    add_one(tl.partition(wrap(y), (16,) * len(shape)), wrap(x))
    assert torch.equal(y, x + 1)


def test_strided_interface_is_followed(torch):
    x = torch.randn(40, 60, device="cuda")
    y = torch.zeros(60, 40, device="cuda")
    add_one(tl.partition(CudaArrayInterface(y), (16, 16)), CudaArrayInterface(x.T))
    assert torch.equal(y, x.T + 1)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64", "int8", "int64", "uint8"])
def test_torch_tensor_of_every_type(torch, dtype):
    x = torch.arange(100, device="cuda").to(getattr(torch, dtype))
    y = torch.zeros_like(x)
    add_one(tl.partition(y, (32,)), x)
    assert torch.equal(y, x + 1)


def test_torch_tensor_that_requires_grad_is_read_or_refused(torch):
    x = torch.randn(100, device="cuda", requires_grad=True)
    y = torch.zeros(100, device="cuda")
    try:
        add_one(tl.partition(y, (32,)), x)
    except tl.TilecError as error:
        assert "x" in str(error)
    else:
        assert torch.equal(y, x.detach() + 1)


def test_torch_without_current_stream_of_its_own_uses_the_given_one(torch):
    stream = torch.cuda.Stream()
    x = torch.randn(1000, device="cuda")
    y = torch.zeros_like(x)
    torch.cuda.synchronize()
    add_one(tl.partition(y, (128,)), x, stream=stream)
    stream.synchronize()
    assert torch.equal(y, x + 1)
    add_one(tl.partition(y, (128,)), y.clone(), stream=stream.cuda_stream)
    stream.synchronize()


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32])
def test_cupy_array_on_cupy_s_stream(dtype):
    cupy = pytest.importorskip("cupy")
    x = cupy.arange(1000).astype(dtype)
    y = cupy.zeros_like(x)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        add_one(tl.partition(y, (128,)), x)
        stream.synchronize()
    np.testing.assert_array_equal(cupy.asnumpy(y), cupy.asnumpy(x) + dtype(1))


def test_cupy_array_with_negative_strides():
    cupy = pytest.importorskip("cupy")
    x = cupy.arange(1000, dtype=np.float32)[::-1]
    y = cupy.zeros(1000, np.float32)
    add_one(tl.partition(y, (128,)), x)
    np.testing.assert_array_equal(cupy.asnumpy(y), cupy.asnumpy(x) + 1)


def test_jax_array_is_read(torch):
    jax = pytest.importorskip("jax")
    x = jax.device_put(jax.numpy.arange(1000, dtype=jax.numpy.float32), jax.devices("gpu")[0])
    y = torch.zeros(1000, device="cuda")
    add_one(tl.partition(y, (128,)), x)
    np.testing.assert_array_equal(y.cpu().numpy(), np.arange(1000, dtype=np.float32) + 1)
