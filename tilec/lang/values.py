"""Tiles and scalars: the values that exist when a kernel runs.

They are immutable; an operation on them emits an op and returns a new one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, TypeAlias

from tilec.diagnostics import ControlFlowError, Note, Span, TraceError
from tilec.lang.dtypes import DType, Kind
from tilec.lang.emit import Handle

INDEX = DType("index", "index", "index", Kind.SIGNED, 64, 0, 2**63 - 1, -(2**63))
"""The type of tile coordinates, extents and loop variables; authors see a weak integer."""


class Traced(ABC):
    """A value that exists when the kernel runs: a tile or a scalar."""

    __slots__ = ("dtype", "handle")
    # NumPy's operators give way to ours, and its functions refuse a tile instead of iterating it.
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]  # `==` compares elements

    dtype: DType
    handle: Handle

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents, in elements; () for a scalar."""
        return ()

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @abstractmethod
    def _describe(self) -> str:
        """What it is, as an error message says it: ``a tile of float32 (8,)``."""

    def __add__(self, other: Operand) -> Any:
        return elementwise.add(self, other)

    def __radd__(self, other: Operand) -> Any:
        return elementwise.add(other, self)

    def __sub__(self, other: Operand) -> Any:
        return elementwise.subtract(self, other)

    def __rsub__(self, other: Operand) -> Any:
        return elementwise.subtract(other, self)

    def __mul__(self, other: Operand) -> Any:
        return elementwise.multiply(self, other)

    def __rmul__(self, other: Operand) -> Any:
        return elementwise.multiply(other, self)

    def __truediv__(self, other: Operand) -> Any:
        return elementwise.divide(self, other)

    def __rtruediv__(self, other: Operand) -> Any:
        return elementwise.divide(other, self)

    def __floordiv__(self, other: Operand) -> Any:
        return division.floor_divide(self, other)

    def __rfloordiv__(self, other: Operand) -> Any:
        return division.floor_divide(other, self)

    def __mod__(self, other: Operand) -> Any:
        return division.remainder(self, other)

    def __rmod__(self, other: Operand) -> Any:
        return division.remainder(other, self)

    def __divmod__(self, other: Operand) -> Any:
        return division.floor_divide(self, other), division.remainder(self, other)

    def __pow__(self, other: Operand) -> Any:
        return mathematics.pow(self, other)

    def __rpow__(self, other: Operand) -> Any:
        return mathematics.pow(other, self)

    def __lshift__(self, other: Operand) -> Any:
        return elementwise.shift_left(self, other)

    def __rlshift__(self, other: Operand) -> Any:
        return elementwise.shift_left(other, self)

    def __rshift__(self, other: Operand) -> Any:
        return elementwise.shift_right(self, other)

    def __rrshift__(self, other: Operand) -> Any:
        return elementwise.shift_right(other, self)

    def __and__(self, other: Operand) -> Any:
        return elementwise.bitwise("&", self, other)

    def __rand__(self, other: Operand) -> Any:
        return elementwise.bitwise("&", other, self)

    def __or__(self, other: Operand) -> Any:
        return elementwise.bitwise("|", self, other)

    def __ror__(self, other: Operand) -> Any:
        return elementwise.bitwise("|", other, self)

    def __xor__(self, other: Operand) -> Any:
        return elementwise.bitwise("^", self, other)

    def __rxor__(self, other: Operand) -> Any:
        return elementwise.bitwise("^", other, self)

    def __neg__(self) -> Any:
        return elementwise.negative(self)

    def __pos__(self) -> Any:
        return self

    def __invert__(self) -> Any:
        return elementwise.invert(self)

    def __abs__(self) -> Any:
        return elementwise.absolute(self)

    def __matmul__(self, other: object) -> Any:
        return matmul.product(self, other)

    def __lt__(self, other: Operand) -> Any:
        return elementwise.compare("<", self, other)

    def __le__(self, other: Operand) -> Any:
        return elementwise.compare("<=", self, other)

    def __gt__(self, other: Operand) -> Any:
        return elementwise.compare(">", self, other)

    def __ge__(self, other: Operand) -> Any:
        return elementwise.compare(">=", self, other)

    def __eq__(self, other: object) -> Any:
        return elementwise.compare("==", self, other)

    def __ne__(self, other: object) -> Any:
        return elementwise.compare("!=", self, other)

    def __bool__(self) -> bool:
        if self.shape not in ((), (1,) * self.ndim):
            raise ControlFlowError(
                f"the truth of {self._describe()} is not one value",
                hint="reduce it with tl.any or tl.all, or combine conditions with & | ~",
            )
        raise ControlFlowError(
            f"Python needs the truth of {self._describe()} while the kernel is traced",
            hint="use tl.where, or tl.assert_ for a check at run time",
        )

    def __index__(self) -> int:
        raise ControlFlowError(
            f"expected a compile-time integer here, found {self._describe()}",
            hint="pass it as a tl.Constant, or loop with tl.static_range",
        )

    __int__ = __index__

    def __float__(self) -> float:
        raise ControlFlowError(
            f"expected a compile-time number here, found {self._describe()}",
            hint="use x.to(tl.float32), and tl.exp and its kin instead of the math module",
        )

    def __iter__(self) -> Iterator[Any]:
        raise ControlFlowError(f"{self._describe()} cannot be iterated or unpacked")

    def __format__(self, specification: str) -> str:
        raise ControlFlowError(
            f"{self._describe()} has no value while the kernel is traced",
            hint='print it at run time with tl.print("{}", x), or its type with tl.static_print(x)',
        )

    def __repr__(self) -> str:
        return f"<{self._describe()}>"

    def __array__(self, *args: object, **kwargs: object) -> Any:
        raise ControlFlowError(
            f"NumPy cannot take {self._describe()}",
            hint="use the function of the same name in tilec, e.g. tl.exp for np.exp",
        )


