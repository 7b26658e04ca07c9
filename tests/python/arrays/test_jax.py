"""JAX arrays in host memory: read in place by the CPU executor, and never written."""

import numpy as np
import pytest

import tilec as tl
from tilec.diagnostics import LaunchError

jax = pytest.importorskip("jax")
jnp = jax.numpy


@tl.kernel
def doubled(y, x):
    y.store((x.load_like(y).to(tl.float32) * 2).to(y.dtype))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "int8", "int32", "bool"])
def test_host_array_is_read(dtype):
    x = jax.device_put(jnp.arange(16).astype(dtype), jax.devices("cpu")[0])
    y = np.zeros(16, np.float32)
    doubled(tl.partition(y, (8,)), x)
    np.testing.assert_array_equal(y, 2 * np.asarray(x).astype(np.float32))


def test_transposed_and_sliced_arrays_are_read():
    x = jax.device_put(jnp.arange(24, dtype=jnp.float32), jax.devices("cpu")[0])
    for view in (x.reshape(4, 6).T, x.reshape(4, 6)[1:, ::2]):
        y = np.zeros(view.shape, np.float32)
        doubled(tl.partition(y, (2, 2)), view)
        np.testing.assert_array_equal(y, 2 * np.asarray(view))


def test_output_is_refused_since_jax_arrays_do_not_change():
    y = jnp.zeros(16)
    with pytest.raises(LaunchError) as error:
        doubled(tl.partition(y, (8,)), np.ones(16, np.float32))
    assert error.value.message == "argument 'y' is a read-only array, expected a writable one"
    assert not np.asarray(y).any()


def test_value_of_a_traced_function_is_refused():
    y = np.zeros(16, np.float32)
    with pytest.raises(LaunchError, match="argument 'x' has type DynamicJaxprTracer, expected"):
        jax.jit(lambda x: doubled(tl.partition(y, (8,)), x))(jnp.ones(16))
