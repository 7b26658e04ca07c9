"""Products whose depth CTAs share through a workspace, run thread by thread in any order."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from simt import Machine
from tilec_cases.launches import Launch
from tilec_cases.nearly_products import BF16, F16, F32, I8, I32, plain

import tilec as tl
from tilec.execute import execute

SHARED_BYTES = 200 * 1024
NAN_BITS = 0x7FC00000


class WorkspaceMachine(Machine):
    """A CTA of those that share tiles; the others run before and after it."""

    def op_scf_if(self, op, condition):
        if not self.active.all() or np.any(condition != condition[0]):
            return super().op_scf_if(op, condition)
        regions = [region for region in op.regions if len(region.blocks)]
        number = 0 if condition[0] else 1
        results = self.run_block(regions[number].blocks[0]) if number < len(regions) else []
        return results[0] if len(results) == 1 else results

    def op_llvm_inline_asm(self, op, *operands):
        text = op.attributes["asm_string"].value
        if "atom.acq_rel.gpu.global.inc" in text:
            return self.arrive(*operands)
        if form := re.fullmatch(r"st\.global(?:\.v(\d))?\.b32 \[\$0\+(\d+)\], .*;", text):
            address, words = operands[0] + int(form[2]), operands[1:]
            assert not np.any(address % (4 * len(words))), "unaligned global write"
            return self.store_global(address, words, None, 4 * len(words)) or []
        if form := re.fullmatch(r"ld\.relaxed\.gpu\.global(?:\.v(\d))?\.b32 .*\+(\d+)\];", text):
            words = int(form[1] or 1)
            return self.load_global(operands[0] + int(form[2]), None, (), words, 4 * words)
        return super().op_llvm_inline_asm(op, *operands)

    def arrive(self, thread, address, most, barrier, threads):
        assert self.active.all() and np.all(threads == self.threads) and np.all(barrier == 0)
        (first,) = np.flatnonzero(thread == 0)
        buffer, offset = self.where(address[first])
        count = int(buffer.read(offset, 4).view(np.int32)[0])
        is_last = count == most[0]
        buffer.write(offset, np.array([0 if is_last else count + 1], np.int32).view(np.uint8))
        return np.full(self.threads, is_last, np.int32)


class Shared:
    """A launch that was compiled to share tiles, with its workspace."""

    def __init__(self, case, parts, target):
        from tilec._mlir._mlir_libs import _tilec

        self.case, self.parts = case, parts
        plan = {"schedule": "sync", "split_k": parts, "split_by": "workspace"}
        passes = [
            "--tilec-tile",
            f"--tilec-tilegpu=target={target} plan={{{json.dumps(plan, separators=(',', ':'))}}}",
            "--convert-tilegpu-to-nvvm",
            "--cse",
        ]
        command = [sys.executable, "-m", "tilec.opt", "-", *passes]
        text = _tilec.print_module(case.bytecode())
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        self.module = done.stdout
        self.tiles = case.programs()
        quoted = re.search(r'tilec.plan = "(.*?)"[,}]', self.module)[1]
        self.plan = json.loads(quoted.replace("\\22", '"').replace('\\"', '"'))
        words = self.tiles * self.plan["workspace"]["bytes"] // 4
        self.memory = np.full(words, NAN_BITS, np.int32)
        self.counters = np.zeros(self.tiles * self.plan["workspace"]["counters"], np.int32)

    def run(self, order):
        """Run the CTAs in an order, and return the output."""
        from tilec._mlir import ir

        arguments = self.case.flat()
        with ir.Context():
            parsed = ir.Module.parse(self.module)
            (function,) = (op for op in parsed.body.operations if op.operation.name == "llvm.func")
            for cta in order:
                given = [*self.flat(arguments), self.memory, self.counters]
                WorkspaceMachine(self.plan["threads"], SHARED_BYTES, cta).run(function, given)
        return arguments[0]

    @staticmethod
    def flat(arguments):
        for argument in arguments:
            yield argument
            yield from argument.shape
            yield from (step for s in argument.strides if (step := s // argument.itemsize) != 1)


@tl.kernel
def added_to(c, a, b, *, tk: tl.Constant[int] = 32):
    i, j = c.index
    tm, tn = c.tile_shape
    acc = tl.zeros((tm, tn), tl.float32)
    for k in range(a.num_tiles(1, tk)):
        acc = tl.mma(a.load((i, k), (tm, tk)), b.load((k, j), (tk, tn)), acc)
    c.store(c.load() + acc)


CASES = {
    "bf16": (plain, (32, 32), BF16, F32, {"tk": 32}),
    "rows": (plain, (64, 16), BF16, BF16, {"tk": 32}),
    "f16": (plain, (16, 64), F16, F16, {"tk": 32}),
    "f32": (plain, (4, 8), F32, F32, {"tk": 16}),
    "int8": (plain, (32, 32), I8, I32, {"tk": 32, "acc_t": tl.int32}),
    "in place": (added_to, (32, 32), BF16, F32, {}),
}


def launch_of(rng, name, m, n, k):
    kernel, tile, operand, output, constants = CASES[name]

    def some(*shape, dtype):
        if dtype.kind == "i":
            return rng.integers(-100, 100, shape).astype(dtype)
        return rng.standard_normal(shape).astype(dtype)

    c = some(m, n, dtype=output)
    arrays = tl.partition(c, tile), some(m, k, dtype=operand), some(k, n, dtype=operand)
    return Launch(kernel, arrays, constants)


@pytest.mark.parametrize(
    ("name", "parts", "target"),
    [
        *((name, 3, "sm_80") for name in CASES),
        ("bf16", 2, "sm_80"),
        ("int8", 16, "sm_80"),
        ("f32", 16, "sm_80"),
        ("bf16", 7, "sm_89"),
        ("in place", 3, "sm_90a"),
    ],
)
def test_sums_are_right_and_the_same_in_any_order(rng, name, parts, target):
    m, n, k = (9, 12, 100) if name == "f32" else (40, 40, 200)  # some of 16 parts are empty
    case = launch_of(rng, name, m, n, k)
    shared = Shared(case, parts, target)
    ctas = shared.tiles * parts
    first = shared.run(range(ctas))
    assert not shared.counters.any()
    again = shared.run(rng.permutation(ctas))  # over what the first has left
    assert again.tobytes() == first.tobytes()
    assert not shared.counters.any()
    expected = case.flat()
    execute(case.bytecode(), expected)
    exact, found = (array.astype(np.float64) for array in (expected[0], first))
    if first.dtype.kind == "i":
        np.testing.assert_array_equal(first, expected[0])
    unit = {BF16: 2.0**-8, F16: 2.0**-11}.get(first.dtype, 2.0**-20)
    assert (np.abs(found - exact) <= 2 * unit * (np.abs(exact) + np.sqrt(k))).all()


def test_one_kernel_leaves_what_the_next_needs(rng):
    """Tiles and parts of another number use the same memory."""
    large = Shared(launch_of(rng, "bf16", 70, 40, 100), 4, "sm_80")
    small = Shared(launch_of(rng, "in place", 40, 20, 100), 3, "sm_80")
    small.memory, small.counters = large.memory, large.counters
    alone = small.run(range(small.tiles * 3)).tobytes()
    large.run(range(large.tiles * 4))
    assert small.run(range(small.tiles * 3)).tobytes() == alone


def test_elements_of_a_thread_lie_side_by_side(rng):
    module = Shared(launch_of(rng, "bf16", 40, 50, 200), 4, "sm_80").module
    assert len(re.findall(r"st\.global\.v4\.b32 ", module)) == 2
    assert "ld.relaxed.gpu.global.v4.b32" in module