class Tile(Traced):
    """An array value of static shape, owned by one program."""

    __slots__ = ("_shape",)

    def __init__(self, handle: Handle, shape: tuple[int, ...], dtype: DType) -> None:
        self.handle = handle
        self._shape = shape
        self.dtype = dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents, in elements."""
        return self._shape

    def _describe(self) -> str:
        return f"a tile of {self.dtype} {self._shape}"

    def __len__(self) -> int:
        if not self._shape:
            raise TraceError("a tile of rank 0 has no length")
        return self._shape[0]

    def __getitem__(self, key: object) -> Tile:
        return shaping.index(self, key)

    def __setitem__(self, key: object, value: object) -> None:
        raise TraceError("tiles are immutable", hint="build a new tile with tl.where")

    @property
    def T(self) -> Tile:
        """The tile with its dimensions reversed."""
        return shaping.permute(self, tuple(reversed(range(self.ndim))))

    def to(self, dtype: object) -> Tile:
        """The tile converted to another dtype; see :func:`tilec.astype`."""
        return elementwise.astype(self, dtype)

    astype = to

    def reshape(self, *shape: int | tuple[int, ...]) -> Tile:
        """The same elements, row-major, in another shape."""
        return shaping.reshape(self, shape if isinstance(shape[0], int) else shape[0])

    def permute(self, *order: int | tuple[int, ...]) -> Tile:
        """The tile with its dimensions in another order."""
        return shaping.permute(self, order)

    def item(self) -> Scalar:
        """The element of a one-element tile, as a scalar."""
        return shaping.item(self)


class Scalar(Traced):
    """One number that exists when the kernel runs.

    A run-time argument, a tile coordinate or a loop variable is *weak*: like a Python literal, it
    takes the dtype of the tile it meets.
    """

    __slots__ = ("weak",)

    def __init__(self, handle: Handle, dtype: DType, *, weak: bool) -> None:
        self.handle = handle
        self.dtype = dtype
        self.weak = weak

    def _describe(self) -> str:
        if not self.weak:
            return f"a run-time {self.dtype}"
        names = {Kind.BOOL: "bool", Kind.FLOAT: "float"}
        return f"a run-time {names.get(self.dtype.kind, 'int')}"

    def to(self, dtype: object) -> Scalar:
        """The scalar converted to a dtype; it is weak no longer."""
        return elementwise.astype(self, dtype)

    astype = to


class Undefined:
    """What a variable holds where not every path has bound it; any use is an error."""

    def __init__(self, name: str, reason: str, span: Span | None = None) -> None:
        self.name = name
        self.reason = reason
        self.span = span

    def error(self) -> TraceError:
        """The error of using the variable."""
        return TraceError(
            f"{self.name} may be unbound here",
            notes=[Note(self.reason, self.span)],
            hint=f"give {self.name} a value before that statement",
        )

    def __repr__(self) -> str:
        return f"<{self.name}: {self.reason}>"

    def _refuse(self, *arguments: object) -> Any:
        raise self.error()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _refuse
    __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = _refuse
    __rpow__ = __matmul__ = __and__ = __rand__ = __or__ = __ror__ = __xor__ = _refuse
    __rxor__ = __lshift__ = __rshift__ = __neg__ = __invert__ = __abs__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __index__ = __iter__ = _refuse
    __getitem__ = __call__ = __len__ = __float__ = _refuse


Operand: TypeAlias = Traced | bool | int | float

# The functions behind the methods and operators; they import this module, so they come last.
import tilec.lang.division as division  # noqa: E402
import tilec.lang.elementwise as elementwise  # noqa: E402
import tilec.lang.mathematics as mathematics  # noqa: E402
import tilec.lang.matmul as matmul  # noqa: E402
import tilec.lang.shape as shaping  # noqa: E402
