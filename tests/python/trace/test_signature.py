"""Signatures: flat order of the run-time arguments, the dtype in which scalars travel."""

import pytest

import tilec as tl
from tilec.trace.signature import (
    ConstantSpec,
    ScalarSpec,
    Signature,
    TupleSpec,
    ViewSpec,
    scalar_dtype,
)

VIEW = ViewSpec(tl.float16, 1, "read", (True,), (16,), (2,), 128, 32)


def test_runtime_nested_tuples_depth_first():
    scalar, other = ScalarSpec(tl.int32), ScalarSpec(tl.float32)
    signature = Signature((scalar, TupleSpec((VIEW, ConstantSpec(3), TupleSpec((other,)))), VIEW))
    assert list(signature.runtime()) == [scalar, VIEW, other, VIEW]
    assert hash(signature) == hash(Signature(signature.specs))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, tl.bool_),
        (0, tl.int32),
        (2**31 - 1, tl.int32),
        (2**31, tl.int64),
        (-(2**31) - 1, tl.int64),
        (2**63, tl.uint64),
        (1.5, tl.float32),
    ],
)
def test_scalar_dtype_value_smallest_that_fits(value, expected):
    assert scalar_dtype(value) is expected


def test_scalar_dtype_too_large_refused():
    with pytest.raises(OverflowError, match="18446744073709551616 fits neither int64 nor uint64"):
        scalar_dtype(2**64)
