"""From a Python function to a module with one `tile.kernel`: run its body once, on proxies."""

from __future__ import annotations

import builtins
import difflib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from types import FunctionType, TracebackType
from typing import Any

from tilec.diagnostics import ControlFlowError, Frame, Span, TilecError, TraceError
from tilec.lang.emit import Emitter, Handle, emitting, endless_recursion, is_tracing
from tilec.lang.source import (
    Position,
    frame_of,
    is_internal,
    positions_of_traceback,
)
from tilec.lang.values import Scalar
from tilec.lang.views import Partition, TensorView, View, ViewType
from tilec.trace.functions import Converter, call_rewritten
from tilec.trace.options import KernelOptions
from tilec.trace.signature import ConstantSpec, ScalarSpec, Signature, Spec, TupleSpec, ViewSpec
from tilec.trace.source_code import is_generator

_LONGEST_CHAIN = 8


@dataclass(frozen=True)
class Traced:
    """What a trace gives.

    Attributes:
        bytecode: MLIR bytecode, with locations, of a module that holds one `tile.kernel`.
        arg_names: Names of the flat run-time arguments.
    """

    bytecode: bytes
    arg_names: tuple[str, ...]


def trace(
    fn: FunctionType, name: str, signature: Signature, options: KernelOptions | None = None
) -> Traced:
    """Trace a kernel for one specialization.

    Args:
        fn: The function as the author wrote it.
        name: The kernel's symbol.
        signature: One spec per parameter of ``fn``, in order.
        options: The kernel's options; nothing in a trace depends on them.

    Raises:
        TraceError: The function does something that cannot be traced; says where.
    """
    del options
    if is_tracing():
        raise TraceError(
            f"kernel {name} is defined or called inside a kernel",
            hint="kernels are launched from the host; share code in a plain function",
        )
    names = _parameter_names(fn, name, signature)
    flat = [
        leaf
        for parameter in zip(names, signature.specs, strict=True)
        for leaf in _flatten(*parameter)
    ]
    emitter = Emitter(_run.__code__, _definition(fn))
    block = _begin_kernel(emitter, name, flat, signature.grouped)
    converter = Converter()
    arguments = _Arguments(list(block.arguments))
    values = {
        parameter: arguments.proxy(parameter, spec)
        for parameter, spec in zip(names, signature.specs, strict=True)
    }
    with emitter.at(block), emitting(emitter, call_rewritten(converter)):
        result = _run_contained(fn, values, converter)
        if result is not None:
            raise TraceError(
                f"kernel {name} returns a value",
                frames=[_definition(fn)],
                hint="kernels return nothing; write results with y.store(tile)",
            )
        emitter.op_at_definition("tile.return")
    return Traced(emitter.finish(), tuple(leaf for leaf, _ in flat))


# -- the kernel op and its arguments -------------------------------------------------------------


def _parameter_names(fn: FunctionType, name: str, signature: Signature) -> list[str]:
    if is_generator(fn.__code__):
        raise TraceError(f"kernel {name} is a generator or coroutine", frames=[_definition(fn)])
    parameters = inspect.signature(fn).parameters.values()
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise TraceError(
                f"kernel {name} takes a variable number of arguments ({parameter})",
                frames=[_definition(fn)],
                hint="pass a tuple",
            )
    if len(parameters) != len(signature.specs):
        raise TraceError(
            f"kernel {name} has {len(parameters)} parameters, the signature {len(signature.specs)}"
        )
    return [parameter.name for parameter in parameters]


def _flatten(name: str, spec: Spec) -> Iterator[tuple[str, ViewSpec | ScalarSpec]]:
    if isinstance(spec, TupleSpec):
        for number, item in enumerate(spec.items):
            yield from _flatten(f"{name}[{number}]", item)
    elif isinstance(spec, (ViewSpec, ScalarSpec)):
        yield name, spec


def _view_type(spec: ViewSpec) -> ViewType:
    return ViewType(
        spec.dtype,
        spec.access,
        spec.unit_strides,
        spec.divisible,
        spec.stride_align,
        spec.align,
        spec.index_bits,
    )


def _mlir_type(emitter: Emitter, spec: ViewSpec | ScalarSpec) -> Any:
    if isinstance(spec, ScalarSpec):
        return emitter.type_of(spec.dtype, None)
    text = str(_view_type(spec))
    if spec.tile_shape is not None:
        text = f"!tile.partition<{'x'.join(map(str, spec.tile_shape))} of {text}>"
    return emitter.dialects.type(text)


def _begin_kernel(
    emitter: Emitter, name: str, flat: list[tuple[str, ViewSpec | ScalarSpec]], grouped: bool
) -> Any:
    """Emit the kernel op; returns its block."""
    dialects = emitter.dialects
    types = [_mlir_type(emitter, spec) for _, spec in flat]
    function = dialects.ir.FunctionType.get(types, [], context=dialects.context)
    attributes = {
        "sym_name": dialects.string(name),
        "function_type": dialects.ir.TypeAttr.get(function, context=dialects.context),
        "arg_names": dialects.array([dialects.string(leaf) for leaf, _ in flat]),
    }
    if grouped:
        attributes["tile.grouped"] = dialects.unit()
    with emitter.at(emitter.module.body):
        op = emitter.op_at_definition("tile.kernel", attributes, regions=1)
        return emitter.add_block(op.regions[0], types)


