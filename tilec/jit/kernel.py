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
from tilec.diagnostics import LaunchError, TilecError, TraceError
from tilec.jit import contract, guards
from tilec.jit.advice import Adviser
from tilec.jit.cache import Request
from tilec.jit.entry import Entry
from tilec.jit.job import CompileJob
from tilec.jit.parameters import parameters_of
from tilec.jit.planning import Planned, Planner, disk_cache
from tilec.jit.specialize import signature_of
from tilec.lang.emit import is_tracing
from tilec.trace.options import KernelOptions
from tilec.trace.signature import Signature

if TYPE_CHECKING:
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

    def request(self, *args: Any, target: str, **kwargs: Any) -> Request:
        """Bind arguments as a launch does, and return what the cache is asked for.

        Arrays in host memory and ``ArraySpec`` stand for arrays on a GPU; nothing runs.
        """
        specs, _ = self._specialize(*args, **kwargs)
        signature = signature_of(specs)
        if signature.tile_rank() is None:
            return self._request(signature, target)
        shapes = self._shapes(*args, **kwargs)
        planned = self._choose(signature, shapes, Target.parse(target))
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
    ) -> Planned:
        """Return the tile of ``tl.AUTO``."""
        return self.planner.plan(signature, shapes, target, multiprocessors)

    def explain(self, *args: Any, target: str, **kwargs: Any) -> dict[str, Any] | None:
        """Return how the tile of ``tl.AUTO`` comes about; None when the author chose the tile.

        Returns:
            ``tile``, ``decisions``, ``reasons``, ``chosen`` and ``candidates``, each of these with
            its tile, schedule, predicted cycles and why it was rejected.
        """
        specs, _ = self._specialize(*args, **kwargs)
        signature = signature_of(specs)
        if signature.tile_rank() is None:
            return None
        shapes = self._shapes(*args, **kwargs)
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
        from tilec.compiler.phases import PHASES

        if target is None:
            _, device = self._specialize(*args, **kwargs)
            if device is None:
                raise LaunchError(
                    f"{self.name} cannot be compiled: the arguments are not on a GPU and there is "
                    "no target",
                    hint='name one: compile(..., target="sm_90a")',
                )
            target = _target_of(device)
        job = CompileJob(
            self.request(*args, target=target, **kwargs),
            PHASES if phases is None else tuple(phases),
            explain=True,
        )
        compiled = job.build(job.trace())
        self.check_contract(job.request, compiled.metadata())
        return compiled

    def check_contract(self, request: Request, facts: Mapping[str, Any]) -> None:
        """Refuse machine code that does not keep the kernel's contract.

        Args:
            request: what was compiled.
            facts: the metadata of the result.

        Raises:
            CompileError: a feature that ``require`` names is not used, or more is spilled than
                ``max_spills`` allows.
        """
        target = Target.parse(request.target)
        adviser = Adviser(self.planner, self.parameter_names, request.signature, target)
        contract.check(request, facts, adviser)

    def _request(self, signature: Signature, target: str, plan: str | None = None) -> Request:
        return Request(self.function, self.name, signature, target, self.options, plan)

    def _plan(
        self, specs: tuple[Any, ...], shapes: tuple[tuple[int, ...], ...], device: int | None
    ) -> tuple[tuple[int, ...], str]:
        """Return tile and decisions for shapes not seen before: the runtime's miss."""
        try:
            planned = self._planned(specs, shapes, device)
        except TilecError as error:  # says itself where; the way through tilec would hide it
            raise error.with_traceback(None) from error.__cause__
        return planned.tile, planned.decisions or ""

    def _planned(
        self, specs: tuple[Any, ...], shapes: tuple[tuple[int, ...], ...], device: int | None
    ) -> Planned:
        signature = signature_of(specs)
        if device is None:
            return self._choose(signature, shapes, Target.parse(_HOST_PLANS))
        target, multiprocessors = Target.parse(_target_of(device)), _multiprocessors_of(device)
        return self._choose(signature, shapes, target, multiprocessors)

    def _resolve(
        self, specs: tuple[Any, ...], device: int | None, decisions: str = ""
    ) -> tuple[object, tuple[guards.Guard, ...]]:
        """Return what to run for arguments not seen before: the runtime's miss."""
        try:
            return self._resolved(specs, device, decisions or None)
        except TilecError as error:  # as above
            raise error.with_traceback(None) from error.__cause__

    def _resolved(
        self, specs: tuple[Any, ...], device: int | None, plan: str | None
    ) -> tuple[object, tuple[guards.Guard, ...]]:
        signature = signature_of(specs)
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
        entry = disk_cache().obtain(request, CompileJob(request)).entry
        self.check_contract(request, entry.metadata)
        return entry

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
    num_warps: int | None = None,
    num_stages: int | None = None,
    require: str | Iterable[str] = (),
    max_spills: int | None = None,
) -> Callable[[Callable[..., None]], Kernel]: ...


def kernel(
    function: Callable[..., None] | None = None,
    /,
    *,
    num_warps: int | None = None,
    num_stages: int | None = None,
    require: str | Iterable[str] = (),
    max_spills: int | None = None,
) -> Kernel | Callable[[Callable[..., None]], Kernel]:
    """Make a kernel of a function that computes one output tile.

    Args:
        function: the function, when used without parentheses.
        num_warps: how many warps run a program; the compiler's choice by default.
        num_stages: how many buffers a software pipeline has; the compiler's choice by default.
        require: features that the machine code must use (``"wgmma"``, ``"tma"`` …): compiling
            for a GPU is an error where it does not.
        max_spills: bytes of registers that a thread may spill to memory, checked likewise; any
            number by default.

    Raises:
        LaunchError: a hint is out of range, or ``require`` names no feature.
        TraceError: what is decorated is not a plain function with named parameters.
    """
    options = checked_options(
        KernelOptions(num_warps, num_stages, contract.required(require), max_spills)
    )

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


def checked_options(options: KernelOptions) -> KernelOptions:
    """Refuse hints and limits out of range.

    Raises:
        LaunchError: one is.
    """
    if options.num_warps not in (None, 1, 2, 4, 8, 16, 32):
        raise LaunchError(
            f"num_warps must be a power of two from 1 to 32, found {options.num_warps!r}"
        )
    stages = options.num_stages
    if stages is not None and (type(stages) is not int or not 1 <= stages <= 16):
        raise LaunchError(f"num_stages must be an integer from 1 to 16, found {stages!r}")
    spills = options.max_spills
    if spills is not None and (type(spills) is not int or spills < 0):
        raise LaunchError(f"max_spills must be a number of bytes from 0 on, found {spills!r}")
    return options


@functools.cache
def _target_of(device: int) -> str:
    """Return the name of the target that fits a GPU."""
    return Target.of_capability(*_runtime.device_properties(device)["capability"]).name


@functools.cache
def _multiprocessors_of(device: int) -> int:
    return _runtime.device_properties(device)["multiprocessors"]
