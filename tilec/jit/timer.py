"""How long launches take on a GPU: events, a flushed L2 cache, medians of blocks that take turns.

What the launches write is put back afterwards: a kernel that works in place would otherwise leave
the result of many launches.
"""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Callable, Generator, Sequence
from typing import Any, Protocol

from tilec._runtime import AUTO, partition
from tilec.jit.device import Device, Memory
from tilec.jit.kernel import kernel
from tilec.lang.elementwise import bitcast
from tilec.lang.reduce import max as maximum_of

Launch = Callable[[int], object]
"""Starts the work on a stream, given by its handle."""

Written = tuple[Any, int]
"""An array, and the bytes of its elements."""

_WARM_UP, _FIRST, _BLOCK = 2, 5, 5
"""Launches before the clock, in the first block, and in each block after it."""
_TOTAL_US = 30e3
_MOST_BLOCKS = 40
_HOPELESS = 1.5
"""Times the best: what takes longer in the first block is not looked at again."""
_L2_MULTIPLE = 4
_COLUMNS = 4096


class Timer(Protocol):
    """Times launches; the tests have another one."""

    def medians_us(
        self, launches: Sequence[Launch], written: Sequence[Written], tick: Callable[[], object]
    ) -> list[float]:
        """Return the median time of each launch.

        Args:
            launches: what to time.
            written: the arrays that they write.
            tick: called once a launch, when its first times are known.
        """
        ...


class DeviceTimer:
    """Times launches on one GPU."""

    def __init__(self, ordinal: int) -> None:
        self._device = Device(ordinal)

    def medians_us(
        self, launches: Sequence[Launch], written: Sequence[Written], tick: Callable[[], object]
    ) -> list[float]:
        """Return the median time of each launch; see ``Timer``."""
        with self._device.current(), self._device.stream() as stream:
            self._device.synchronize()
            with self._kept(written, stream), self._flusher(stream) as flush:
                found = self._times(launches, stream, flush, tick)
        return [statistics.median(times) for times in found]

    def _times(
        self,
        launches: Sequence[Launch],
        stream: int,
        flush: Callable[[], None],
        tick: Callable[[], object],
    ) -> list[list[float]]:
        found: list[list[float]] = []
        for launch in launches:
            for _ in range(_WARM_UP):
                launch(stream)
            found.append(self._block(launch, stream, flush, _FIRST))
            tick()
        best = min(statistics.median(times) for times in found)
        for _ in range(_MOST_BLOCKS):
            for launch, times in zip(launches, found, strict=True):
                wanted = sum(times) < _TOTAL_US
                if wanted and statistics.median(times[:_FIRST]) <= _HOPELESS * best:
                    times += self._block(launch, stream, flush, _BLOCK)
        return found

    def _block(
        self, launch: Launch, stream: int, flush: Callable[[], None], count: int
    ) -> list[float]:
        """Time some launches, each after a flush, which hides what the host takes."""
        with self._device.events(count) as starts, self._device.events(count) as ends:
            for start, end in zip(starts, ends, strict=True):
                flush()
                self._device.record(start, stream)
                launch(stream)
                self._device.record(end, stream)
            return self._device.elapsed_us(starts, ends)

    @contextlib.contextmanager
    def _flusher(self, stream: int) -> Generator[Callable[[], None]]:
        """Read more than the L2 cache holds; written lines would have to be written back."""
        rows = max(1, _L2_MULTIPLE * self._device.l2_bytes() // (4 * _COLUMNS))
        with (
            self._device.memory((rows, _COLUMNS), 4) as read,
            self._device.memory((rows,), 4) as result,
        ):
            yield lambda: _largest(partition(result, (1,)), read, stream=stream)
            self._device.synchronize()

    @contextlib.contextmanager
    def _kept(self, arrays: Sequence[Written], stream: int) -> Generator[None]:
        """Keep a copy of some arrays, and put it back at the end."""
        with contextlib.ExitStack() as stack:
            copies: list[tuple[Any, Memory]] = []
            for array, item_bytes in arrays:
                shape = tuple(int(extent) for extent in array.shape)
                copy = stack.enter_context(self._device.memory(shape, item_bytes))
                _copy_bits(partition(copy, AUTO), array, stream=stream)
                copies.append((array, copy))
            try:
                yield
            finally:
                for array, copy in copies:
                    _copy_bits(partition(array, AUTO), copy, stream=stream)
                self._device.synchronize()


@kernel
def _copy_bits(y: Any, x: Any) -> None:
    tile = x.load_like(y)
    has_bool = x.dtype.is_bool or y.dtype.is_bool
    y.store(tile.to(y.dtype) if has_bool else bitcast(tile, y.dtype))


@kernel
def _largest(y: Any, x: Any) -> None:
    # No loop: control flow is not rewritten in tilec's own modules.
    (i,) = y.index
    (rows,) = y.tile_shape
    y.store(maximum_of(x.load((i, 0), (rows, _COLUMNS)), axis=1))
