"""A builder whose work is cheap and counted: what the cache's tests put behind a miss."""

import hashlib
import json
import os
import time
from pathlib import Path

from tilec.jit.cache import Request
from tilec.jit.entry import Entry
from tilec.trace.signature import Signature


def kernel(x):
    return x


def request(function=kernel, target="sm_90a", **changes):
    return Request(function, function.__name__, Signature(()), target, **changes)


class Builder:
    """Traces a function to its own bytecode; leaves a mark in a directory for each compilation."""

    def __init__(self, function=kernel, marks=None, compile_s=0.0, size_bytes=1000):
        self.function = function
        self.marks = marks
        self.compile_s = compile_s
        self.size_bytes = size_bytes
        self.traced = self.compiled = 0

    def trace(self):
        self.traced += 1
        return self.function.__code__

    def ir_key(self, traced):
        return hashlib.sha256(traced.co_code + repr(traced.co_consts).encode()).hexdigest()

    def compile(self, traced):
        self.compiled += 1
        time.sleep(self.compile_s)
        if self.marks:
            Path(self.marks, f"{self.ir_key(traced)}.{os.getpid()}").touch()
        cubin = hashlib.sha256(traced.co_code + repr(traced.co_consts).encode()).digest()
        plan = {"version": 1, "symbol": traced.co_name, "target": "sm_90a"}
        content = cubin * (self.size_bytes // len(cubin))
        return Entry(json.dumps(plan), content, f"// {traced.co_name}", {"assembler": "none 1.0"})
