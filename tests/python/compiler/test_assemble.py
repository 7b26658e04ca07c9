import pytest

from tilec.compiler import assemble as assemble_module
from tilec.compiler.assemble import (
    Unavailable,
    assemble,
    find_ptxas,
)
from tilec.compiler.target import TARGETS
from tilec.diagnostics import CompileError, DriverError

SM90 = TARGETS["sm_90a"]


def kernel(body="ret;", head=""):
    return (
        f'.version 8.0\n.target sm_90a\n.address_size 64\n.file 1 "/src/kernel.py"\n{head}\n'
        f".visible .entry k(.param .u64 p)\n{{\n{body}\n}}\n"
    )


def spilling():
    count = 64
    names = ",".join(f"%f{i}" for i in range(count))
    loads = "\n".join(f"ld.volatile.global.f32 %f{i}, [%rd0+{4 * i}];" for i in range(count))
    stores = "\n".join(f"st.volatile.global.f32 [%rd0+{4 * i}], %f{i};" for i in range(count))
    registers = f".reg .b64 %rd0;\n.reg .f32 {names};\nld.param.u64 %rd0, [p];"
    return (
        ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p)\n"
        ".maxntid 1024 .minnctapersm 2\n"
        f"{{\n{registers}\n{loads}\nbar.sync 0;\n{stores}\nret;\n}}\n"
    )


@pytest.fixture(params=["nvjitlink", "ptxas"])
def choice(request):
    if request.param == "ptxas":
        try:
            find_ptxas()
        except Unavailable as reason:
            pytest.skip(str(reason))
    return request.param


def absent(*_):
    raise Unavailable("not here")


def test_assemble_gives_machine_code_and_resources(choice):
    made = assemble(kernel(), SM90, "k", choice)
    assert made.cubin.startswith(b"\x7fELF")
    assert made.assembler.lower().startswith(choice + " ")
    assert made.resources.spill_bytes == 0
    assert 0 < made.resources.registers < 255


def test_assemble_spills_are_counted(choice):
    resources = assemble(spilling(), SM90, "k", choice).resources
    assert resources.registers == 32
    assert resources.spill_store_bytes >= 64
    assert resources.stack_bytes >= resources.spill_bytes


def test_assemble_refusal_shows_ptx_line_and_python_line(choice):
    text = kernel(".reg .f32 %f;\n.loc 1 14 11\nadd.f32 %f, %f, %zz;\nret;")
    with pytest.raises(CompileError) as refusal:
        assemble(text, SM90, "k", choice)
    error = refusal.value
    assert error.message.endswith(
        (
            "refused the generated code: arguments mismatch for instruction 'add'",
            "refused the generated code: unknown symbol '%zz'",
        )
    )
    assert error.notes[0].text == "line 10 of the PTX is `add.f32 %f, %f, %zz;`"
    assert (error.frames[0].span.file, error.frames[0].span.line) == ("/src/kernel.py", 14)
    assert error.frames[0].function == "k"


def test_assemble_too_much_shared_memory_is_an_error_without_a_line(choice):
    text = kernel("st.shared.u32 [big], 1;\nret;", head=".shared .b8 big[1000000];")
    with pytest.raises(CompileError, match="uses too much shared data") as refusal:
        assemble(text, SM90, "k", choice)
    assert refusal.value.frames == ()


def test_assemble_nothing_there_says_what_was_tried_and_what_to_do(monkeypatch):
    monkeypatch.setattr(assemble_module, "nvjitlink_version", absent)
    monkeypatch.setattr(assemble_module, "find_ptxas", absent)
    monkeypatch.setattr(assemble_module, "_driver", absent)
    with pytest.raises(CompileError) as refusal:
        assemble(kernel(), SM90, "k", "auto")
    assert refusal.value.message == (
        "no assembler for sm_90a (nvJitLink: not here; ptxas: not here; driver: not here)"
    )
    assert refusal.value.hint == "pip install nvidia-nvjitlink"


def test_assemble_denied_ptxas_is_passed_over_unless_named(monkeypatch, tmp_path):
    fake = tmp_path / "ptxas"
    fake.write_text('#!/bin/sh\necho "Cuda compilation tools, release 12.8, V12.8.93"\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    find_ptxas.cache_clear()
    try:
        assert find_ptxas() == (str(fake), "12.8.93")
        monkeypatch.setattr(assemble_module, "nvjitlink_version", absent)
        monkeypatch.setattr(assemble_module._runtime, "driver_version", no_driver)
        with pytest.raises(CompileError, match=r"release 12\.8\.93 is passed over: it miscompiled"):
            assemble(kernel(), SM90, "k", "auto")
    finally:
        find_ptxas.cache_clear()


def no_driver():
    raise DriverError("no NVIDIA driver")


def test_assemble_driver_last_leaves_the_ptx_to_it(monkeypatch):
    monkeypatch.setattr(assemble_module._runtime, "driver_version", lambda: 13020)
    made = assemble(kernel(), SM90, "k", "driver")
    assert (made.cubin, made.assembler, made.resources) == (b"", "driver 13.2", None)


def test_assemble_hanging_ptxas_is_stopped(monkeypatch, tmp_path):
    fake = tmp_path / "ptxas"
    fake.write_text('#!/bin/sh\nif [ "$1" = --version ]; then echo "V99.1.2"; else sleep 60; fi\n')
    fake.chmod(0o755)
    monkeypatch.setattr(assemble_module, "find_ptxas", lambda: (str(fake), "99.1.2"))
    short = assemble_module.settings.from_environment({"TILEC_COMPILE_TIMEOUT": "0.2"})
    monkeypatch.setattr(assemble_module.settings, "current", lambda: short)
    with pytest.raises(CompileError, match=r"took longer than 0\.2 s"):
        assemble(kernel(), SM90, "k", "ptxas")
