"""Files for the people who work on the compiler: phase dumps and reproducers.

Each carries the exact ``tilec-opt`` command that repeats its step.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tilec import settings
from tilec.compiler import containment

PIPELINES = {"traced": "tilec-tile", "tile": "tilec-tilegpu", "tilegpu": "tilec-llvm"}
"""The named pipeline that leads from the text of a phase to the next phase."""


def write_phases(
    directory: Path,
    name: str,
    texts: Mapping[str, str],
    options: Mapping[str, Any],
    results: Mapping[str, bytes],
) -> Path:
    """Write the text of every phase and the results into a directory of their own.

    Args:
        directory: the setting ``TILEC_DUMP``.
        name: what the kernel's directory is called.
        texts: text by phase, in order.
        options: what the compiler was told.
        results: content by file suffix.

    Returns:
        The kernel's directory.
    """
    place = directory / name
    place.mkdir(parents=True, exist_ok=True)
    for index, (phase, text) in enumerate(texts.items()):
        path = place / f"{index}-{phase}.{'ll' if phase == 'llvm' else 'mlir'}"
        if phase in PIPELINES:
            text = f"// {command(path, [PIPELINES[phase]], options)}\n{text}"
        path.write_text(text)
    for suffix, content in results.items():
        (place / f"kernel.{suffix}").write_bytes(content)
    return place


def write_reproducer(bytecode: bytes, message: str, options: Mapping[str, Any]) -> Path | None:
    """Write the module a compiler fault happened on; return the file, or None if that fails too."""
    try:
        text = containment.extension().print_module(bytecode, True)
        content, suffix = text.encode(), ".mlir"
    except ValueError:  # not even printing it works: keep the bytes
        content, suffix = bytecode, ".mlirbc"
    try:
        path = _new_file(suffix)
        if suffix == ".mlir":
            content = _heading(path, message, options).encode() + content
        path.write_bytes(content)
    except OSError:
        return None
    return path


def command(path: Path, pipelines: list[str], options: Mapping[str, Any]) -> str:
    """Return the ``tilec-opt`` command that runs named pipelines on a file."""
    flags: list[str] = []
    for pipeline in pipelines:
        if pipeline == "tilec-tilegpu":
            flags.append(f"--{pipeline}='{_codegen_options(options)}'")
        else:
            flags.append(f"--{pipeline}")
    return " ".join(["tilec-opt", *flags, str(path)])


def _codegen_options(options: Mapping[str, Any]) -> str:
    hints = [
        f"{hint.replace('_', '-')}={options[hint]}"
        for hint in ("num_warps", "num_stages")
        if options.get(hint)
    ]
    return " ".join([f"target={options['target']['name']}", *hints])


def _heading(path: Path, message: str, options: Mapping[str, Any]) -> str:
    pipelines = list(PIPELINES.values())
    if options.get("fault"):
        pipelines[0:1] = [pipelines[0], f"tilec-inject-fault=kind={options['fault']}"]
    lines = [message, command(path, pipelines, options), f"options: {json.dumps(options)}"]
    return "".join(f"// {line}\n" for text in lines for line in text.splitlines())


def _new_file(suffix: str) -> Path:
    """Make an empty file of a new name: among the dumps, in the cache directory, else anywhere."""
    for directory in (settings.current().dump_dir, _home()):
        try:
            if directory is not None:
                directory.mkdir(mode=0o700, parents=True, exist_ok=True)
                return _make(suffix, directory)
        except OSError:
            continue
    return _make(suffix, None)


def _make(suffix: str, directory: Path | None) -> Path:
    descriptor, name = tempfile.mkstemp(suffix, "tilec-fault-", directory)
    os.close(descriptor)
    return Path(name)


def _home() -> Path | None:
    chosen = settings.current().cache_dir
    if chosen is not None:
        return chosen / "faults"
    from platformdirs import user_cache_path

    path = user_cache_path("tilec", appauthor=False)
    return path / "faults" if path.is_absolute() else None
