"""One CTA of a lowered kernel on NumPy: what `convert-tilegpu-to-nvvm` made, every thread at once.

Reads the arith, scf, llvm and nvvm ops that the lowering emits and runs them on arrays with one
element a thread. Threads go in step, so a missing barrier does not change results; therefore shared
memory remembers who touched which byte since the last barrier and refuses conflicting accesses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import ml_dtypes
import numpy as np
from banks import BankStatistics
from device_functions import LOCAL_BASE, DeviceFunctions
from fragments import matrix_product, product_f64
from global_arrays import GlobalArray

import tilec.execute.executor  # noqa: F401  (registers the rules)
from tilec.execute.registry import PURE_HANDLERS

LANES = 32
FLOATS = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2": ml_dtypes.float8_e5m2,
}
MULTIPLICANDS = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "tf32": np.float32,
    "s8": np.int8,
    "u8": np.uint8,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
}
GLOBAL_STEP = 1 << 32  # distance of the arguments' addresses


def dtype_of(text: str) -> np.dtype:
    if text in FLOATS:
        return np.dtype(FLOATS[text])
    if text == "i1":
        return np.dtype(np.bool_)
    if text == "index" or text.startswith("!llvm.ptr"):
        return np.dtype(np.int64)
    return np.dtype(f"int{text.removeprefix('i')}")


@dataclass
class SharedMemory:
    """Bytes, and the threads that wrote and read each since the last barrier."""

    data: np.ndarray
    writer: np.ndarray = field(init=False)
    reader: np.ndarray = field(init=False)

    NOBODY, SEVERAL = -1, -2

    def __post_init__(self):
        self.barrier()

    def barrier(self):
        self.writer = np.full(len(self.data), self.NOBODY)
        self.reader = np.full(len(self.data), self.NOBODY)

    def read(self, address: int, count: int, thread: int) -> np.ndarray:
        where = slice(address, address + count)
        assert 0 <= address <= len(self.data) - count, f"shared read outside: {address}"
        writers = self.writer[where]
        assert np.all((writers == self.NOBODY) | (writers == thread)), (
            "shared memory read without a barrier"
        )
        readers = self.reader[where]
        readers[(readers != self.NOBODY) & (readers != thread)] = self.SEVERAL
        readers[readers == self.NOBODY] = thread
        return self.data[where]

    def write(self, address: int, data: np.ndarray, thread: int):
        where = slice(address, address + len(data))
        assert address >= 0 and address + len(data) <= len(self.data), (
            f"shared write outside: {address}"
        )
        for who in (self.writer[where], self.reader[where]):
            assert np.all((who == self.NOBODY) | (who == thread)), (
                "shared memory overwritten without a barrier"
            )
        self.writer[where] = thread
        self.data[where] = data


class Machine:
    """Runs one `llvm.func` as the CTA `block`."""

    def __init__(self, threads: int, shared_bytes: int, block: int = 0):
        self.threads, self.block = threads, block
        self.shared = SharedMemory(np.full(shared_bytes, 0xA5, np.uint8))
        self.buffers: list[GlobalArray] = []
        self.values: dict[object, object] = {}
        self.active = np.ones(threads, bool)
        self.counts: dict[str, int] = {}
        self.copies: list = []  # started since the last commit
        self.groups: list[list] = []  # committed, oldest first
        self.device = DeviceFunctions(threads)
        self.banks = BankStatistics()

    # -- running ---------------------------------------------------------------------------------

    def place(self, array):
        """Put an array into global memory; returns its address."""
        self.buffers.append(GlobalArray(array))
        return len(self.buffers) * GLOBAL_STEP + self.buffers[-1].first

    def run(self, function, arguments):
        block = function.regions[0].blocks[0]
        for formal, actual in zip(block.arguments, arguments, strict=True):
            if isinstance(actual, np.ndarray):
                actual = self.place(actual)
            self.values[formal] = np.full(self.threads, actual, dtype_of(str(formal.type)))
        self.run_block(block)

    def run_block(self, block):
        for op in block.operations:
            name = op.operation.name
            if name in ("scf.yield", "scf.condition", "llvm.return"):
                return [self.values[operand] for operand in op.operands]
            self.counts[name] = self.counts.get(name, 0) + 1
            handler = getattr(self, "op_" + name.replace(".", "_"), None)
            operation = op.operation
            operands = [self.values[operand] for operand in operation.operands]
            if handler is not None:
                results = handler(operation, *operands)
            else:
                results = elementwise(name, operation, operands)
            if len(operation.results) == 1:
                results = [results]
            for result, value in zip(operation.results, results or [], strict=True):
                self.values[result] = value
        return []

    # -- control flow ----------------------------------------------------------------------------

    def op_scf_if(self, op, condition):
        before, results = self.active, []
        branches = [condition, ~condition][: len([r for r in op.regions if len(r.blocks)])]
        for region, taken in zip(op.regions, branches, strict=False):
            self.active = before & taken
            results.append(self.run_block(region.blocks[0]))
        self.active = before
        merged = (
            [np.where(condition, yes, no) for yes, no in zip(*results, strict=True)]
            if len(op.results)
            else []
        )
        return merged[0] if len(merged) == 1 else merged

    def op_scf_for(self, op, lower, upper, step, *carried):
        body = op.regions[0].blocks[0]
        assert all(np.all(bound == bound[0]) for bound in (lower, upper, step)), "divergent loop"
        values = list(carried)
        for iteration in range(int(lower[0]), int(upper[0]), int(step[0])):
            induction, *formals = body.arguments
            self.values[induction] = np.full(self.threads, iteration, np.int64)
            self.values.update(zip(formals, values, strict=True))
            values = self.run_block(body)
        return values[0] if len(values) == 1 else values

    def op_scf_while(self, op, *carried):
        before, after = (region.blocks[0] for region in op.regions)
        values = list(carried)
        while True:
            self.values.update(zip(before.arguments, values, strict=True))
            condition, *values = self.run_block(before)
            assert np.all(condition == condition[0]), "divergent loop"
            if not condition[0]:
                return values[0] if len(values) == 1 else values
            self.values.update(zip(after.arguments, values, strict=True))
            values = self.run_block(after)

    # -- memory ----------------------------------------------------------------------------------

    def op_llvm_mlir_addressof(self, op):
        symbol = op.attributes["global_name"].value
        if symbol == "tilec_shared":
            return np.zeros(self.threads, np.int64)
        return np.full(self.threads, self.device.text_address(op, symbol))

    def op_llvm_getelementptr(self, op, base, *dynamic):
        constants = list(op.attributes["rawConstantIndices"])
        assert str(op.attributes["elem_type"].value) == "i8" and len(constants) == 1
        return base + (dynamic[0] if dynamic else constants[0])

    def op_llvm_load(self, op, address):
        dtype, count = shape_of(op.results[0].type)
        assert_aligned(op, address[self.active])
        raw = np.zeros((self.threads, dtype.itemsize * count), np.uint8)
        if self.active.all() and address[0] < GLOBAL_STEP:
            self.banks.record("load", address, raw.shape[1])
        for thread in np.flatnonzero(self.active):
            if address[thread] >= GLOBAL_STEP:
                buffer, offset = self.where(address[thread])
                raw[thread] = buffer.read(offset, raw.shape[1])
            else:
                raw[thread] = self.shared.read(int(address[thread]), raw.shape[1], thread)
        loaded = raw.view(dtype)
        return loaded if count > 1 else loaded[:, 0]

    def op_llvm_store(self, op, value, address):
        assert_aligned(op, address[self.active])
        raw = np.ascontiguousarray(value).reshape(self.threads, -1).view(np.uint8)
        if self.active.all() and address[0] < LOCAL_BASE:
            self.banks.record("store", address, raw.shape[1])
        for thread in np.flatnonzero(self.active):
            memory = self.device if address[thread] >= LOCAL_BASE else self.shared
            memory.write(int(address[thread]), raw[thread], thread)

    def op_llvm_inline_asm(self, op, *operands):
        text = op.attributes["asm_string"].value
        form = re.fullmatch(r"(?:@\$(\d+) )?(ld|st)\.global(?:\.nc)?(?:\.v(\d))?\.b(\d+) .*;", text)
        if form is None:
            return self.instruction(text, op, *operands)
        words, bits = int(form[3] or 1), int(form[4])
        count = words * bits // 8
        if form[2] == "ld":
            mask, old = (operands[1], operands[2:]) if form[1] else (None, ())
            return self.load_global(operands[0], mask, old, words, count)
        mask = operands[1 + words] if form[1] else None
        self.store_global(operands[0], operands[1 : 1 + words], mask, count)
        return []

    def load_global(self, address, mask, old, words, count):
        self.counts["ld.global"] = self.counts.get("ld.global", 0) + 1
        results = [np.array(word) for word in old] or [
            np.zeros(self.threads, np.int32) for _ in range(words)
        ]
        for thread in np.flatnonzero(self.active if mask is None else self.active & mask):
            buffer, offset = self.where(address[thread])
            raw = np.zeros(words * 4, np.uint8)
            raw[:count] = buffer.read(offset, count)
            for word, value in zip(results, raw.view(np.int32), strict=True):
                word[thread] = value
        return results[0] if words == 1 else results

    def store_global(self, address, words, mask, count):
        raw = np.stack(words, axis=1).view(np.uint8)
        for thread in np.flatnonzero(self.active if mask is None else self.active & mask):
            buffer, offset = self.where(address[thread])
            buffer.write(offset, raw[thread, :count])

    def where(self, address):
        number, offset = divmod(int(address), GLOBAL_STEP)
        return self.buffers[number - 1], offset

    # Asynchronous copies read at once but write as late as they may: when they are waited for.

    def op_nvvm_cp_async_shared_global(self, op, target, source, count=None):
        size = op.attributes["size"].value
        if self.active.all():
            self.banks.record("copy", target, size)
        for thread in np.flatnonzero(self.active):
            assert target[thread] % size == 0, "unaligned copy"
            data = np.zeros(size, np.uint8)
            inside = size if count is None else int(count[thread])
            if inside:
                buffer, offset = self.where(source[thread])
                assert offset % size == 0, "unaligned copy"
                data[:inside] = buffer.read(offset, inside, aligned=False)
            self.copies.append((int(target[thread]), data, thread))

    def op_nvvm_cp_async_commit_group(self, op):
        self.groups.append(self.copies)
        self.copies = []

    def op_nvvm_cp_async_wait_group(self, op):
        while len(self.groups) > op.attributes["n"].value:
            for target, data, thread in self.groups.pop(0):
                self.shared.write(target, data, thread)

    def op_nvvm_barrier0(self, op):
        assert np.all(self.active), "barrier in a divergent branch"
        self.shared.barrier()

    # -- functions of the device -----------------------------------------------------------------

    def op_llvm_addrspacecast(self, op, address):
        return address

    op_llvm_inttoptr = op_llvm_ptrtoint = op_llvm_addrspacecast

    def op_llvm_alloca(self, op, count):
        return self.device.allocate(int(count[0]), op.attributes["alignment"].value)

    def op_llvm_call(self, op, *operands):
        for thread in np.flatnonzero(self.active):
            arguments = [int(operand[thread]) for operand in operands]
            self.device.call(op.attributes["callee"].value, arguments, thread)
        return np.zeros(self.threads, np.int32) if len(op.results) else []

    # -- the CTA ---------------------------------------------------------------------------------

    def op_nvvm_read_ptx_sreg_tid_x(self, op):
        return np.arange(self.threads, dtype=np.int32)

    def op_nvvm_read_ptx_sreg_ctaid_x(self, op):
        return np.full(self.threads, self.block, np.int32)

    def op_nvvm_read_ptx_sreg_ctaid_y(self, op):
        return np.zeros(self.threads, np.int32)

    op_nvvm_read_ptx_sreg_ctaid_z = op_nvvm_read_ptx_sreg_ctaid_y

    def op_nvvm_shfl_sync(self, op, members, value, offset, clamp):
        lane = np.arange(self.threads) % LANES
        assert np.all(self.active)
        source = lane ^ offset if "bfly" in str(op.attributes["kind"]) else offset
        return value[np.arange(self.threads) - lane + source]

    def op_nvvm_ldmatrix(self, op, address):
        """PTX ISA, ldmatrix: lane l gets 2 elements of row (transposed: column) l/4."""
        count, transposed = op.attributes["num"].value, "col" in str(op.attributes["layout"])
        results = [np.zeros((self.threads, 2), np.int16) for _ in range(count)]
        for warp in range(0, self.threads, LANES):
            for first in range(warp, warp + 8 * count, 8):
                self.banks.record("matrix", address[first : first + 8], 16)
        for warp in range(self.threads // LANES):
            for number, result in enumerate(results):
                matrix = np.zeros((8, 8), np.int16)
                for row in range(8):
                    thread = warp * LANES + number * 8 + row
                    assert address[thread] % 16 == 0
                    raw = self.shared.read(int(address[thread]), 16, thread)
                    matrix[row] = raw.view(np.int16)
                matrix = matrix.T if transposed else matrix
                for lane in range(LANES):
                    result[warp * LANES + lane] = matrix[lane // 4, 2 * (lane % 4) :][:2]
        words = [result.view(np.int32)[:, 0] for result in results]
        return words[0] if count == 1 else words

    def op_nvvm_mma_sync(self, op, *operands):
        sizes = [int(size) for size in op.attributes["operandSegmentSizes"]]
        a, b, c = (
            operands[: sizes[0]],
            operands[sizes[0] : sizes[0] + sizes[1]],
            operands[sizes[0] + sizes[1] :],
        )
        kind = re.search(r"<(\w+)>", str(op.attributes["multiplicandAPtxType"]))[1]
        return matrix_product(a, b, c, MULTIPLICANDS[kind], MULTIPLICANDS[kind], self.threads)

    def op_nvvm_prmt(self, op, low, high, selector):
        """PTX ISA, prmt: each nibble of the selector names a byte of both words."""
        words = np.ascontiguousarray(np.stack([low, high], axis=1))
        pool = words.view(np.uint8)
        nibbles = (selector[:, None] >> np.arange(0, 16, 4)) & 15
        assert np.all(nibbles < 8), "sign replication"
        return (
            np.take_along_axis(pool, nibbles.astype(np.int64), axis=1).copy().view(np.int32)[:, 0]
        )

    def op_llvm_call_intrinsic(self, op, high, low, amount):
        assert op.attributes["intrin"].value == "llvm.fshr.i32"
        both = unsigned(high).astype(np.uint64) << np.uint64(32) | unsigned(low)
        return (both >> (unsigned(amount) % 32).astype(np.uint64)).astype(np.uint32).view(np.int32)

    def instruction(self, text, op, *operands):
        if text == "shl.b32 $0, -1, $1;":
            return np.where(operands[0] < 32, np.int32(-1) << (operands[0] & 31), np.int32(0))
        form = re.match(r"mma\.sync\.aligned\.m16n8k32\.row\.col\.f32\.(\w+)\.(\w+)\.f32", text)
        if form is None:
            form = re.match(r"mma\.sync\.aligned\.m(8|16)n8k(4|8|16)\.row\.col(\.f64){4}", text)
            assert form, f"unknown instruction {text}"
            return product_f64(int(form[1]), int(form[2]), operands, self.threads)
        a, b, c = operands[:4], operands[4:6], operands[6:]
        return matrix_product(a, b, c, MULTIPLICANDS[form[1]], MULTIPLICANDS[form[2]], self.threads)

    def op_llvm_extractvalue(self, op, struct):
        return struct[next(iter(op.attributes["position"]))]

    def op_llvm_mlir_undef(self, op):
        dtype, count = shape_of(op.results[0].type)
        return (
            np.zeros((self.threads, count), dtype) if count > 1 else np.zeros(self.threads, dtype)
        )

    def op_arith_constant(self, op):
        dtype = dtype_of(str(op.results[0].type))
        attribute = op.attributes["value"]
        value = attribute.value if hasattr(attribute, "value") else str(attribute) == "true"
        if dtype.kind == "i":
            value = int(value) & ((1 << 8 * dtype.itemsize) - 1)
            return np.full(self.threads, value, np.dtype(f"u{dtype.name}")).view(dtype)
        return np.full(self.threads, value, dtype)


def shape_of(mlir_type) -> tuple[np.dtype, int]:
    vector = re.fullmatch(r"vector<(\d+)x(\w+)>", str(mlir_type))
    return (dtype_of(vector[2]), int(vector[1])) if vector else (dtype_of(str(mlir_type)), 1)


def assert_aligned(op, address):
    assert np.all(address % op.attributes["alignment"].value == 0), "unaligned access"


# -- elementwise ---------------------------------------------------------------------------------


def unsigned(x):
    return x.view(np.dtype(f"u{x.dtype.name}")) if x.dtype.kind == "i" else x


def as_unsigned(operation):
    return lambda x, y: operation(unsigned(x), unsigned(y))


INTEGER_PREDICATES = [
    *(np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal),
    *map(as_unsigned, (np.less, np.less_equal, np.greater, np.greater_equal)),
]
BINARY = {
    **dict.fromkeys(("addi", "addf"), np.add),
    **dict.fromkeys(("subi", "subf"), np.subtract),
    **dict.fromkeys(("muli", "mulf"), np.multiply),
    **dict.fromkeys(("maximumf", "maxsi"), np.maximum),
    **dict.fromkeys(("minimumf", "minsi"), np.minimum),
    "divf": np.divide,
    "maxnumf": np.fmax,
    "minnumf": np.fmin,
    "andi": np.bitwise_and,
    "ori": np.bitwise_or,
    "xori": np.bitwise_xor,
    "shli": np.left_shift,
    "shrui": as_unsigned(np.right_shift),
    "divui": as_unsigned(np.floor_divide),
    "remui": as_unsigned(np.remainder),
}


def convert(op, value):
    return value.astype(dtype_of(str(op.results[0].type)))


def truncate(op, value):
    return (value & 1).astype(bool) if str(op.results[0].type) == "i1" else convert(op, value)


def bitcast(op, value):
    dtype, count = shape_of(op.results[0].type)
    raw = np.ascontiguousarray(value).reshape(len(value), -1).view(np.uint8).view(dtype)
    return raw if count > 1 else raw[:, 0]


def insert_element(op, vector, value, position):
    vector = np.array(vector)
    vector[:, position[0]] = value
    return vector


def multiply_add(op, x, y, z):
    wide = [value.astype(np.float64) for value in (x, y, z)]
    return (wide[0] * wide[1] + wide[2]).astype(x.dtype)


def predicate(op):
    return op.attributes["predicate"].value


OTHERS = {
    **dict.fromkeys(("arith.bitcast", "llvm.bitcast"), bitcast),
    **dict.fromkeys(("arith.extui", "arith.index_castui"), lambda op, x: convert(op, unsigned(x))),
    **dict.fromkeys(("arith.extsi", "arith.extf", "arith.truncf", "arith.index_cast"), convert),
    "arith.trunci": truncate,
    "arith.cmpi": lambda op, x, y: INTEGER_PREDICATES[predicate(op)](x, y),
    "arith.select": lambda op, condition, yes, no: np.where(condition, yes, no),
    "math.fma": multiply_add,
    "math.exp": lambda op, x: np.exp(x.astype(np.float64)).astype(x.dtype),
    "llvm.insertelement": insert_element,
    "llvm.extractelement": lambda op, vector, position: vector[:, position[0]],
}


def elementwise(name, op, operands):
    """arith, math, and the LLVM ops that take vectors apart."""
    binary = BINARY.get(name.removeprefix("arith."))
    if binary is None and name in OTHERS:
        return OTHERS[name](op, *operands)
    if binary is None:  # the CPU executor's rule for one element serves for one element a thread
        with np.errstate(all="ignore"):
            return PURE_HANDLERS[name](op)(*operands)
    with np.errstate(over="ignore", invalid="ignore"):
        return binary(*operands).astype(operands[0].dtype)