class _Arguments:
    """Turns specs into proxies, taking the kernel's block arguments in order."""

    def __init__(self, handles: list[Handle]) -> None:
        self._handles = iter(handles)

    def proxy(self, name: str, spec: Spec) -> Any:
        """What the author's parameter holds."""
        if isinstance(spec, ConstantSpec):
            return spec.value
        if isinstance(spec, TupleSpec):
            items = enumerate(spec.items)
            return tuple(self.proxy(f"{name}[{number}]", item) for number, item in items)
        handle = next(self._handles)
        if isinstance(spec, ScalarSpec):
            return Scalar(handle, spec.dtype, weak=True)
        return self._view(handle, spec, name)

    def _view(self, handle: Handle, spec: ViewSpec, name: str) -> View:
        if spec.tile_shape == "auto":
            raise TraceError(f"the tile of {name} is not chosen yet: plan before tracing")
        if spec.tile_shape is not None:
            return Partition(handle, _view_type(spec), spec.tile_shape, name)
        return TensorView(handle, _view_type(spec), name)


# -- running the body, and what goes wrong there -------------------------------------------------


def _run_contained(fn: FunctionType, values: dict[str, Any], converter: Converter) -> Any:
    """Run the body; whatever it raises becomes an error of ours with the author's place."""
    try:
        return _run(converter.kernel(fn), values)
    except TilecError as error:
        raise _placed(error, error.__traceback__, converter).with_traceback(None) from None
    except RecursionError as error:
        chain = _chain(error.__traceback__)
        refusal = endless_recursion(chain[0].code.co_name)
        refusal.frames = (*_frames(chain), *_launch_site())
        raise refusal.with_traceback(None) from None
    except Exception as error:
        raise _foreign(error, converter).with_traceback(None) from error


def _run(fn: FunctionType, values: dict[str, Any]) -> Any:
    """The frame below which the author's call chain begins."""
    return fn(**values)


def _definition(fn: FunctionType) -> Frame:
    code = fn.__code__
    return Frame(Span(code.co_filename, code.co_firstlineno), fn.__name__)


def _chain(traceback: TracebackType | None) -> list[Position]:
    return positions_of_traceback(traceback)


def _frames(positions: list[Position]) -> list[Frame]:
    """A call chain as frames; the middle of a very long one is left out."""
    if len(positions) > _LONGEST_CHAIN:
        positions = [*positions[: _LONGEST_CHAIN - 2], *positions[-2:]]
    return [frame_of(position) for position in positions]


def _placed(error: TilecError, traceback: TracebackType | None, converter: Converter) -> TilecError:
    """Give an error the author's place, unless it has one."""
    positions = _chain(traceback)
    frames = [*error.frames, *_frames(positions)[len(error.frames) :]]
    error.frames = (*frames, *_launch_site())
    if isinstance(error, ControlFlowError):
        error.hint = _why_plain_python(positions, converter) or error.hint
    return error


def _why_plain_python(positions: list[Position], converter: Converter) -> str | None:
    """Why the place of an error, or a function that led there, was not rewritten."""
    for position in positions:
        reason = converter.unchanged.get(position.code)
        if reason is not None:
            return (
                f"{position.code.co_name} runs as plain Python, without control flow on run-time "
                f"values, because {reason}"
            )
    return None


def _launch_site() -> list[Frame]:
    """Where the host program launched the kernel."""
    frame = inspect.currentframe()
    while frame is not None and is_internal(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return []
    return [frame_of(Position(frame.f_code, frame.f_lasti, frame.f_lineno))]


def _foreign(error: Exception, converter: Converter) -> TraceError:
    """A Python exception of the author's code, as an error of ours."""
    positions = _chain(error.__traceback__)
    message = f"{type(error).__name__}: {error}"
    hint: str | None = None
    if isinstance(error, NameError):
        message, hint = str(error), None
    elif isinstance(error, AttributeError):
        message, hint = str(error), _attribute_hint(error)
    elif "__array_ufunc__" in str(error):
        message = "NumPy functions do not take tiles"
        hint = "use the function of the same name in tilec, e.g. tl.exp for np.exp"
    return TraceError(
        message,
        frames=[*_frames(positions), *_launch_site()],
        hint=hint,
    )


def _attribute_hint(error: AttributeError) -> str | None:
    name, owner = getattr(error, "name", None), getattr(error, "obj", None)
    if not isinstance(name, str):
        return None
    close = difflib.get_close_matches(name, dir(owner), n=1)
    if close:
        return f"did you mean {close[0]}?"
    known = ", ".join(n for n in dir(owner) if not n.startswith("_"))
    return f"it has: {known}" if builtins.len(known) < 200 else None
