"""The ``kernel`` decorator, and what happens when a kernel meets arguments it has not seen.

A launch that was seen before stays in C++ (``_runtime.Launcher``): binding, checks, variant,
driver. Anything else comes here once::

    arguments -> specification -> disk cache, or trace and compile -> variant
                               -> for host memory: trace -> program of the CPU executor
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, overload

from tilec import _runtime
from tilec.compiler.target import Target
from tilec.diagnostics import LaunchError, TilecError, TraceError, warn_of_hints
from tilec.jit import contract, guards
from tilec.jit.advice import Adviser
from tilec.jit.cache import Request
from tilec.jit.entry import Entry
from tilec.jit.grouped import GroupedKernel
from tilec.jit.hints import Hint, options_of
from tilec.jit.job import CompileJob
from tilec.jit.parameters import parameters_of
from tilec.jit.planning import Group, Planned, Planner, disk_cache
from tilec.jit.specialize import signature_of
from tilec.lang.emit import is_tracing
from tilec.trace.options import KernelOptions
from tilec.trace.signature import Signature, ViewSpec

if TYPE_CHECKING:
    from tilec.compiler.decisions import Decision
    from tilec.compiler.phases import Compiled
    from tilec.jit.tune import TunedKernel

_HOST = "host"
"""Stands for a target in requests of the CPU executor, which has none."""

_HOST_PLANS = "sm_90a"
"""The target whose plans the CPU executor follows, so that tiles are those of a GPU."""


class Kernel(_runtime.Launcher):
    """A Python function that computes one output tile, ready to be launched.

    Calling it binds the arguments, checks them, and runs one program per tile: on the GPU that
    holds the arrays, on their library's current stream, or on the CPU when they are in host
    memory. Two keywords belong to the launch: ``stream=`` (a handle or a stream object) and
    ``grid=`` (one to three integers, for a kernel without a partition). With ``stream=`` the caller
    orders the arrays' other uses, and keeps their memory until the work there is done, as
    ``Tensor.record_stream`` does for torch.

    Attributes:
        function: the Python function.
        name: its name.
        options: the author's hints and contracts.
        parameter_names: of all parameters, in order.
        constants: the parameters that are compile-time constants.
        planner: what chooses the tiles of ``tl.AUTO``.

    Raises:
        LaunchError: the arguments are refused, nothing was launched.
        TraceError: the function cannot be traced for these arguments.
        CompileError: the compiler refuses it.
        DriverError: there is no usable driver, or it failed.
    """

    __tilec_kernel__ = True  # the tracer refuses to call one kernel from another

    def __init__(self, function: FunctionType, options: KernelOptions) -> None:
        parameters = parameters_of(function)
        super().__init__(function.__name__, parameters)
        functools.update_wrapper(self, function)
        self.function: FunctionType = function
        self.name = function.__name__
        self.options = options
        self.parameter_names = tuple(parameter[0] for parameter in parameters)
        self.constants = tuple(parameter[0] for parameter in parameters if parameter[1])
        self.planner = Planner(Request(function, self.name, Signature(()), "", options))

    def __repr__(self) -> str:
        return f"<kernel {self.function.__qualname__}>"

    @property
    def grouped(self) -> GroupedKernel:
        """This kernel for lists of problems: ``matmul.grouped([(c0, a0, b0), (c1, a1, b1)])``."""
        return GroupedKernel(self)

    def request(self, *args: Any, target: str, **kwargs: Any) -> Request:
        """Bind arguments as a launch does, and return what the cache is asked for.

        Arrays in host memory and ``ArraySpec`` stand for arrays on a GPU; nothing runs.
        """
        specs, _ = self._specialize(*args, **kwargs)
        signature = signature_of(specs)
        shapes = () if signature.tile_rank() is None else self._shapes(*args, **kwargs)
        return self.request_for(signature, target, shapes)

    def request_for(
        self,
        signature: Signature,
        target: str,
        shapes: Iterable[tuple[int, ...]],
        group: Group | None = None,
    ) -> Request:
        """Return what the cache is asked for, with the tile that is planned for ``tl.AUTO``.

        Args:
            signature: the specialization.
            target: what to compile for.
            shapes: of the arrays, in flat order; in a grouped launch, their means.
            group: of a grouped launch.
        """
        if signature.tile_rank() is None:
            return self._request(signature, target)
        planned = self._choose(signature, shapes, Target.parse(target), group=group)
        return self._request(signature.with_tile(planned.tile), target, planned.decisions)

    def tune(self, *args: Any, candidates: int = 8, **kwargs: Any) -> TunedKernel:
        """Measure the best tiles of ``tl.AUTO`` on the GPU, for arguments like these.

        Args:
            *args: as in a launch.
            candidates: how many of the plan's tiles to measure, the best by its model first.
            **kwargs: as in a launch.

        Returns:
            A kernel that is launched like this one and takes the winner, kept in the disk cache,
            for shapes like these; it measures for others when it meets them.

        Raises:
            LaunchError: the arguments are refused, no partition has ``tl.AUTO``, or there is no
                GPU and no winner is kept.
        """
        from tilec.jit.tune import TunedKernel

        tuned = TunedKernel(self, None, candidates=candidates)
        tuned.tune(*args, **kwargs)
        return tuned

    def _choose(
        self,
        signature: Signature,
        shapes: Iterable[tuple[int, ...]],
        target: Target,
        multiprocessors: int | None = None,
        group: Group | None = None,
    ) -> Planned:
        """Return the tile of ``tl.AUTO``."""
        return self.planner.plan(signature, shapes, target, multiprocessors, group)

    def explain(
        self, *args: Any, target: str, as_auto: bool = False, **kwargs: Any
    ) -> dict[str, Any] | None:
        """Return how the tile of ``tl.AUTO`` comes about; None when the author chose the tile.

        Args:
            *args: as in a launch.
            target: an architecture such as ``"sm_90a"``.
            as_auto: take the author's tiles for ``tl.AUTO``, and say what they would become; None
                where they are of arrays with different shapes.
            **kwargs: as in a launch.

        Returns:
            ``tile``, ``decisions``, ``reasons``, ``chosen`` and ``candidates``, each of these with
            its tile, schedule, predicted cycles and why it was rejected.
        """
        specs, _ = self._specialize(*args, **kwargs)
        signature = signature_of(specs)
        shapes = self._shapes(*args, **kwargs)
        if as_auto:
            signature = signature.without_tile()
        if signature.tile_rank() is None or len(_shapes_of_partitions(signature, shapes)) != 1:
            return None
        return self.planner.explain(signature, shapes, Target.parse(target))

    def compile(
        self,
        *args: Any,
        target: str | None = None,
        phases: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> Compiled:
        """Compile for arguments, without a launch, a cache or a GPU.

        The result's ``asm`` has the text of each phase, its ``decisions`` say what became of each
        product, load and store, and why.

        Args:
            *args: as in a launch; ``ArraySpec`` goes wherever an array goes.
            target: an architecture such as ``"sm_90a"``; by default that of the GPU that holds
                the arrays.
            phases: whose text to keep for ``asm``; all by default.
            **kwargs: as in a launch.

        Raises:
            LaunchError: the arguments are refused, or there is no target.
            TraceError: the function cannot be traced for these arguments.
            CompileError: the compiler refuses it.
        """
        if target is None:
            target = self.target_of(self._specialize(*args, **kwargs)[1])
        return self.compile_request(self.request(*args, target=target, **kwargs), phases)

    def target_of(self, device: int | None) -> str:
        """Return the target that fits the GPU of the arguments.

        Raises:
            LaunchError: they are on none.
        """
        if device is None:
            raise LaunchError(
                f"{self.name} cannot be compiled: the arguments are not on a GPU and there is "
                "no target",
                hint='name one: compile(..., target="sm_90a")',
            )
        return _target_of(device)

    def compile_request(self, request: Request, phases: Sequence[str] | None) -> Compiled:
        """Compile what the cache would be asked for; see ``compile``."""
        from tilec.compiler.phases import PHASES

        kept = PHASES if phases is None else tuple(phases)
        job = CompileJob(request, kept, explain=True)
        compiled = job.build(job.trace())
        self.check_contract(request, compiled.metadata(), compiled.decisions)
        return compiled

    def check_contract(
        self,
        request: Request,
        facts: Mapping[str, Any],
        decisions: Sequence[Decision] | None = None,
    ) -> None:
        """Refuse machine code that does not keep the kernel's contract.

        Args:
            request: what was compiled.
            facts: the metadata of the result.
            decisions: what the compiler decided, where that is known.

        Raises:
            CompileError: a feature that ``require`` names is not used, or more is spilled than
                ``max_spills`` allows.
        """
        contract.check(request, facts, Adviser(request, decisions))

    def _request(self, signature: Signature, target: str, plan: str | None = None) -> Request:
        options = self.options.of_target(target)
        return Request(self.function, self.name, signature, target, options, plan)

    def _plan(
        self, specs: tuple[Any, ...], shapes: tuple[tuple[int, ...], ...], device: int | None
    ) -> tuple[tuple[int, ...], str]:
        """Return tile and decisions for shapes not seen before: the runtime's miss."""
        try:
            planned = self._planned(signature_of(specs), shapes, device)
        except TilecError as error:  # says itself where; the way through tilec would hide it
            raise error.with_traceback(None) from error.__cause__
        return planned.tile, planned.decisions or ""

    def _plan_group(
        self,
        specs: tuple[Any, ...],
        shapes: tuple[tuple[int, ...], ...],
        device: int | None,
        varying: tuple[tuple[bool, ...], ...],
        problems: int,
    ) -> tuple[tuple[int, ...], str]:
        """Return the same for a list of problems, of which ``shapes`` are the means."""
        signature = signature_of(specs, grouped=True)
        try:
            planned = self._planned(signature, shapes, device, Group(problems, varying))
        except TilecError as error:  # as above
            raise error.with_traceback(None) from error.__cause__
        return planned.tile, planned.decisions or ""

    def _planned(
        self,
        signature: Signature,
        shapes: tuple[tuple[int, ...], ...],
        device: int | None,
        group: Group | None = None,
    ) -> Planned:
        if device is None:
            return self._choose(signature, shapes, Target.parse(_HOST_PLANS), group=group)
        target, multiprocessors = Target.parse(_target_of(device)), _multiprocessors_of(device)
        return self._choose(signature, shapes, target, multiprocessors, group)

    def _resolve(
        self, specs: tuple[Any, ...], device: int | None, decisions: str = ""
    ) -> tuple[object, tuple[guards.Guard, ...]]:
        """Return what to run for arguments not seen before: the runtime's miss."""
        try:
            return self._resolved(signature_of(specs), device, decisions or None)
        except TilecError as error:  # as above
            raise error.with_traceback(None) from error.__cause__

    def _resolve_group(
        self, specs: tuple[Any, ...], device: int | None, decisions: str = ""
    ) -> tuple[object, tuple[guards.Guard, ...]]:
        """Return the same for a list of problems, which the CPU runs one after the other."""
        signature = signature_of(specs, grouped=device is not None)
        try:
            return self._resolved(signature, device, decisions or None)
        except TilecError as error:  # as above
            raise error.with_traceback(None) from error.__cause__

    def _resolved(
        self, signature: Signature, device: int | None, plan: str | None
    ) -> tuple[object, tuple[guards.Guard, ...]]:
        # Before tracing: a global that changes in between then costs a needless miss at worst.
        outside = guards.collect(self.function, signature)
        if device is None:
            return self._host_program(signature), outside
        request = self._request(signature, _target_of(device), plan)
        entry = self._obtain(request)
        ptx = entry.ptx.encode()
        return _runtime.Variant(entry.cubin or ptx, entry.plan, ptx), outside

    def _obtain(self, request: Request) -> Entry:
        """Return the machine code, which keeps the kernel's contract."""
        found = disk_cache().obtain(request, CompileJob(request))
        if found.origin != "compiled":  # else it has been told
            warn_of_hints(found.entry.metadata.get("warnings", ()))
        self.check_contract(request, found.entry.metadata)
        return found.entry

    def _host_program(self, signature: Signature) -> Callable[[list[Any], Any], None]:
        from tilec.execute import execute

        bytecode = CompileJob(self._request(signature, _HOST)).trace().bytecode

        def program(arguments: list[Any], grid: tuple[int, int, int] | None) -> None:
            execute(bytecode, arguments, grid=grid)

        return program


