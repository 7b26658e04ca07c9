from tilec.compiler.assembler_log import (
    AssemblerError,
    Resources,
    read_errors,
    read_notes,
    read_resources,
    source_of,
)

NVJITLINK_LOG = """\
ptxas info    : 0 bytes gmem
ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized
ptxas info    : Compiling entry function 'other' for 'sm_90a'
ptxas info    : Function properties for other
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 4 registers, used 0 barriers
ptxas info    : Compile time = 1.402 ms
ptxas info    : Compiling entry function 'spill' for 'sm_90a'
ptxas info    : Function properties for spill
ptxas         .     272 bytes stack frame, 264 bytes spill stores, 268 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 4096 bytes smem
info    : used 32 registers, used 1 barriers, 272 stack, 5120 bytes smem, 0 bytes lmem
"""

ERROR_LOG = """\
ptxas application ptx input, line 12; error   : Unknown modifier '.sink'
ptxas /tmp/k.ptx, line 13; error   : Unknown symbol '%zz'
ptxas fatal   : Ptx assembly aborted due to errors
error   : Entry function 'spill' uses too much shared data (0x64000 bytes, 0x38c00 max)
ERROR NVJITLINK_ERROR_PTX_COMPILE: JIT the PTX (x.ptx)
"""

PTX = """\
.version 8.0
.file 1 "/src/first.py"
.file 2 "/src/second.py"
.visible .entry a()
{
.loc 1 3 1
ret;
}
.visible .entry b()
{
ret;
.loc 2 14 3
.loc 7 15 3
ret;
}
"""


def test_resources_of_the_named_entry_are_read():
    note = "C7510: Potential Performance Loss: wgmma.mma_async instructions are serialized"
    assert read_resources(NVJITLINK_LOG, "spill") == Resources(32, 1, 272, 264, 268, 4096, (note,))
    assert read_resources(NVJITLINK_LOG, "spill").spill_bytes == 268
    assert read_resources(NVJITLINK_LOG, "other") == Resources(4, 0, 0, 0, 0, 0, (note,))


def test_resources_of_an_unknown_entry_are_none():
    assert read_resources(NVJITLINK_LOG, "spil") is None
    assert read_resources("", "spill") is None


def test_notes_repeated_are_told_once():
    assert len(read_notes(NVJITLINK_LOG + NVJITLINK_LOG)) == 1


def test_errors_carry_their_ptx_line():
    assert read_errors(ERROR_LOG) == (
        AssemblerError("Unknown modifier '.sink'", 12),
        AssemblerError("Unknown symbol '%zz'", 13),
        AssemblerError(
            "Entry function 'spill' uses too much shared data (0x64000 bytes, 0x38c00 max)"
        ),
    )


def test_source_of_a_line_is_the_nearest_location_above_it():
    lines = PTX.splitlines()
    assert source_of(PTX, lines.index("ret;") + 1) == ("/src/first.py", 3)
    assert source_of(PTX, lines.index(".loc 2 14 3") + 1) == ("/src/second.py", 14)


def test_source_of_a_line_before_any_location_is_unknown():
    assert source_of(PTX, PTX.splitlines().index(".visible .entry b()") + 3) is None


def test_source_of_an_undeclared_file_is_unknown():
    assert source_of(PTX, PTX.splitlines().index(".loc 7 15 3") + 2) is None
