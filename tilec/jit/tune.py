"""``tl.tune``: measure a few ways to compile a kernel, and keep the fastest.

::

    launch -> bucket of its shapes -> winner in memory, or in the disk cache
                                   -> compile all candidates in threads, time them, keep the best
           -> the winner's own kernel, which launches as any other
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, cast

from tilec import _runtime
from tilec.compiler.target import Target
from tilec.diagnostics import CompilerFault, LaunchError, TilecError
from tilec.jit.cache import Request
from tilec.jit.configurations import Configuration, configurations_of
from tilec.jit.entry import Entry
from tilec.jit.kernel import Kernel
from tilec.jit.planning import Group, Planned, disk_cache
from tilec.jit.progress import Progress
from tilec.jit.specialize import signature_of
from tilec.trace.captures import value_digest
from tilec.trace.signature import Signature, Spec, TupleSpec, ViewSpec

_LAUNCH_KEYWORDS = ("stream", "grid")


@dataclass(frozen=True)
class Winner:
    """What tuning found.

    Attributes:
        configuration: how to compile the kernel.
        median_us: how long its launch took.
        candidates: among how many it is the fastest.
    """

    configuration: Configuration
    median_us: float
    candidates: int


class PinnedKernel(Kernel):
    """A kernel compiled in one way: tuning's candidates, and its winners."""

    def __init__(self, base: Kernel, configuration: Configuration) -> None:
        super().__init__(base.function, base.options.with_hints(configuration.hints))
        self.configuration = configuration
        self._entries: dict[Request, Entry] = {}

    def prepare(self, *args: Any, target: str, multiprocessors: int, **kwargs: Any) -> None:
        """Compile for a launch, so that the launch itself need not.

        Raises:
            TilecError: the kernel cannot be compiled in this way.
        """
        specs, _ = self._specialize(*args, **kwargs)
        signature, plan = signature_of(specs), None
        if signature.tile_rank() is not None:
            shapes = self._shapes(*args, **kwargs)
            planned = self._choose(signature, shapes, Target.parse(target), multiprocessors)
            signature, plan = signature.with_tile(planned.tile), planned.decisions
        request = self._request(signature, target, plan)
        self._entries[request] = super()._obtain(request)

    def _choose(
        self,
        signature: Signature,
        shapes: Iterable[tuple[int, ...]],
        target: Target,
        multiprocessors: int | None = None,
        group: Group | None = None,
    ) -> Planned:
        return self.configuration.planned or super()._choose(
            signature, shapes, target, multiprocessors, group
        )

    def _obtain(self, request: Request) -> Entry:
        # Once: what is asked for again has been found to be out of date.
        ready = self._entries.pop(request, None)
        return super()._obtain(request) if ready is None else ready


