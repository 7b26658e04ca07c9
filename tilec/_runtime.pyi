"""Types of the launch runtime (runtime/*.cpp)."""

from collections.abc import Iterable, Sequence
from typing import Any, final

@final
class Auto:
    """The type of ``AUTO``."""

AUTO: Auto
"""The tile shape that suits the launch: ``tl.partition(y, tl.AUTO)``.

The compiler plans it from the kernel, the shapes of the arrays and the GPU. All partitions of a
launch share the tile, so their arrays have one shape.
"""

@final
class Partition:
    """An output, divided into disjoint tiles: one per program of the launch."""

    @property
    def array(self) -> Any: ...
    @property
    def tile_shape(self) -> tuple[int, ...] | Auto: ...
    @property
    def access(self) -> str: ...

@final
class Accumulate:
    """An array that a kernel changes by atomics only."""

    @property
    def array(self) -> Any: ...
    @property
    def tile_shape(self) -> None: ...
    @property
    def access(self) -> str: ...

@final
class Unchecked:
    """A raw read-write view: the author answers for races."""

    @property
    def array(self) -> Any: ...
    @property
    def tile_shape(self) -> None: ...
    @property
    def access(self) -> str: ...

def partition(array: Any, tile_shape: Sequence[int] | int | Auto) -> Partition: ...
def accumulate(array: Any) -> Accumulate: ...
def unchecked(array: Any) -> Unchecked: ...

@final
class Variant:
    """A compiled kernel with its launch plan; loaded at its first launch."""

    def __new__(cls, image: bytes, plan: str, fallback: bytes = b"") -> Variant: ...
    @property
    def plan(self) -> str: ...
    @property
    def symbol(self) -> str: ...

class Launcher:
    """Binds, checks and launches; the base class of kernels."""

    _parts: tuple[str, ...]
    def __init__(self, name: str, parameters: Iterable[tuple[Any, ...]]) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> None: ...
    def _specialize(self, *args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], int | None]: ...
    def _shapes(self, *args: Any, **kwargs: Any) -> tuple[tuple[int, ...], ...]: ...
    def _launch_grouped(self, problems: Any, /, **shared: Any) -> None: ...
    def _specialize_grouped(
        self, problems: Any, /, **shared: Any
    ) -> tuple[
        tuple[Any, ...], int | None, tuple[tuple[int, ...], ...], tuple[tuple[bool, ...], ...], int
    ]: ...
    def _repeat(self, part: str, count: int, /, *args: Any, **kwargs: Any) -> None: ...
    def _plan(
        self, specs: tuple[Any, ...], shapes: tuple[tuple[int, ...], ...], device: int | None
    ) -> tuple[tuple[int, ...], str]: ...
    def _resolve(
        self, specs: tuple[Any, ...], device: int | None, decisions: str = ""
    ) -> tuple[Any, Iterable[Any]]: ...
    def _plan_group(
        self,
        specs: tuple[Any, ...],
        shapes: tuple[tuple[int, ...], ...],
        device: int | None,
        varying: tuple[tuple[bool, ...], ...],
        problems: int,
    ) -> tuple[tuple[int, ...], str]: ...
    def _resolve_group(
        self, specs: tuple[Any, ...], device: int | None, decisions: str = ""
    ) -> tuple[Any, Iterable[Any]]: ...

class NvJitLinkError(RuntimeError):
    """The assembler refused its input; the message is its log."""

def replace_driver(path: str) -> None: ...
def driver_version() -> int: ...
def device_count() -> int: ...
def device_properties(ordinal: int) -> dict[str, Any]: ...
def nvjitlink_link(ptx: bytes, options: Sequence[str], library: str = "") -> tuple[bytes, str]: ...
def nvjitlink_version(library: str = "") -> tuple[int, int]: ...
def tile_plan(
    summary: dict[str, Any],
    arrays: list[dict[str, Any] | None],
    device: dict[str, Any],
    *,
    num_warps: int = 0,
    num_stages: int = 0,
    problems: int = 1,
    explain: bool = False,
) -> dict[str, Any]: ...
def arrays_overlap(
    a: tuple[int, Sequence[int], Sequence[int], int],
    b: tuple[int, Sequence[int], Sequence[int], int],
) -> str: ...
def array_overlaps_itself(a: tuple[int, Sequence[int], Sequence[int], int]) -> str: ...
