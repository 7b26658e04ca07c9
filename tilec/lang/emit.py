"""The only door to the MLIR bindings: checked builders of types, constants and ops.

A wrong call of the raw builders can end the process (the libraries assert), so nothing else in
`lang` or `trace` calls them, and everything that reaches them here has been checked by the caller's
dtypes and shapes. The bindings are imported when the first kernel is traced, never before.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import io
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from types import CodeType
from typing import Any, TypeAlias

from tilec.diagnostics import CompilerFault, Frame, TilecError, TraceError
from tilec.lang.dtypes import DType
from tilec.lang.source import frame_of, positions_of_stack

Handle: TypeAlias = Any  # an MLIR value
Attribute: TypeAlias = Any
Type: TypeAlias = Any
Block: TypeAlias = Any
Operation: TypeAlias = Any


_DIALECTS = ("tile", "arith", "math", "scf")


_DEEPEST_CALL = 256


def endless_recursion(function: str) -> TraceError:
    """The error of a function that calls itself without end."""
    return TraceError(
        f"the recursion of {function} does not end while tracing",
        hint="its depth must follow from compile-time values",
    )


class Dialects:
    """The MLIR context of the process, and the types and attributes that every trace needs."""

    def __init__(self) -> None:
        self.ir: Any = importlib.import_module("tilec._mlir.ir")
        libraries: Any = importlib.import_module("tilec._mlir._mlir_libs")
        core: Any = importlib.import_module("tilec._mlir._mlir_libs._mlir")
        # Generic ops are all that is wanted here; the generated classes take long to import.
        core.globals.dialect_search_modules = []
        # The base class: the package's own subclass loads every dialect that is registered.
        self.context: Any = core.ir._Context()
        self.context.append_dialect_registry(libraries.get_dialect_registry())
        self.context.enable_multithreading(False)
        for name in _DIALECTS:
            self.context.dialects[name]
        self.unknown_location: Any = self.ir.Location.unknown(self.context)
        self._texts: dict[str, Type] = {}
        self._tiles: dict[tuple[tuple[int, ...], str], Type] = {}
        self._attributes: dict[object, Attribute] = {}

    def type(self, text: str) -> Type:
        """A type by its MLIR spelling, e.g. ``"index"``."""
        found = self._texts.get(text)
        if found is None:
            found = self._texts[text] = self.ir.Type.parse(text, self.context)
        return found

    def tile(self, shape: tuple[int, ...], element: str) -> Type:
        """The type of a tile: a ranked tensor."""
        key = (shape, element)
        found = self._tiles.get(key)
        if found is None:
            found = self.ir.RankedTensorType.get(
                shape, self.type(element), loc=self.unknown_location
            )
            self._tiles[key] = found
        return found

    def attribute(self, text: str) -> Attribute:
        """An attribute by its MLIR spelling, e.g. ``"#arith.fastmath<contract>"``."""
        found = self._attributes.get(text)
        if found is None:
            found = self._attributes[text] = self.ir.Attribute.parse(text, self.context)
        return found

    def integer(self, value: int, element: str = "i64") -> Attribute:
        """An integer attribute; ``value`` wraps to the width of ``element``."""
        key = (element, value)
        found = self._attributes.get(key)
        if found is None:
            found = self.ir.IntegerAttr.get(self.type(element), _wrapped(value, element))
            self._attributes[key] = found
        return found

    def float(self, value: float, element: str) -> Attribute:
        """A floating-point attribute, rounded to ``element``."""
        return self.ir.FloatAttr.get(self.type(element), value, loc=self.unknown_location)

    def number(self, value: bool | int | float, dtype: DType) -> Attribute:
        """A typed attribute that holds ``value`` as a ``dtype``."""
        if dtype.is_float:
            return self.float(float(value), dtype.mlir)
        return self.integer(int(value), dtype.mlir)

    def string(self, text: str) -> Attribute:
        """A string attribute."""
        return self.ir.StringAttr.get(text, self.context)

    def integers(self, values: Sequence[int]) -> Attribute:
        """An ``array<i64: …>`` attribute."""
        return self.ir.DenseI64ArrayAttr.get(list(values), self.context)

    def array(self, attributes: Sequence[Attribute]) -> Attribute:
        """An array attribute."""
        return self.ir.ArrayAttr.get(list(attributes), self.context)

    def booleans(self, values: Sequence[bool]) -> Attribute:
        """An ``array<i1: …>`` attribute."""
        return self.ir.DenseBoolArrayAttr.get(list(values), self.context)

    def dictionary(self, entries: Mapping[str, Attribute]) -> Attribute:
        """A dictionary attribute."""
        return self.ir.DictAttr.get(dict(entries), self.context)

    def unit(self) -> Attribute:
        """The unit attribute."""
        return self.ir.UnitAttr.get(self.context)


def _wrapped(value: int, element: str) -> int:
    """``value`` as the signed integer of the element's width with the same bits."""
    bits = 64 if element == "index" else int(element[1:])
    value &= (1 << bits) - 1
    if bits == 1:
        return value
    return value - (1 << bits) if value >> (bits - 1) else value