@overload
def kernel(function: Callable[..., None], /) -> Kernel: ...


@overload
def kernel(
    *,
    num_warps: Hint = None,
    num_stages: Hint = None,
    num_ctas: Hint = None,
    occupancy: Hint = None,
    require: str | Iterable[str] = (),
    max_spills: int | None = None,
) -> Callable[[Callable[..., None]], Kernel]: ...


def kernel(
    function: Callable[..., None] | None = None,
    /,
    *,
    num_warps: Hint = None,
    num_stages: Hint = None,
    num_ctas: Hint = None,
    occupancy: Hint = None,
    require: str | Iterable[str] = (),
    max_spills: int | None = None,
) -> Kernel | Callable[[Callable[..., None]], Kernel]:
    """Make a kernel of a function that computes one output tile.

    Args:
        function: the function, when used without parentheses.
        num_warps: how many warps of a CTA compute (one that only fetches comes on top), a power of
            two or 12, which on Hopper are three warpgroups that share a tile of 192 rows. This and
            the other hints are the compiler's choice by default; they are one number, or numbers
            by target: ``{"sm_80": 4, "sm_90a": 8}``.
        num_stages: how many buffers a software pipeline has.
        num_ctas: how many CTAs make a cluster, and fetch tiles for each other.
        occupancy: how many CTAs a multiprocessor should hold at a time; leaves each thread fewer
            registers.
        require: features that the machine code must use (``"wgmma"``, ``"tma"`` …): compiling
            for a GPU is an error where it does not.
        max_spills: bytes of registers that a thread may spill to memory, checked likewise; any
            number by default.

    Raises:
        LaunchError: a hint is out of range, or ``require`` names no feature.
        TraceError: what is decorated is not a plain function with named parameters.

    Warns:
        HintWarning: when compiling, that a hint cannot be honoured; says which and why.
    """
    hints = {
        "num_warps": num_warps,
        "num_stages": num_stages,
        "num_ctas": num_ctas,
        "occupancy": occupancy,
    }
    options = options_of(hints, contract.required(require), max_spills)

    def decorate(function: Callable[..., None]) -> Kernel:
        if is_tracing():
            raise TraceError(
                "a kernel is defined inside a kernel",
                hint="define it outside, or share code in a plain function",
            )
        if not isinstance(function, FunctionType):
            raise TraceError(f"a kernel must be a plain function, found {function!r}")
        return Kernel(function, options)

    return decorate if function is None else decorate(function)


def _shapes_of_partitions(
    signature: Signature, shapes: Iterable[tuple[int, ...]]
) -> set[tuple[int, ...]]:
    views = [spec for spec in signature.runtime() if isinstance(spec, ViewSpec)]
    return {shape for spec, shape in zip(views, shapes, strict=True) if spec.tile_shape}


@functools.cache
def _target_of(device: int) -> str:
    """Return the name of the target that fits a GPU."""
    return Target.of_capability(*_runtime.device_properties(device)["capability"]).name


@functools.cache
def _multiprocessors_of(device: int) -> int:
    return _runtime.device_properties(device)["multiprocessors"]
