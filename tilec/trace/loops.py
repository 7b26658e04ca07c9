"""`for` and `while` while tracing: Python's own on constants, else an scf.for or scf.while.

A device loop is traced with the variables' types as they are before it. If the body leaves a
variable with another type, what was emitted is erased and the loop traced again with the type at
which both meet; so constants stay constants until the body changes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilec.diagnostics import TraceError
from tilec.lang import dtypes
from tilec.lang.division import cdiv
from tilec.lang.elementwise import bitwise, maximum
from tilec.lang.emit import Block, Emitter, Handle, current
from tilec.lang.operands import index_handle, is_number
from tilec.lang.values import INDEX, Operand, Scalar, Traced, Undefined
from tilec.trace.branches import Values, describe_return, mismatch_error, refuse_mutations, truth
from tilec.trace.slots import (
    UNSET,
    Mismatch,
    Slot,
    Unset,
    copied,
    is_tree,
    join,
    parts,
    rebuild,
    same,
    same_structure,
    slot_of,
)
from tilec.trace.statements import Statement

UNROLL_LIMIT = 16
"""A loop over a constant ``range`` of more iterations becomes a device loop."""

_PYTHON_LIMIT = 1 << 16
_RETRIES = 16


class RuntimeRange:
    """A ``range`` whose bounds are known at run time only, or that is too long to unroll."""

    def __init__(self, start: Operand, stop: Operand, step: Operand) -> None:
        self.start = start
        self.stop = stop
        self.step = step

    @property
    def certain(self) -> bool:
        """Whether the loop surely runs at least once."""
        bounds = (self.start, self.stop, self.step)
        return all(isinstance(v, int) for v in bounds) and len(range(*bounds)) > 0  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Any]:
        raise TraceError(
            "a range with run-time bounds can only be looped over by a `for` statement",
            hint="write the loop out, or use tl.static_range with constants",
        )


class _Carried:
    """The variables of a device loop: which are iteration arguments, and of which type."""

    def __init__(self, statement: Statement, entry: Values, certain: bool) -> None:
        self._statement = statement
        self._entry = entry
        # Paths of leaves (variable, item, …) to the type they have been widened to.
        self._slots: dict[tuple[int, ...], Slot] = {}
        self._certain = certain
        self.leaves: list[tuple[tuple[int, ...], Slot, Any]] = []

    def start(self) -> None:
        """Find the leaves that are iteration arguments in this attempt."""
        self.leaves = []
        for number, value in enumerate(self._entry):
            self._collect((number,), value)

    def _collect(self, path: tuple[int, ...], value: Any) -> None:
        if is_tree(value):
            for number, item in enumerate(parts(value)):
                self._collect((*path, number), item)
        elif path in self._slots:
            self.leaves.append((path, self._slots[path], value))
        elif isinstance(value, Traced):
            self.leaves.append((path, slot_of(value), value))

    def values(self, handles: list[Handle]) -> Values:
        """The variables, with the leaves replaced by these handles."""
        wrapped = {
            path: slot.wrap(handle)
            for (path, slot, _), handle in zip(self.leaves, handles, strict=True)
        }

        def fill(path: tuple[int, ...], value: Any) -> Any:
            if path in wrapped:
                return wrapped[path]
            if is_tree(value):
                return rebuild(value, [fill((*path, i), v) for i, v in enumerate(parts(value))])
            return value

        return tuple(fill((number,), value) for number, value in enumerate(self._entry))

    def accept(self, entered: Values, left: Values) -> bool:
        """Whether the body leaves every variable with its type; if not, widen for a retry."""
        fits = True
        for number, name in enumerate(self._statement.names):
            fits &= self._accept((number,), name, entered[number], left[number])
        return fits

    def _accept(self, path: tuple[int, ...], name: str, before: Any, after: Any) -> bool:
        if same(before, after) or isinstance(after, (Undefined, Unset)):
            return True
        if isinstance(before, (Undefined, Unset)):
            return self._accept_new(path, name, before, after)
        if same_structure([before, after]):
            pairs = enumerate(zip(parts(before), parts(after), strict=True))
            return all([self._accept((*path, i), name, b, a) for i, (b, a) in pairs])
        try:
            slot = join(before, after)
        except Mismatch:
            raise self._mismatch(name, before, after) from None
        if path in self._slots or isinstance(before, Traced):
            if slot == (self._slots.get(path) or slot_of(before)):
                return True
        self._slots[path] = slot
        return False

    def _accept_new(self, path: tuple[int, ...], name: str, before: Any, after: Any) -> bool:
        """A variable that the body binds first: it is one of the body's own, mostly."""
        bound_after = self._certain and name in self._statement.read_after
        fillable = isinstance(before, Unset) or bound_after
        if not fillable or after is None:
            return True
        if is_tree(after):
            self._replace_entry(path, rebuild(after, [UNSET] * len(after)))
            return False
        if not (isinstance(after, Traced) or is_number(after)):
            return True
        self._slots[path] = slot_of(after)
        return False

    def _replace_entry(self, path: tuple[int, ...], value: Any) -> None:
        def replace(old: Any, rest: tuple[int, ...]) -> Any:
            if not rest:
                return value
            items = parts(old)
            items[rest[0]] = replace(items[rest[0]], rest[1:])
            return rebuild(old, items)

        self._entry = replace(self._entry, path)

    def _mismatch(self, name: str, before: Any, after: Any) -> TraceError:
        if name.startswith("__tilec_value"):
            first, second = describe_return(before), describe_return(after)
            return TraceError(
                f"the paths of this function return different things: {first} and {second}",
                hint="return the same number of values, of one dtype and shape, on every path",
            )
        where = ("the iteration before", "the next")
        return mismatch_error(name, self._statement, before, after, where)

    def yielded(self, emitter: Emitter, left: Values) -> list[Handle]:
        """The leaves as the body leaves them."""
        return [slot.handle(emitter, _at(left, path)) for path, slot, _ in self.leaves]

    def initial(self, emitter: Emitter) -> list[Handle]:
        """The leaves before the loop."""
        return [slot.handle(emitter, value) for _, slot, value in self.leaves]

    def after(self, results: list[Handle], left: Values) -> Values:
        """The variables after the loop; what only the body binds is unbound there."""
        values = list(self.values(results))
        for number, name in enumerate(self._statement.names):
            if isinstance(values[number], Undefined) and not isinstance(left[number], Undefined):
                values[number] = unbound_after(name, self._statement)
        return tuple(values)