@functools.cache
def dialects() -> Dialects:
    """The process's one context; made at the first trace."""
    return Dialects()


class Emitter:
    """Builds the ops of one kernel, each with the place in the author's source it comes from.

    Args:
        root: The code below whose frame the author's call chain begins.
        definition: Where the kernel is defined.
    """

    def __init__(self, root: CodeType, definition: Frame) -> None:
        self.dialects = dialects()
        self._root = root
        self._locations: dict[tuple[tuple[int, int], ...], Any] = {}
        self._frames: dict[tuple[tuple[int, int], ...], list[Frame]] = {}
        self._kept: list[CodeType] = []  # their ids are keys of _locations
        self._ip: Any = None
        self._block: Block = None
        self._definition = self._make_location([definition])
        self.module: Any = self.dialects.ir.Module.create(loc=self._definition)

    # -- places ------------------------------------------------------------------------------

    def location(self) -> Any:
        """The MLIR location of the call being made: file, line, column and call chain."""
        positions = positions_of_stack(inspect.currentframe(), self._root)
        if len(positions) > _DEEPEST_CALL:
            raise endless_recursion(positions[0].code.co_name)
        key = tuple((id(position.code), position.instruction) for position in positions)
        found = self._locations.get(key)
        if found is None:
            frames = self._frames[key] = [frame_of(position) for position in positions]
            found = self._locations[key] = self._make_location(frames)
            self._kept.extend(position.code for position in positions)
        return found

    def _make_location(self, frames: Sequence[Frame]) -> Any:
        """A call chain, innermost first, as an MLIR location."""
        ir, context = self.dialects.ir, self.dialects.context
        chain: list[Any] = []
        for frame in frames:
            span = frame.span
            place = ir.Location.file(span.file, span.line, span.column, context=context)
            chain.append(ir.Location.name(frame.function, place, context=context))
        if len(chain) < 2:
            return chain[0] if chain else self._definition
        return ir.Location.callsite(chain[0], chain[1:], context=context)

    @contextmanager
    def at(self, block: Block) -> Generator[None, None, None]:
        """Emit at the end of ``block``."""
        saved = (self._block, self._ip)
        self.move_to(block)
        try:
            yield
        finally:
            self._block, self._ip = saved

    def move_to(self, block: Block) -> None:
        """Emit at the end of ``block`` from now on."""
        self._block = block
        self._ip = self.dialects.ir.InsertionPoint(block)

    @property
    def block(self) -> Block:
        """The block that receives ops."""
        return self._block

    def is_visible(self, handle: Handle) -> bool:
        """Whether an op emitted now may use a value: it is made here, or in a block around."""
        owner = handle.owner
        home = owner if isinstance(owner, self.dialects.ir.Block) else owner.operation.block
        block = self._block
        while block != home:
            around = block.owner.operation
            if around.parent is None:
                return False
            block = around.block
        return True

    def checkpoint(self) -> tuple[Block, int]:
        """A point to which :meth:`rollback` can return."""
        return (self._block, len(self._block.operations))

    def rollback(self, point: tuple[Block, int]) -> None:
        """Erase everything emitted since ``point``."""
        block, count = point
        operations = list(block.operations)
        for operation in reversed(operations[count:]):
            operation.operation.erase()
        self.move_to(block)

    # -- ops ---------------------------------------------------------------------------------

    def op(
        self,
        name: str,
        operands: Sequence[Handle] = (),
        results: Sequence[Type] = (),
        attributes: Mapping[str, Attribute] | None = None,
        regions: int = 0,
    ) -> Operation:
        """Append an op to the current block."""
        return self.dialects.ir.Operation.create(
            name,
            results=results,
            operands=operands,
            attributes=attributes,
            regions=regions,
            loc=self.location(),
            ip=self._ip,
        )

    def op_at_definition(
        self, name: str, attributes: Mapping[str, Attribute] | None = None, regions: int = 0
    ) -> Operation:
        """Append an op that comes from no call of the author's: the kernel's own."""
        return self.dialects.ir.Operation.create(
            name, attributes=attributes, regions=regions, loc=self._definition, ip=self._ip
        )

    def value(
        self,
        name: str,
        operands: Sequence[Handle],
        result: Type,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> Handle:
        """Append an op with one result; returns the result."""
        return self.op(name, operands, (result,), attributes).result

    def type_of(self, dtype: DType, shape: tuple[int, ...] | None) -> Type:
        """The MLIR type of a tile, or of a scalar when ``shape`` is None."""
        if shape is None:
            return self.dialects.type(dtype.mlir)
        return self.dialects.tile(shape, dtype.mlir)

    def constant(
        self, value: bool | int | float, dtype: DType, shape: tuple[int, ...] | None
    ) -> Handle:
        """A constant scalar, or a tile whose elements all equal ``value``."""
        result = self.type_of(dtype, shape)
        attribute = self.dialects.number(value, dtype)
        if shape is not None:
            attribute = self.dialects.ir.DenseElementsAttr.get_splat(result, attribute)
        return self.value("arith.constant", (), result, {"value": attribute})

    def add_block(self, region: Any, types: Sequence[Type] = ()) -> Block:
        """The first block of an empty region."""
        location = self.location()
        return self.dialects.ir.Block.create_at_start(region, list(types), [location] * len(types))

    def finish(self) -> bytes:
        """Verify the module and return its bytecode.

        Raises:
            TraceError: A value has left the loop or branch that made it, e.g. in a list.
            CompilerFault: tilec built IR that its own verifiers refuse.
        """
        try:
            self.module.operation.verify()
        except self.dialects.ir.MLIRError as error:
            raise self._invalid(error) from None
        stream = io.BytesIO()
        self.module.operation.write_bytecode(stream)
        return stream.getvalue()

    def _invalid(self, error: Any) -> TilecError:
        """What a refusal of the verifier means."""
        for diagnostic in error.error_diagnostics:
            if "does not dominate this use" in diagnostic.message:
                return TraceError(
                    "a value made inside a loop or branch is used outside of it",
                    frames=self._frames_of(diagnostic.location),
                    hint="assign it to a variable before the loop or branch, "
                    "and update that variable inside",
                )
        return CompilerFault(f"the tracer built invalid IR: {error}")

    def _frames_of(self, location: Any) -> list[Frame]:
        for key, known in self._locations.items():
            if known == location:
                return self._frames[key]
        return []


class _Current(threading.local):
    emitter: Emitter | None = None
    # How to call a function of the author's: the tracer rewrites its control flow first.
    call: Callable[..., Any] | None = None


_current = _Current()


def current(what: str = "this") -> Emitter:
    """The emitter of the kernel being traced by this thread.

    Raises:
        TraceError: No kernel is being traced.
    """
    if _current.emitter is None:
        raise TraceError(
            f"{what} works on tiles, inside a kernel, and no kernel is being traced",
            hint="call it from a function decorated with @tl.kernel",
        )
    return _current.emitter


def is_tracing() -> bool:
    """Whether this thread is tracing a kernel."""
    return _current.emitter is not None


def call_helper(function: Callable[..., Any], *arguments: object) -> Any:
    """Call a function that the author passed to one of ours, e.g. the combiner of a reduction."""
    return (_current.call or _plain_call)(function, *arguments)


def _plain_call(function: Callable[..., Any], *arguments: object) -> Any:
    return function(*arguments)


@contextmanager
def emitting(
    emitter: Emitter, call: Callable[..., Any] | None = None
) -> Generator[None, None, None]:
    """Make ``emitter`` the current one of this thread, and ``call`` the way to call helpers."""
    saved = (_current.emitter, _current.call)
    _current.emitter, _current.call = emitter, call
    try:
        yield
    finally:
        _current.emitter, _current.call = saved
