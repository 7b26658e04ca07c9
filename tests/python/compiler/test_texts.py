import pytest

from tilec.compiler import texts as texts_module
from tilec.compiler.phases import Compiled


def test_asm_has_phases_ptx_and_sass(monkeypatch):
    calls = []

    def disassemble(cubin):
        calls.append(cubin)
        return "STG.E"

    monkeypatch.setattr(texts_module, "disassemble", disassemble)
    asm = Compiled(ptx="// ptx", cubin=b"\x7fELF", plan={}, phases={"tile": "tile.load"}).asm
    assert (asm["tile"], asm["ptx"]) == ("tile.load", "// ptx")
    assert calls == []  # nothing is disassembled that nobody wants to see
    assert (asm["sass"], asm["sass"]) == ("STG.E", "STG.E")
    assert calls == [b"\x7fELF"]
    assert list(asm) == ["tile", "ptx", "sass"]
    assert len(asm) == 3


def test_asm_phase_that_was_not_kept_is_a_key_error():
    asm = Compiled(ptx="// ptx", cubin=b"", plan={}).asm
    with pytest.raises(KeyError, match="'tilegpu' was not kept, there are ptx, sass"):
        asm["tilegpu"]
