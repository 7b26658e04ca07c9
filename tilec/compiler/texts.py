"""The texts of a compiled kernel by phase; the machine code's is made when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tilec.compiler.disassemble import disassemble

SASS = "sass"


class Texts(Mapping[str, str]):
    """Text by phase: those kept while compiling, ``"ptx"``, and ``"sass"``.

    Raises:
        KeyError: the phase was not kept.
        CompileError: ``"sass"`` was asked for and there is no disassembler.
    """

    def __init__(self, texts: Mapping[str, str], cubin: bytes) -> None:
        self._texts = dict(texts)
        self._cubin = cubin

    def __getitem__(self, phase: str) -> str:
        if phase == SASS:
            self._texts[SASS] = self._texts.get(SASS) or disassemble(self._cubin)
        if phase not in self._texts:
            raise KeyError(f"{phase!r} was not kept, there are {', '.join(self)}")
        return self._texts[phase]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._texts, SASS: None})

    def __len__(self) -> int:
        return len(self._texts.keys() | {SASS})
