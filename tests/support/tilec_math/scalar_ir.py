"""Runs scalar arith and math ops on NumPy arrays: each op as the GPU defines it, on many inputs.

Instructions whose error the PTX ISA only bounds are modelled as the correctly rounded result moved
by `skew` times their bound, so that a test sees both ends.
"""

from dataclasses import dataclass, field

import numpy as np

from tilec._mlir import ir

FLOATS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
INTEGERS = {"i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}

# Bounds in ulp: PTX ISA 9.0, sections 9.7.3.13 to 9.7.3.21; exp2f and rsqrtf in the CUDA C++
# Programming Guide, "Mathematical Functions".
APPROXIMATE = {
    "llvm.nvvm.ex2.approx.ftz.f32": (np.exp2, 2),
    "llvm.nvvm.ex2.approx.f32": (np.exp2, 2),
    "llvm.nvvm.rcp.approx.ftz.f": (lambda x: 1 / x, 1),
    "llvm.nvvm.sqrt.approx.f": (np.sqrt, 1),
    "llvm.nvvm.rsqrt.approx.f": (lambda x: 1 / np.sqrt(x), 2),
    "llvm.nvvm.div.full": (np.divide, 2),
}

FLOAT_PREDICATES = {
    0: lambda x, y: np.zeros(np.shape(x), bool),
    1: np.equal,
    2: np.greater,
    3: np.greater_equal,
    4: np.less,
    5: np.less_equal,
    6: lambda x, y: (x != y) & ~(np.isnan(x) | np.isnan(y)),
    7: lambda x, y: ~(np.isnan(x) | np.isnan(y)),
    13: np.not_equal,
    14: lambda x, y: np.isnan(x) | np.isnan(y),
}
INTEGER_PREDICATES = {
    0: np.equal,
    1: np.not_equal,
    2: np.less,
    3: np.less_equal,
    4: np.greater,
    5: np.greater_equal,
    6: lambda x, y: unsigned(x) < unsigned(y),
    8: lambda x, y: unsigned(x) > unsigned(y),
}


def unsigned(x):
    x = np.asarray(x)
    return x if x.dtype == bool else x.view(f"u{x.dtype.itemsize}")


def logical_shift(x, y):
    return (unsigned(x) >> unsigned(y)).view(x.dtype)


def truncating_division(x, y):
    """C's division of signed integers."""
    with np.errstate(all="ignore"):
        quotient = np.abs(x.astype(object)) // np.abs(y.astype(object))
    return np.where((x < 0) != (y < 0), -quotient, quotient).astype(x.dtype)


def two_sum(x, y):
    total = x + y
    other = total - x
    return total, (x - (total - other)) + (y - other)


def two_product(x, y):
    """The product and what rounding took from it; NaN where the halves overflow."""
    factor = np.float64(2**27 + 1)

    def halves(value):
        scaled = factor * value
        high = scaled - (scaled - value)
        return high, value - high

    product = x * y
    (x1, x2), (y1, y2) = halves(x), halves(y)
    return product, ((x1 * y1 - product) + x1 * y2 + x2 * y1) + x2 * y2


def fma(x, y, z):
    if x.dtype == np.float32:
        return (x.astype(np.float64) * y + z).astype(np.float32)
    # Scaled where the low half of the product would be subnormal.
    scale = np.where((np.abs(x * y) < 1e-250) & (np.abs(z) < 1e100), 2.0**500, 1.0)
    product, low = two_product(
        np.where(np.abs(x) < np.abs(y), x * scale, x), np.where(np.abs(x) < np.abs(y), y, y * scale)
    )
    total, rest = two_sum(product, z * scale)
    fused = (total + (rest + low)) / scale
    plain = (x.astype(np.longdouble) * y + z).astype(np.float64)
    is_zero = (fused == 0) & (x * y + z == 0)  # whose sign the sums above lose
    return np.where(np.isfinite(fused) & ~is_zero, fused, np.where(is_zero, x * y + z, plain))


UNARY = {
    "arith.negf": np.negative,
    "math.absf": np.abs,
    "math.trunc": np.trunc,
    "math.sqrt": np.sqrt,
}
BINARY = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
    "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin,
    "math.copysign": np.copysign,
    "arith.addi": np.add,
    "arith.subi": np.subtract,
    "arith.muli": np.multiply,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
    "arith.shli": np.left_shift,
    "arith.shrsi": np.right_shift,
    "arith.shrui": logical_shift,
    "arith.divsi": truncating_division,
    "arith.divui": lambda x, y: (unsigned(x) // unsigned(y)).view(x.dtype),
}


def dtype_of(type_):
    name = str(type_)
    return FLOATS.get(name) or INTEGERS.get(name) or np.int8  # 8-bit floats: their bits


@dataclass
class Interpreter:
    """Evaluates the blocks of one function.

    Attributes:
        skew: -1, 0 or 1: how far approximate instructions are off, in their bounds.
    """

    skew: int = 0
    values: dict = field(default_factory=dict)

    def run(self, block, arguments):
        """Bind a block's arguments, evaluate it, return the operands of its terminator."""
        self.values.update(zip(block.arguments, arguments, strict=True))
        with np.errstate(all="ignore"):
            for op in block.operations:
                operands = [self.values[operand] for operand in op.operands]
                if op.operation.name in ("scf.yield", "scf.condition", "tile.print"):
                    return operands
                results = self.evaluate(op.operation, operands)
                self.values.update(zip(op.results, results, strict=True))
        raise AssertionError("a block without a terminator")

    def evaluate(self, op, operands):
        name = op.name
        if name == "scf.while":
            return self.loop(op, operands)
        target = dtype_of(op.results[0].type)
        if name in UNARY:
            return [UNARY[name](*operands)]
        if name in BINARY:
            return [BINARY[name](*operands)]
        return [np.asarray(getattr(self, name.replace(".", "_"))(op, target, *operands))]

    def loop(self, op, values):
        """Every lane runs until its own condition fails."""
        before, after = (region.blocks[0] for region in op.regions)
        values = list(values)
        while True:
            goes_on, *passed = self.run(before, values)
            if not np.any(goes_on):
                return passed
            new = self.run(after, passed)
            values = [np.where(goes_on, x, y) for x, y in zip(new, passed, strict=True)]

    def arith_constant(self, op, target):
        attribute = op.attributes["value"]
        return np.array(attribute.value, target)

    def math_fma(self, op, target, x, y, z):
        return fma(*np.broadcast_arrays(x, y, z))

    def arith_cmpf(self, op, target, x, y):
        return FLOAT_PREDICATES[op.attributes["predicate"].value](x, y)

    def arith_cmpi(self, op, target, x, y):
        return INTEGER_PREDICATES[op.attributes["predicate"].value](x, y)

    def arith_select(self, op, target, condition, yes, no):
        return np.where(condition, yes, no)

    def arith_bitcast(self, op, target, x):
        return np.asarray(x).view(target)

    def arith_extf(self, op, target, x):
        return x.astype(target)

    arith_truncf = arith_trunci = arith_sitofp = arith_extf

    def arith_extui(self, op, target, x):
        return unsigned(x).astype(target)

    def llvm_call_intrinsic(self, op, target, *operands):
        name = op.attributes["intrin"].value
        function, bound = APPROXIMATE[name]
        wide = [np.asarray(operand).astype(np.float64) for operand in operands]
        if ".ftz" in name:
            wide = [np.where(np.abs(x) < 2.0**-126, np.copysign(0, x), x) for x in wide]
        exact = function(*wide)
        result = exact.astype(target)
        unit = 2.0 ** np.maximum(np.floor(np.log2(np.abs(exact))) - 23, -149)
        moved = (exact + self.skew * bound * unit).astype(target)
        # The representable number within the bound, where rounding went past it.
        nearer = np.nextafter(moved, result)
        moved = np.where(np.abs(moved - exact) > bound * unit, nearer, moved)
        moved = np.where(np.signbit(moved) == np.signbit(exact), moved, np.copysign(0, result))
        result = np.where((result == exact) | ~np.isfinite(result), result, moved)
        if ".ftz" in name:
            result = np.where(np.abs(result) < 2.0**-126, np.copysign(0, result), result)
        return result.astype(target)


def call(kernel, arguments, skew=0):
    """The operands of a kernel's `tile.print`, from arrays for its arguments."""
    block = kernel.regions[0].blocks[0]
    return Interpreter(skew).run(block, arguments)


def kernels(text):
    """The kernels of a module by name; the module is returned too, and must stay alive."""
    with ir.Context():
        module = ir.Module.parse(text)
    found = {op.attributes["sym_name"].value: op for op in module.body.operations}
    return module, found