def _at(values: Any, path: tuple[int, ...]) -> Any:
    for step in path:
        if isinstance(values, Unset):
            return values
        values = parts(values)[step]
    return values


def unbound_after(name: str, statement: Statement) -> Undefined:
    """A variable that is bound inside a device loop only."""
    reason = (
        f"{name} is bound only inside the `{statement.kind}`, which may run zero times"
        if name not in statement.targets
        else f"{name} is the variable of this device loop, and exists only inside it"
    )
    return Undefined(name, reason, statement.span)


class _Loop:
    """What `for` and `while` share."""

    def __init__(self, statement: Statement) -> None:
        self._statement = statement
        self._entry: Values = ()
        self._entered: Values = ()
        self._before: Values = ()
        self._left: Values = ()
        self._attempts = 0
        self._carried: _Carried | None = None
        self._checkpoint: Any = None
        self._op: Any = None
        self._after: Values = ()

    def _enter(self, values: Values) -> None:
        """Begin an iteration; the body may change lists and dicts in place."""
        self._entered = values
        self._before = tuple(map(copied, values))

    def _exit_flags(self, values: Values) -> list[Any]:
        names = self._statement.names
        return [values[names.index(name)] for name in self._statement.exits]

    def _device(self, certain: bool) -> _Carried:
        """Begin another attempt at a device loop."""
        refuse_mutations(self._statement)
        self._attempts += 1
        if self._attempts > _RETRIES:
            raise TraceError(
                f"the types of the variables of this `{self._statement.kind}` do not settle"
            )
        if self._carried is None:
            self._carried = _Carried(self._statement, self._entry, certain)
            self._checkpoint = current().checkpoint()
        else:
            current().rollback(self._checkpoint)
        self._carried.start()
        return self._carried

    def _while_op(self, emitter: Emitter, initial: list[Handle]) -> tuple[Block, Block]:
        """Emit an scf.while and its two blocks, which take the same types."""
        types = [handle.type for handle in initial]
        self._op = emitter.op("scf.while", initial, types, regions=2)
        before, after = (emitter.add_block(region, types) for region in self._op.regions)
        return before, after


