"""An array without memory: what a kernel is compiled for when there is no array to launch it on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tilec.diagnostics import LaunchError
from tilec.lang.dtypes import DType, as_dtype

_MAX_ALIGN_BYTES = 128


@dataclass(frozen=True, init=False)
class ArraySpec:
    """Shape, dtype, strides and alignment of an array, to compile a kernel ahead of time.

    It goes wherever an array goes, inside ``tl.partition`` too. What a kernel is specialized on
    follows from it as from an array: write the extents and strides of a typical launch.

    Attributes:
        shape: the extents.
        dtype: the element type.
        strides: in elements; contiguous by default.
        align_bytes: the alignment that every launch will have.

    Raises:
        LaunchError: an extent is negative, the ranks disagree, or the alignment is not a power of
            two from the element's size to 128.

    Example:
        >>> ArraySpec((64, 128), "bfloat16").strides
        (128, 1)
    """

    shape: tuple[int, ...]
    dtype: DType
    strides: tuple[int, ...] = field(default=())
    align_bytes: int = _MAX_ALIGN_BYTES

    def __init__(
        self,
        shape: Sequence[int],
        dtype: object,
        *,
        strides: Sequence[int] | None = None,
        align_bytes: int = _MAX_ALIGN_BYTES,
    ) -> None:
        extents = tuple(shape)
        steps = _contiguous(extents) if strides is None else tuple(strides)
        element = as_dtype(dtype)
        if any(extent < 0 for extent in extents):
            raise LaunchError(f"shape must not be negative, found {extents}")
        if len(steps) != len(extents):
            raise LaunchError(f"shape has {len(extents)} dimensions, strides have {len(steps)}")
        powers = [2**k for k in range(8) if 2**k >= element.itemsize_bytes]
        if align_bytes not in powers:
            raise LaunchError(f"align_bytes must be one of {powers}, found {align_bytes}")
        for name, value in (
            ("shape", extents),
            ("dtype", element),
            ("strides", steps),
            ("align_bytes", align_bytes),
        ):
            object.__setattr__(self, name, value)

    @property
    def memory_layout(self) -> tuple[str, tuple[int, ...], tuple[int, ...], int]:
        """What the runtime reads: dtype, shape, strides, alignment."""
        return self.dtype.short, self.shape, self.strides, self.align_bytes


def _contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= extent
    return tuple(strides)
