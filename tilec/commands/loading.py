"""Finding kernels, their example arguments and a target, as the command line names them."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from tilec import _runtime
from tilec.compiler.target import TARGETS, Target
from tilec.diagnostics import DriverError, TilecError
from tilec.jit.described import parse_arguments
from tilec.jit.kernel import Kernel

EXAMPLES = "__tilec_examples__"
"""Name of a module's table: kernel name -> description of arguments, or a tuple of them."""


class CommandError(TilecError):
    """What the command line names cannot be found or used."""


@dataclass(frozen=True)
class Example:
    """A kernel and arguments to compile it for.

    Attributes:
        kernel: the kernel.
        text: the description of its arguments, see tilec.jit.described.
    """

    kernel: Kernel
    text: str

    def arguments(self) -> tuple[list[Any], dict[str, Any]]:
        """Return positional and keyword arguments.

        Raises:
            DescriptionError: the text cannot be understood.
        """
        return parse_arguments(self.text)


def examples_of(place: str, given: Sequence[str] = ()) -> list[Example]:
    """Return what ``FILE.py``, ``FILE.py::kernel`` or ``package.module::kernel`` names.

    Args:
        place: file or module, and perhaps a kernel in it; all its kernels otherwise.
        given: descriptions of arguments that go before those of the module's table.

    Raises:
        CommandError: there is no such file, module or kernel, or no arguments are known for it.
    """
    name, _, kernel_name = place.partition("::")
    module = _load(name)
    kernels = _kernels_of(module, name, kernel_name)
    if given and len(kernels) > 1:
        raise CommandError(
            f"--args is for one kernel, but {name} has {', '.join(kernels)}",
            hint=f"name one: {name}::{next(iter(kernels))}",
        )
    table: dict[str, str | Sequence[str]] = getattr(module, EXAMPLES, {})
    return [
        Example(kernel, text)
        for name, kernel in kernels.items()
        for text in _texts(name, given, table)
    ]


def choose_target(name: str | None) -> Target:
    """Return the named target, or that of the first GPU.

    Raises:
        CommandError: none is named and there is no GPU.
        UnsupportedTargetError: it is not in the table.
    """
    if name is not None:
        return Target.parse(name)
    found = gpu_capability()
    if found is None:
        raise CommandError(
            "there is no GPU here to compile for",
            hint=f"name a target: --target {' | '.join(TARGETS)}",
        )
    return Target.of_capability(*found)


def gpu_capability() -> tuple[int, int] | None:
    """Return the compute capability of the first GPU, or None without a GPU or a driver."""
    try:
        if _runtime.device_count() == 0:
            return None
        major, minor = _runtime.device_properties(0)["capability"]
    except DriverError:
        return None
    return major, minor


def _load(name: str) -> ModuleType:
    path = Path(name)
    if path.suffix != ".py":
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            raise CommandError(f"there is no module {error.name}") from None
    if not path.is_file():
        raise CommandError(f"there is no file {name}")
    # As Python runs a script: what lies beside the file can be imported.
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _kernels_of(module: ModuleType, name: str, wanted: str) -> dict[str, Kernel]:
    defined = ((key, getattr(value, "kernel", value)) for key, value in vars(module).items())
    found = {key: value for key, value in defined if isinstance(value, Kernel)}
    if not found:
        raise CommandError(f"{name} holds no kernel")
    if not wanted:
        return {key: value for key, value in found.items() if not key.startswith("_")} or found
    if wanted not in found:
        raise CommandError(f"{name} holds no kernel {wanted}, only {', '.join(found)}")
    return {wanted: found[wanted]}


def _texts(name: str, given: Sequence[str], table: dict[str, str | Sequence[str]]) -> Sequence[str]:
    if given:
        return given
    if name not in table:
        raise CommandError(
            f"no arguments are known for kernel {name}",
            hint=f'give --args "bf16[64,128]:partition(1,128) bf16[64,128]", or put '
            f'{EXAMPLES} = {{"{name}": "…"}} into its module',
        )
    texts = table[name]
    return [texts] if isinstance(texts, str) else texts