class ForLoop(_Loop):
    """The state of one `for` statement; the rewritten code drives it (see `control_flow`)."""

    def __init__(self, statement: Statement, iterable: Any) -> None:
        super().__init__(statement)
        if isinstance(iterable, range) and len(iterable) > UNROLL_LIMIT:
            iterable = RuntimeRange(iterable.start, iterable.stop, iterable.step)
        self._range = iterable if isinstance(iterable, RuntimeRange) else None
        self._items = iter(()) if self._range is not None else iter(iterable)
        self._item: Any = None
        self._done = False

    # -- Python's own loop, or the attempts at a device loop -----------------------------------

    def advance(self, values: Values) -> bool:
        """Whether the body is to be run (again)."""
        if self._range is None:
            self._entered = values
            flags = self._exit_flags(values)
            if any(flag is True for flag in flags):
                return False
            for item in self._items:
                self._item = item
                return True
            return False
        if self._attempts == 0:
            self._entry = values
        elif self._done:
            return False
        self._begin(current(), self._range)
        return True

    def enter(self) -> Values:
        """The variables at the start of an iteration."""
        return self._entered

    def item(self) -> Any:
        """The loop variable."""
        return self._item

    def guard(self, flags: Values) -> Any:
        """Whether an unrolled iteration runs: no traced flag has ended the loop."""
        return True if self._range is not None else none_of(*flags)

    def leave(self, values: Values) -> None:
        """The variables at the end of an iteration."""
        if self._range is None:
            return
        assert self._carried is not None
        self._left = values
        if self._carried.accept(self._before, values):
            self._finish(current(), values)
            self._done = True

    def results(self, values: Values) -> Values:
        """The variables after the loop."""
        return values if self._range is None else self._after

    def after(self, name: str, value: Any) -> Any:
        """A loop variable after the loop."""
        return value if self._range is None else unbound_after(name, self._statement)

    # -- the device loop ---------------------------------------------------------------------

    def _begin(self, emitter: Emitter, bounds: RuntimeRange) -> None:
        carried = self._device(bounds.certain)
        start, step = bounds.start, bounds.step
        upward = is_number(step) and step > 0  # type: ignore[operator]
        if upward:
            limits = self._limits(start, bounds.stop, step)
        else:  # count the iterations: scf.for only goes up
            limits = self._limits(0, maximum(cdiv(bounds.stop - start, step), 0), 1)  # type: ignore[operator]
        initial = carried.initial(emitter)
        if self._statement.exits:
            position, arguments = self._begin_while(emitter, limits, initial)
        else:
            position, arguments = self._begin_for(emitter, limits, initial)
        item: Any = Scalar(position, INDEX, weak=True)
        self._enter(carried.values(arguments))
        self._item = item if upward else start + item * step  # type: ignore[operator]

    def _limits(self, *values: Operand) -> list[Handle]:
        return [index_handle("range", value) for value in values]

    def _begin_for(
        self, emitter: Emitter, limits: list[Handle], initial: list[Handle]
    ) -> tuple[Handle, list[Handle]]:
        types = [handle.type for handle in initial]
        self._op = emitter.op("scf.for", [*limits, *initial], types, regions=1)
        index = emitter.dialects.type("index")
        block = emitter.add_block(self._op.regions[0], [index, *types])
        emitter.move_to(block)
        return block.arguments[0], list(block.arguments)[1:]

    def _begin_while(
        self, emitter: Emitter, limits: list[Handle], initial: list[Handle]
    ) -> tuple[Handle, list[Handle]]:
        """A loop that can end early: position and flags are part of its condition."""
        assert self._carried is not None
        lower, upper, stride = limits
        before, after = self._while_op(emitter, [lower, *initial])
        emitter.move_to(before)
        arguments = list(before.arguments)
        position = Scalar(arguments[0], INDEX, weak=True)
        inside = position < Scalar(upper, INDEX, weak=True)
        flags = self._exit_flags(self._carried.values(arguments[1:]))
        go_on = both(inside, none_of(*flags))
        emitter.op("scf.condition", [go_on.handle, *arguments])
        emitter.move_to(after)
        self._stride = Scalar(stride, INDEX, weak=True)
        self._position = Scalar(after.arguments[0], INDEX, weak=True)
        return after.arguments[0], list(after.arguments)[1:]

    def _finish(self, emitter: Emitter, left: Values) -> None:
        assert self._carried is not None
        yielded = self._carried.yielded(emitter, left)
        results = list(self._op.results)
        if self._statement.exits:
            yielded.insert(0, (self._position + self._stride).handle)
            results = results[1:]
        emitter.op("scf.yield", yielded)
        emitter.move_to(self._checkpoint[0])
        self._after = self._carried.after(results, left)


