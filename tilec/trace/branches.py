"""`if` while tracing: Python's own when the condition is a constant, else an scf.if."""

from __future__ import annotations

from typing import Any

from tilec.diagnostics import Note, TraceError
from tilec.lang.emit import Block, Emitter, current
from tilec.lang.values import Tile, Traced, Undefined
from tilec.trace.slots import (
    UNSET,
    Mismatch,
    Slot,
    Unset,
    copied,
    describe_value,
    is_tree,
    join,
    parts,
    rebuild,
    same,
    same_structure,
)
from tilec.trace.statements import Statement

Values = tuple[Any, ...]


class Branch:
    """The state of one `if` statement; the rewritten code drives it (see `control_flow`)."""

    def __init__(self, statement: Statement, condition: Any) -> None:
        self._statement = statement
        self._condition = condition  # a Python bool, or an MLIR i1
        self._is_static = isinstance(condition, bool)
        self._arm = -1
        self._entry: Values = ()
        self._left: list[Values] = []
        self._op: Any = None
        self._blocks: list[Block] = []
        self._outside: Block = None
        self.then = bool(condition) if self._is_static else True

    def advance(self, values: Values) -> bool:
        """Whether there is an arm (left) to run."""
        self._arm += 1
        if self._is_static:
            self._entry = values
            return self._arm == 0
        emitter = current()
        if self._arm == 0:
            self._entry = values
            self._begin(emitter)
        self.then = self._arm == 0
        if self._arm < 2:
            emitter.move_to(self._blocks[self._arm])
            return True
        emitter.move_to(self._outside)
        return False

    def _begin(self, emitter: Emitter) -> None:
        refuse_mutations(self._statement)
        self._outside = emitter.block
        self._op = emitter.op("scf.if", (self._condition,), (), regions=2)
        self._blocks = [emitter.add_block(region) for region in self._op.regions]

    def enter(self) -> Values:
        """The variables as they are before the statement."""
        return self._entry if self._is_static else tuple(map(copied, self._entry))

    def leave(self, values: Values) -> None:
        """The variables as an arm leaves them."""
        self._left.append(values)

    def results(self, values: Values) -> Values:
        """The variables after the statement."""
        if self._is_static:
            return values
        merge = _Merge(self._statement, current(), self._blocks)
        merged = tuple(
            merge.value(name, list(arms))
            for name, arms in zip(self._statement.names, zip(*self._left, strict=True), strict=True)
        )
        return merge.finish(self._op, self._condition, self._outside, merged)


class _Result:
    """Stands for a result of the scf.if until that exists."""

    def __init__(self, number: int, slot: Slot) -> None:
        self.number = number
        self.slot = slot


