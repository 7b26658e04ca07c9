"""The types of kernels' parameters for given arrays, with every fact that a launch would prove."""

import numpy as np

INDEX_BITS, ALIGNMENT = 32, 16


def power_of_two(value: int, most: int) -> int:
    """The largest power of two up to `most` that divides `value`."""
    return min(value & -value, most) if value else most


def view(array: np.ndarray, element: str, access: str) -> str:
    strides = [stride // array.itemsize for stride in array.strides]
    texts = ", ".join("1" if stride == 1 else "?" for stride in strides)
    divisible = [power_of_two(size, 16) for size in array.shape]
    aligned = [power_of_two(stride, 128) for stride in array.strides]
    return (
        f"!tile.view<{'?x' * array.ndim}{element}, strides = [{texts}], divisible = {divisible}, "
        f"stride_align = {aligned}, align = {power_of_two(array.ctypes.data, ALIGNMENT)}, "
        f"index = {INDEX_BITS}, {access}>"
    )


def partition(array: np.ndarray, element: str, tile) -> str:
    extents = "x".join(map(str, tile))
    return f"!tile.partition<{extents} of {view(array, element, 'exclusive')}>"
