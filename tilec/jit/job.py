"""The work behind a cache miss: trace a kernel, compile what that gives.

The tracer and the compiler are imported here and inside the methods only, so that a hit loads
neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from tilec.jit.cache import Request
from tilec.jit.entry import Entry

if TYPE_CHECKING:
    from types import FunctionType

    from tilec.compiler.phases import Compiled, CompileOptions
    from tilec.compiler.target import Target
    from tilec.trace.tracer import Traced


@dataclass(frozen=True)
class CompileJob:
    """What ``DiskCache.obtain`` calls when it has nothing.

    Attributes:
        request: the kernel and its specialization.
        phases: phases whose text ``build`` keeps.
        explain: whether ``build`` keeps what the compiler decided.
    """

    request: Request
    phases: tuple[str, ...] = ()
    explain: bool = False

    def trace(self) -> Traced:
        """Trace the kernel.

        Raises:
            TraceError: its Python code does something that cannot be traced.
        """
        from tilec.trace.tracer import trace

        request = self.request
        function = cast("FunctionType", request.function)
        return trace(function, request.name, request.signature, request.options)

    def ir_key(self, traced: Traced) -> str:
        """Return the IR key of the traced kernel."""
        from tilec.compiler.phases import ir_key

        return ir_key(traced.bytecode, self._target(), self._options())

    def build(self, traced: Traced) -> Compiled:
        """Compile the traced kernel.

        Raises:
            CompileError: it is refused, or the compiler failed.
        """
        from tilec.compiler.phases import compile_module

        return compile_module(traced.bytecode, self._target(), self._options())

    def compile(self, traced: Traced) -> Entry:
        """Compile the traced kernel to a cache entry."""
        compiled = self.build(traced)
        return Entry(compiled.plan_json, compiled.cubin, compiled.ptx, compiled.metadata())

    def summarize(self) -> str:
        """Trace the kernel, and return what a plan of tiles needs to know of it."""
        from tilec.compiler.phases import summarize

        return summarize(self.trace().bytecode)

    def _target(self) -> Target:
        from tilec.compiler.target import Target

        return Target.parse(self.request.target)

    def _options(self) -> CompileOptions:
        from tilec.compiler.phases import CompileOptions

        asked = self.request.options
        return CompileOptions(
            asked.num_warps,
            asked.num_stages,
            plan=self.request.plan,
            phases=self.phases,
            num_ctas=asked.num_ctas,
            occupancy=asked.occupancy,
            explain=self.explain,
        )
