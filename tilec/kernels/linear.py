"""Linear layer: matrix product, bias, activation and residual in one kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import tilec as tl
from tilec.kernels.products import accumulator, check_product, is_fp8, operand, step
from tilec.kernels.shapes import Array, check_rank, check_shape

Activation = Callable[[tl.Tile], tl.Tile]


def relu(x: tl.Tile) -> tl.Tile:
    """Return ``max(x, 0)``, element by element."""
    return tl.maximum(x, 0.0)


def silu(x: tl.Tile) -> tl.Tile:
    """Return ``x · sigmoid(x)``, element by element."""
    return x * tl.sigmoid(x)


def gelu(x: tl.Tile) -> tl.Tile:
    """Return the tanh approximation of the Gaussian error linear unit, element by element.

    Source: Hendrycks and Gimpel, "Gaussian error linear units", 2016.
    """
    u = 0.7978845608028654 * (x + 0.044715 * x * x * x)  # sqrt(2 / pi)
    return 0.5 * x * (1.0 + tl.tanh(u))


ACTIVATIONS: Mapping[str, Activation] = MappingProxyType({"gelu": gelu, "relu": relu, "silu": silu})
"""Activations by name."""


@tl.kernel(max_spills=0)
def linear_kernel(
    y: tl.Partition,
    x: tl.TensorView,
    weight: tl.TensorView,
    bias: tl.TensorView | None,
    residual: tl.TensorView | None,
    *,
    activation: tl.Constant[Activation | None] = None,
    tk: tl.Constant[int | None] = None,
    tf32: tl.Constant[bool] = False,
) -> None:
    """One tile of ``y = activation(x @ weight + bias) + residual``."""
    m, n = y.index
    tm, tn = y.tile_shape
    tk = tk or step(x.dtype)
    acc = tl.zeros((tm, tn), accumulator(x.dtype))
    for k in range(x.num_tiles(1, tk)):
        lhs, rhs = x.load((m, k), (tm, tk)), weight.load((k, n), (tk, tn))
        acc = tl.mma(operand(lhs, tf32), operand(rhs, tf32), acc)
    if bias is not None:
        acc += bias.load((n,), (tn,)).to(acc.dtype)[None, :]
    if activation is not None:
        acc = activation(acc)
    if residual is not None:
        acc += residual.load_like(y).to(acc.dtype)
    y.store(acc.to(y.dtype))


# As for matmul: products of 8-bit floats may be emulated.
_of_fp8 = tl.kernel(linear_kernel.function)


def linear(
    y: Array,
    x: Array,
    weight: Array,
    bias: Array | None = None,
    *,
    activation: str | Activation | None = None,
    residual: Array | None = None,
    allow_tf32: bool = False,
) -> None:
    """Write ``activation(x @ weight + bias) + residual`` to ``y``, rounded once.

    Shapes:
        y, residual: (m, n)
        x: (m, k)
        weight: (k, n); torch keeps its transpose, ``weight.T``.
        bias: (n,)

    Args:
        y: where the result goes.
        x: the input, of floats.
        weight: the right operand.
        bias: added to every row, if given.
        activation: ``"gelu"`` (its tanh approximation), ``"relu"``, ``"silu"``, or a function of
            tiles.
        residual: added at the end, if given.
        allow_tf32: multiply f32 with 11 bits of their significands, on the tensor cores.

    Raises:
        LaunchError: the shapes do not fit together, a rank is wrong, or no activation has the
            name.
    """
    check_rank("y", y, 2)
    check_product(y, x, weight)
    if bias is not None:
        check_shape("bias", bias, (y.shape[1],))
    if residual is not None:
        check_shape("residual", residual, y.shape)
    function = _activation(activation) if isinstance(activation, str) else activation
    kernel = _of_fp8 if is_fp8(x) else linear_kernel
    kernel(
        tl.partition(y, tl.AUTO), x, weight, bias, residual, activation=function, tf32=allow_tf32
    )


def _activation(name: str) -> Activation:
    if name not in ACTIVATIONS:
        raise tl.LaunchError(
            f"activation must be one of {', '.join(ACTIVATIONS)} or a function, found {name!r}"
        )
    return ACTIVATIONS[name]


_X_WEIGHT = "bf16[4096,4096] bf16[4096,4096]"

__tilec_examples__ = {
    "linear_kernel": (
        f"bf16[4096,4096]:partition(auto) {_X_WEIGHT} bf16[4096] None",
        f"bf16[4096,4096]:partition(auto) {_X_WEIGHT} bf16[4096] bf16[4096,4096]",
    )
}