class WhileLoop(_Loop):
    """The state of one `while` statement; the rewritten code drives it (see `control_flow`)."""

    def __init__(self, statement: Statement) -> None:
        super().__init__(statement)
        self._on_device = False
        self._done = False
        self._iterations = 0
        self._bodies: tuple[Block, Block] | None = None
        self._inside: Values = ()

    def advance(self, values: Values) -> bool:
        """Whether the condition is to be evaluated (again)."""
        if self._done:
            return False
        if not self._on_device:
            self._iterations += 1
            if self._iterations > _PYTHON_LIMIT:
                raise TraceError(
                    f"this `while` has run {_PYTHON_LIMIT} times while tracing, and its condition "
                    "is still a compile-time True"
                )
            self._entry = values
            self._checkpoint = current().checkpoint()
        return True

    def enter(self) -> Values:
        """The variables that the condition sees."""
        if not self._on_device:
            self._entered = self._entry
            return self._entry
        emitter = current()
        carried = self._device(certain=False)
        before, after = self._while_op(emitter, carried.initial(emitter))
        self._bodies = (before, after)
        emitter.move_to(before)
        self._enter(carried.values(list(before.arguments)))
        return self._entered

    def test(self, condition: Any, values: Values) -> bool:
        """Whether to run the body, given its condition and the variables after evaluating it."""
        if self._on_device:
            self._condition(current(), condition, values)
            return True
        flag = truth(condition)
        go_on = both(flag, none_of(*self._exit_flags(values)))
        if isinstance(go_on, bool):
            self._done = not go_on
            self._inside = values
            self._after = values
            return go_on
        self._restart_on_device()
        return False

    def _restart_on_device(self) -> None:
        current().rollback(self._checkpoint)
        self._on_device = True
        self._carried = _Carried(self._statement, self._entry, certain=False)

    def _condition(self, emitter: Emitter, condition: Any, values: Values) -> None:
        assert self._carried is not None and self._bodies is not None
        go_on = both(truth(condition), none_of(*self._exit_flags(values)))
        if isinstance(go_on, bool):
            go_on = Scalar(emitter.constant(go_on, dtypes.bool_, None), dtypes.bool_, weak=True)
        forwarded = self._carried.yielded(emitter, values)
        emitter.op("scf.condition", [go_on.handle, *forwarded])
        emitter.move_to(self._bodies[1])
        self._inside = self._carried.values(list(self._bodies[1].arguments))

    def body(self) -> Values:
        """The variables that the body sees."""
        return self._inside

    def leave(self, values: Values) -> None:
        """The variables at the end of an iteration."""
        if not self._on_device:
            if any(isinstance(flag, Traced) for flag in self._exit_flags(values)):
                self._restart_on_device()  # only the device knows whether the loop goes on
            return
        assert self._carried is not None
        if self._carried.accept(self._before, values):
            emitter = current()
            emitter.op("scf.yield", self._carried.yielded(emitter, values))
            emitter.move_to(self._checkpoint[0])
            self._after = self._carried.after(list(self._op.results), values)
            self._done = True

    def results(self, values: Values) -> Values:
        """The variables after the loop."""
        return self._after if self._on_device else values


def none_of(*flags: Any) -> Any:
    """Whether no flag is set: a Python bool if that is known, else a run-time bool."""
    result: Any = True
    for flag in flags:
        if flag is True:
            return False
        if isinstance(flag, Traced):
            result = both(result, bitwise("^", flag, True))
    return result


def both(left: Any, right: Any) -> Any:
    """Both of two conditions, each a Python bool or a run-time bool."""
    if isinstance(left, bool):
        return right if left else False
    if isinstance(right, bool):
        return left if right else False
    return bitwise("&", left, right)
