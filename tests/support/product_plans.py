"""Plans of a product of two matrices, whose summary is written down."""

from tilec import _runtime
from tilec.compiler.target import TARGETS
from tilec.jit import planning

HOPPER = "sm_90a"


def trip(arg, dim, by):
    return {"arg": arg, "dim": dim, "by": by, "from": 0, "step": 1}


def product_summary(element="bf16", tk=64, **changes):
    """Of ``c[m, n] = a[m, k] @ b[k, n]``, in arguments 0, 1, 2."""
    trips = [trip(1, 1, tk)]
    product = {
        "lhs": element,
        "rhs": element,
        "acc": "f32",
        "tf32": False,
        "m": {"dim": 0},
        "n": {"dim": 1},
        "k_step": tk,
        "k": {"arg": 1, "dim": 1},
        "trips": trips,
        "accumulator": 3,
        "a": {"arg": 1, "outer": 0, "k": 1, "computed": False},
        "b": {"arg": 2, "outer": 1, "k": 0, "computed": False},
    }
    return {
        "partition": 0,
        "rank": 2,
        "whole": [],
        "products": [{**product, **changes}],
        "accesses": [
            {"arg": 1, "dims": [0, None], "store": False, "trips": trips},
            {"arg": 2, "dims": [None, 1], "store": False, "trips": trips},
            {"arg": 0, "dims": [0, 1], "store": True, "trips": []},
        ],
        "computes": False,
        "tiles": [
            {"shape": [{"dim": 0}, {"dim": 1}], "bits": 32},
            {"shape": [{"dim": 0}, tk], "bits": 16},
            {"shape": [tk, {"dim": 1}], "bits": 16},
        ],
    }


def array(*shape, bits=16, order=None):
    """A dense array as its specification tells of it; ``order``: dimensions, innermost first."""
    strides, size = [0] * len(shape), bits // 8
    for dim in order or reversed(range(len(shape))):
        strides[dim], size = size, size * shape[dim]
    return {
        "shape": shape,
        "stride_align": [min(stride & -stride or 128, 128) for stride in strides],
        "unit_strides": [stride == bits // 8 for stride in strides],
        "align": 128,
        "bits": bits,
    }


def product_arrays(m, n, k, bits=16, **b):
    return [array(m, n), array(m, k, bits=bits), array(k, n, bits=bits, **b)]


def plan_of(m, n, k, target=HOPPER, summary=None, arrays=None, **options):
    return _runtime.tile_plan(
        summary or product_summary(),
        arrays or product_arrays(m, n, k),
        planning.device_of(TARGETS[target]),
        explain=True,
        **options,
    )
