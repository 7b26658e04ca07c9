"""Dtypes: their facts against NumPy's and ml_dtypes', and the way from other libraries' dtypes."""

import ml_dtypes
import numpy as np
import pytest

import tilec as tl
from tilec.lang.dtypes import DTYPES, as_dtype


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtype_limits_match_numpy(dtype):
    if dtype.is_float and dtype is not tl.tfloat32:
        info = ml_dtypes.finfo(dtype.numpy)
        assert (float(info.max), float(info.min)) == (dtype.largest, dtype.smallest)
        assert (info.nmant + 1, info.bits) == (dtype.significand_bits, dtype.bits)
    elif dtype.is_integer:
        info = np.iinfo(dtype.numpy)
        assert (info.max, info.min, info.bits) == (dtype.largest, dtype.smallest, dtype.bits)
    assert dtype.numpy.itemsize == dtype.itemsize_bytes


class _TorchLike:
    """torch dtypes are told by their name alone."""

    def __str__(self):
        return "torch.bfloat16"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (tl.float16, tl.float16),
        (bool, tl.bool_),
        (int, tl.int32),
        (float, tl.float32),
        ("float8_e5m2", tl.float8_e5m2),
        (np.float32, tl.float32),
        (np.dtype("u8"), tl.uint64),
        (np.bool_, tl.bool_),
        (np.dtype(ml_dtypes.float8_e4m3fn), tl.float8_e4m3fn),
        (ml_dtypes.bfloat16, tl.bfloat16),
        (_TorchLike(), tl.bfloat16),
    ],
)
def test_as_dtype_known_name_found(given, expected):
    assert as_dtype(given) is expected


def test_as_dtype_complex_refused():
    with pytest.raises(tl.TypeMismatchError) as error:
        as_dtype(np.dtype("complex64"))
    assert str(error.value) == (
        "unknown dtype dtype('complex64'): expected one of bool, int8, int16, int32, int64, uint8, "
        "uint16, uint32, uint64, float16, bfloat16, float32, float64, tfloat32, float8_e4m3fn, "
        "float8_e5m2"
    )


def test_as_dtype_swapped_bytes_refused():
    with pytest.raises(tl.TypeMismatchError) as error:
        as_dtype(np.dtype(">f4"))
    assert str(error.value) == (
        "dtype >f4 is not in native byte order\n"
        "   = hint: convert the array first: x.astype(x.dtype.newbyteorder('='))"
    )