class TunedKernel:
    """A kernel that is launched like any other, and measures how to compile it first.

    The first launch with shapes of a new bucket on a kind of GPU compiles and times the candidates,
    unless the disk cache knows the winner. NumPy arrays run the first candidate on the CPU
    executor.

    Attributes:
        kernel: the kernel.
        name: its name.
    """

    __tilec_kernel__ = True  # as for Kernel

    def __init__(
        self,
        base: Kernel,
        configs: Iterable[Mapping[str, Any]] | None,
        *,
        key: Sequence[str] = (),
        candidates: int = 8,
    ) -> None:
        functools.update_wrapper(self, base.function)
        self.kernel = base
        self.name = base.name
        self._parameters = inspect.signature(base.function)
        self._configurations = (
            None if configs is None else configurations_of(base.name, configs, base.constants)
        )
        self._key = _checked_key(base, key)
        self._candidates = _checked_count(candidates)
        self._winners: dict[Hashable, Winner] = {}
        self._pinned: dict[Any, PinnedKernel] = {}
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        return f"<tuned {self.kernel!r}>"

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Launch; see ``Kernel``.

        Raises:
            LaunchError: the arguments are refused, nothing was launched.
            CompileError: the compiler refuses every candidate.
        """
        launch = self._bound(args, kwargs)
        if launch.device is None or launch.is_empty:
            self._kernel_of(launch.first)(*args, **launch.first.constants, **kwargs)
            return
        configuration = self._found(launch).configuration
        self._kernel_of(configuration)(*args, **configuration.constants, **kwargs)

    def tune(self, *args: Any, device_name: str | None = None, **kwargs: Any) -> Winner:
        """Return the winner for arguments like these: the one that is kept, or else measured now.

        Args:
            *args: as in a launch; without a GPU, ``ArraySpec`` and NumPy arrays stand for arrays
                on one.
            device_name: the GPU to look a winner up for where there is none, as the driver spells
                it: ``"NVIDIA H200"``.
            **kwargs: as in a launch.

        Raises:
            LaunchError: the arguments are refused, or there is no GPU and no winner is kept.
            CompileError: the compiler refuses every candidate.
        """
        launch = self._bound(args, kwargs)
        if launch.is_empty:
            raise LaunchError(f"{self.name} cannot be tuned: the launch has no programs")
        if launch.device is not None:
            return self._found(launch)
        if device_name is None:
            raise LaunchError(
                f"{self.name} cannot be tuned: the arguments are not on a GPU",
                hint='a winner that is kept is found by device_name="NVIDIA H200", say',
            )
        winner = self._kept(launch, device_name)
        if winner is None:
            raise LaunchError(
                f"{self.name} cannot be tuned: the arguments are not on a GPU, and no winner is "
                f"kept for {device_name} and shapes like these"
            )
        return winner

    # -- what a launch is ---------------------------------------------------------------------

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Launch:
        first = self._configurations[0] if self._configurations else Configuration()
        for name in first.constants:
            if name in kwargs:
                raise LaunchError(f"{self.name}: {name} is tuned, a launch does not give it")
        filled = {**kwargs, **first.constants}
        specs, device = self.kernel._specialize(*args, **filled)  # pyright: ignore[reportPrivateUsage]
        shapes = self.kernel._shapes(*args, **filled)  # pyright: ignore[reportPrivateUsage]
        signature = signature_of(specs)
        self._check_tile(signature)
        launch = _Launch(args, kwargs, signature, shapes, device, first)
        launch.bucket = self._bucket(launch)
        return launch

    def _check_tile(self, signature: Signature) -> None:
        tiled = self._configurations is None or any(c.planned for c in self._configurations)
        if tiled and signature.tile_rank() is None:
            raise LaunchError(
                f"{self.name} is tuned over tiles, but no partition leaves its tile open",
                hint="launch it with tl.partition(y, tl.AUTO)",
            )

    def _bucket(self, launch: _Launch) -> tuple[Any, ...]:
        """Return what launches share that share a winner, beside specialization and device."""
        if not self._key:
            return tuple(tuple(map(_power_above, shape)) for shape in launch.shapes)
        values = self._arguments(launch)
        return tuple((name, _key_value(values[name])) for name in self._key)

    def _arguments(self, launch: _Launch) -> dict[str, Any]:
        given = {k: v for k, v in launch.kwargs.items() if k not in _LAUNCH_KEYWORDS}
        bound = self._parameters.bind(*launch.args, **given, **launch.first.constants)
        bound.apply_defaults()
        return bound.arguments

    # -- winners ------------------------------------------------------------------------------

    def _found(self, launch: _Launch) -> Winner:
        """Return the winner for a launch on a GPU."""
        device = cast(int, launch.device)
        known = device, launch.signature, launch.bucket
        winner = self._winners.get(known)
        if winner is not None:
            return winner
        with self._lock:
            winner = self._winners.get(known)
            if winner is None:
                name = str(_runtime.device_properties(device)["name"])
                winner = self._kept(launch, name) or self._measured(launch, name)
                self._winners[known] = winner
        return winner

    def _kept(self, launch: _Launch, device_name: str) -> Winner | None:
        what = self._what(launch, device_name)
        text = disk_cache().winner(self._request(launch), what) if what else None
        return _read(text, self._configurations) if text else None

    def _what(self, launch: _Launch, device_name: str) -> str | None:
        content = self._candidates
        if self._configurations is not None:
            content = value_digest(tuple(c.content for c in self._configurations))
            if content is None:
                return None
        return json.dumps([device_name, launch.bucket, content])

    def _request(self, launch: _Launch) -> Request:
        base = self.kernel
        return Request(base.function, base.name, launch.signature, "tune", base.options)

    def _measured(self, launch: _Launch, device_name: str) -> Winner:
        device = cast(int, launch.device)
        properties = _runtime.device_properties(device)
        target = Target.of_capability(*properties["capability"])
        configurations = self._candidates_for(launch, target, properties["multiprocessors"])
        kernels = [self._kernel_of(configuration) for configuration in configurations]
        with Progress(f"tuning {self.name} on {device_name}", 2 * len(kernels)) as progress:
            able = self._compiled(launch, kernels, target, properties["multiprocessors"], progress)
            medians = timer_of(device).medians_us(
                [_starter(launch, pinned) for pinned in able], self._written(launch), progress.tick
            )
            best = min(range(len(able)), key=medians.__getitem__)
            winner = Winner(able[best].configuration, medians[best], len(able))
            progress.finish(
                f"{winner.configuration} takes {winner.median_us:.1f} us, the best of {len(able)}"
            )
        what = self._what(launch, device_name)
        if what:
            disk_cache().keep_winner(
                self._request(launch), what, _text(winner, self._configurations)
            )
        return winner

    def _candidates_for(
        self, launch: _Launch, target: Target, multiprocessors: int
    ) -> Sequence[Configuration]:
        if self._configurations is not None:
            return self._configurations
        planner = self.kernel.planner
        best = planner.best(
            launch.signature, launch.shapes, target, multiprocessors, self._candidates
        )
        return [Configuration(planned=planned) for planned in best]

    def _kernel_of(self, configuration: Configuration) -> PinnedKernel:
        """Return the kernel of a configuration; there is one, so that it is compiled once."""
        known = configuration.content, configuration.planned
        with self._lock:
            key = repr(known) if configuration.constants else known
            if key not in self._pinned:
                self._pinned[key] = PinnedKernel(self.kernel, configuration)
            return self._pinned[key]

    def _compiled(
        self,
        launch: _Launch,
        kernels: Sequence[PinnedKernel],
        target: Target,
        multiprocessors: int,
        progress: Progress,
    ) -> list[PinnedKernel]:
        """Compile in threads; return the kernels that the compiler takes."""

        def compile_one(pinned: PinnedKernel) -> TilecError | None:
            kwargs = {**launch.without_stream, **pinned.configuration.constants}
            try:
                pinned.prepare(
                    *launch.args, target=target.name, multiprocessors=multiprocessors, **kwargs
                )
            except CompilerFault:
                raise
            except TilecError as error:
                return error
            finally:
                progress.tick()
            return None

        with ThreadPoolExecutor(min(len(kernels), os.cpu_count() or 1)) as pool:
            errors = list(pool.map(compile_one, kernels))
        able = [pinned for pinned, error in zip(kernels, errors, strict=True) if error is None]
        if not able:
            raise cast(TilecError, errors[0])
        return able

    def _written(self, launch: _Launch) -> list[tuple[Any, int]]:
        values = self._arguments(launch).values()
        return list(_written(zip(launch.signature.specs, values, strict=True)))


@dataclass
class _Launch:
    """The arguments of a launch, and what follows from them."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    signature: Signature
    shapes: tuple[tuple[int, ...], ...]
    device: int | None
    first: Configuration
    bucket: tuple[Any, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether an output has no elements, and the launch no programs."""
        views = [spec for spec in self.signature.runtime() if isinstance(spec, ViewSpec)]
        return any(
            spec.access == "exclusive" and 0 in shape
            for spec, shape in zip(views, self.shapes, strict=True)
        )

    @property
    def without_stream(self) -> dict[str, Any]:
        """The keywords without the stream, on which nothing is launched for a measurement."""
        return {name: value for name, value in self.kwargs.items() if name != "stream"}


def timer_of(device: int) -> Any:
    """Return what times launches on a GPU."""
    from tilec.jit.timer import DeviceTimer

    return DeviceTimer(device)


def _starter(launch: _Launch, pinned: PinnedKernel) -> Callable[[int], None]:
    keywords = {**launch.without_stream, **pinned.configuration.constants}
    return lambda stream: pinned(*launch.args, stream=stream, **keywords)


def _written(pairs: Iterable[tuple[Spec, Any]]) -> Iterator[tuple[Any, int]]:
    for spec, value in pairs:
        if isinstance(spec, TupleSpec):
            yield from _written(zip(spec.items, value, strict=True))
        elif isinstance(spec, ViewSpec) and spec.access != "read":
            yield value.array, spec.dtype.itemsize_bytes


def _power_above(extent: int) -> int:
    """Return the smallest power of two that is no less; 0 for 0."""
    return 1 << (extent - 1).bit_length() if extent else 0


def _key_value(value: Any) -> Any:
    array = getattr(value, "array", value)
    shape = getattr(array, "shape", None)
    if shape is not None:
        return tuple(int(extent) for extent in shape)
    return value if isinstance(value, (int, float, str, type(None))) else repr(value)


def _checked_key(base: Kernel, key: Sequence[str]) -> tuple[str, ...]:
    names = (key,) if isinstance(key, str) else tuple(key)
    for name in names:
        if name not in base.parameter_names:
            raise LaunchError(
                f"key must name parameters of {base.name}, found {name!r}, expected some of "
                f"{', '.join(base.parameter_names)}"
            )
    return names


def _checked_count(candidates: Any) -> int:
    if type(candidates) is not int or candidates < 1:
        raise LaunchError(f"candidates must be a positive integer, found {candidates!r}")
    return candidates


def _text(winner: Winner, configurations: Sequence[Configuration] | None) -> str:
    planned = winner.configuration.planned
    content: dict[str, Any] = {"median_us": winner.median_us, "candidates": winner.candidates}
    if configurations is not None:
        content["number"] = configurations.index(winner.configuration)
    elif planned is not None:
        content |= {"tile": planned.tile, "decisions": planned.decisions}
    return json.dumps(content)


def _read(text: str, configurations: Sequence[Configuration] | None) -> Winner | None:
    try:
        content = cast("dict[str, Any]", json.loads(text))
        if configurations is not None:
            chosen = configurations[int(content["number"])]
        else:
            chosen = Configuration(planned=Planned(tuple(content["tile"]), content["decisions"]))
        return Winner(chosen, content["median_us"], content["candidates"])
    except (ValueError, KeyError, IndexError, TypeError):
        return None  # of another release: measured again


def tune(
    function: Kernel | None = None,
    /,
    *,
    configs: Iterable[Mapping[str, Any]] | None = None,
    key: Sequence[str] = (),
    candidates: int = 8,
) -> Any:
    """Choose how to compile a kernel by measuring, at the first launch of each kind.

    Args:
        function: the kernel, when used without parentheses.
        configs: what to choose among; each gives values by name, to ``tl.Constant`` parameters, to
            ``num_warps`` and ``num_stages``, and to ``tile``, the tile of ``tl.AUTO``. By default
            the best tiles of the plan for ``tl.AUTO``.
        key: parameters whose values (of arrays: extents) tell launches apart that get winners of
            their own; by default the extents of all arrays, rounded up to powers of two.
        candidates: how many tiles of the plan to measure.

    Raises:
        LaunchError: it is not a kernel that is decorated, or an argument cannot be.
    """

    def decorate(base: Any) -> TunedKernel:
        if not isinstance(base, Kernel):
            raise LaunchError(
                f"tl.tune goes above @tl.kernel, found {base!r}",
                hint="write @tl.tune(...) in the line before @tl.kernel",
            )
        return TunedKernel(base, configs, key=key, candidates=candidates)

    return decorate if function is None else decorate(function)