class _Merge:
    """Collects what the arms of an scf.if yield."""

    def __init__(self, statement: Statement, emitter: Emitter, blocks: list[Block]) -> None:
        self._statement = statement
        self._emitter = emitter
        self._blocks = blocks
        self._slots: list[Slot] = []
        self._yields: list[list[Any]] = [[], []]

    def value(self, name: str, arms: list[Any]) -> Any:
        """The value of a variable after the statement; results are placeholders yet."""
        left, right = arms
        if same(left, right):
            return left
        if same_structure(arms):
            pairs = zip(parts(left), parts(right), strict=True)
            items = [self.value(name, list(pair)) for pair in pairs]
            return rebuild(left, items)
        if isinstance(left, Undefined) or isinstance(right, Undefined):
            return self._undefined(name, left, right)
        if isinstance(left, Unset) or isinstance(right, Unset):
            filled = right if isinstance(left, Unset) else left
            if is_tree(filled):  # fill item by item
                blank = rebuild(filled, [UNSET] * len(filled))
                pair = [blank if v is UNSET else v for v in arms]
                return self.value(name, pair)
            if filled is None:
                return None
            left, right = filled, filled
        try:
            slot = join(left, right)
        except Mismatch:
            raise self._mismatch(name, arms) from None
        for arm, value in enumerate(arms):
            with self._emitter.at(self._blocks[arm]):
                self._yields[arm].append(slot.handle(self._emitter, value))
        self._slots.append(slot)
        return _Result(len(self._slots) - 1, slot)

    def _undefined(self, name: str, left: Any, right: Any) -> Undefined:
        if isinstance(left, Undefined) and isinstance(right, Undefined):
            return left
        arm = "else" if isinstance(right, Undefined) else "first"
        if name.startswith("__tilec_continue"):
            return Undefined(name, "", self._statement.span)
        reason = (
            f"{name} is bound in one arm only of the `if` on a run-time value "
            f"(not in the {arm} arm)"
        )
        return Undefined(name, reason, self._statement.span)

    def _mismatch(self, name: str, arms: list[Any]) -> TraceError:
        if name.startswith("__tilec_value"):
            first, second = (describe_return(v) for v in arms)
            return TraceError(
                f"the paths of this function return different things: {first} and {second}",
                notes=[Note("the paths part here", self._statement.span)],
                hint="return the same number of values, of one dtype and shape, on every path",
            )
        return mismatch_error(name, self._statement, arms[0], arms[1], ("one arm", "the other"))

    def finish(
        self, op: Any, condition: Any, outside: Block, merged: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        """Give the scf.if its results, and put them where the placeholders are."""
        emitter = self._emitter
        for block, handles in zip(self._blocks, self._yields, strict=True):
            with emitter.at(block):
                emitter.op("scf.yield", handles)
        if not self._slots:
            return merged
        types = [slot.type(emitter) for slot in self._slots]
        emitter.move_to(outside)
        final = emitter.op("scf.if", (condition,), types, regions=2)
        for block, region in zip(self._blocks, final.regions, strict=True):
            block.append_to(region)
        op.operation.erase()
        return tuple(_fill(value, final.results) for value in merged)


def _fill(value: Any, results: Any) -> Any:
    if isinstance(value, _Result):
        return value.slot.wrap(results[value.number])
    if is_tree(value):
        return rebuild(value, [_fill(item, results) for item in parts(value)])
    return value


def describe_return(value: Any) -> str:
    """What a path returns, in an error text."""
    if value is None or isinstance(value, Unset):
        return "nothing"
    if is_tree(value):
        return f"{len(value)} values"
    return describe_value(value)


def refuse_mutations(statement: Statement) -> None:
    """Refuse changes of objects in code that the device may run any number of times.

    Raises:
        TraceError: The statement assigns an attribute, or an element of a global.
    """
    for text, span in statement.mutations:
        raise TraceError(
            f"{text} is changed inside a `{statement.kind}` on a run-time value",
            notes=[Note("it is changed here", span)],
            hint="assign a local variable there, and the attribute or element after it",
        )


def mismatch_error(
    name: str, statement: Statement, left: Any, right: Any, where: tuple[str, str]
) -> TraceError:
    """The error of a variable that has two types where paths meet."""
    places = statement.places.get(name, [])
    notes = [Note(f"{name} is assigned here", span) for span in places[:3]]
    hint = None
    if isinstance(left, Traced) and isinstance(right, Traced) and left.dtype is not right.dtype:
        hint = f"convert one of them, e.g. .to(tl.{left.dtype})"
    return TraceError(
        f"{name} is {describe_value(left)} in {where[0]} and {describe_value(right)} in {where[1]}"
        f" of this `{statement.kind}` on a run-time value",
        notes=notes,
        hint=hint,
    )


def truth(value: Any) -> Any:
    """A condition as a Python bool, or as a run-time bool of one element.

    Raises:
        ControlFlowError: A tile of several elements.
    """
    if not isinstance(value, Traced):
        return bool(value)
    if any(extent != 1 for extent in value.shape):
        bool(value)  # raises, and says why
    flag = value if value.dtype.is_bool else value != 0
    return flag.item() if isinstance(flag, Tile) else flag
