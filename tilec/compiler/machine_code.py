"""Which features of the hardware a cubin uses, read from its instructions.

An instruction has 16 bytes on every supported target. Its lowest 9 bits are the opcode, and those
of the instructions below are the same on all of them, so that no disassembler is needed; the tests
compare with one. Where the machine code is made only by the driver, the PTX instructions speak for
it: the assembler neither adds nor drops any of these.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from tilec.compiler.target import Target

_OPCODE_MASK = 0x1FF
_FORM_MASK = 0xFFF
_INSTRUCTION_WORDS = 8
"""Of 16 bits."""

_CODE, _INFO = ".text.", ".nv.info."
_CTA_PER_CLUSTER = 0x3D
_SIZED_ATTRIBUTE = 0x04


@dataclass(frozen=True)
class Feature:
    """One feature and how to see that it is used.

    Attributes:
        ptx: a regular expression for its PTX instructions.
        opcodes: machine instructions and their opcodes, any of which is proof.
        forms: opcodes together with the bits that tell forms of an instruction apart.
        needs: the features in the table of targets, any of which is enough; its own name by
            default.
    """

    ptx: str
    opcodes: Mapping[str, int] = field(default_factory=dict[str, int])
    forms: Mapping[str, int] = field(default_factory=dict[str, int])
    needs: tuple[str, ...] = ()


_MMA_FEATURES = ("mma_f16", "mma_bf16", "mma_tf32", "mma_f64", "mma_i8", "fp8_mma")

FEATURES: Mapping[str, Feature] = MappingProxyType(
    {
        "cluster": Feature(r"\.(req|max)nctapercluster"),
        "cp_async": Feature(r"cp\.async\.c[ag]\.shared", {"LDGSTS": 0x1AE}),
        "ldmatrix": Feature(r"ldmatrix\.", {"LDSM": 0x03B}),
        "mma": Feature(
            r"\bmma\.sync",
            {"HMMA": 0x03C, "IMMA": 0x037, "DMMA": 0x03F, "QMMA": 0x07A, "OMMA": 0x07F},
            needs=_MMA_FEATURES,
        ),
        "setmaxnreg": Feature(r"setmaxnreg\.", {"USETMAXREG": 0x1C8}),
        "stmatrix": Feature(r"stmatrix\.", {"STSM": 0x044}),
        "tcgen05": Feature(r"tcgen05\.mma", {"UTCMMA": 0x1EA}),
        "tma": Feature(
            r"(cp|cp\.reduce)\.async\.bulk\.tensor",
            {"UTMALDG": 0x1B4, "UTMASTG": 0x1B5, "UTMAREDG": 0x1B6},
        ),
        "tma_multicast": Feature(
            r"cp\.async\.bulk\.tensor\S*\.multicast", forms={"UTMALDG.MULTICAST": 0x3B4}
        ),
        "wgmma": Feature(
            r"wgmma\.mma_async", {"HGMMA": 0x1F0, "IGMMA": 0x1F1, "BGMMA": 0x1F2, "QGMMA": 0x1F3}
        ),
    }
)
"""What a kernel's contract may require, by name."""


class NotMachineCodeError(ValueError):
    """The bytes are not an ELF file of GPU code."""


def features_of_cubin(cubin: bytes) -> frozenset[str]:
    """Return the names of the features that machine code uses.

    Raises:
        NotMachineCodeError: the bytes are not a cubin.
    """
    found: set[str] = set()
    for name, content in _sections(cubin):
        if name.startswith(_CODE):
            found |= _features_of_code(content)
        elif name.startswith(_INFO) and _programs_of_cluster(content) > 1:
            found.add("cluster")
    return frozenset(found)


def features_of_ptx(ptx: str) -> frozenset[str]:
    """Return the names of the features that PTX text uses; comments do not count."""
    code = re.sub(r"//.*|/\*.*?\*/", "", ptx)
    return frozenset(name for name, feature in FEATURES.items() if re.search(feature.ptx, code))


def features_of_target(target: Target) -> frozenset[str]:
    """Return the names of the features that a target has.

    Example:
        >>> sorted(features_of_target(Target.parse("sm_80")))
        ['cp_async', 'ldmatrix', 'mma']
    """
    return frozenset(
        name
        for name, feature in FEATURES.items()
        if any(target.has(needed) for needed in feature.needs or (name,))
    )


def _features_of_code(code: bytes) -> set[str]:
    words = set(memoryview(code).cast("H").tolist()[::_INSTRUCTION_WORDS])
    opcodes = {word & _OPCODE_MASK for word in words}
    forms = {word & _FORM_MASK for word in words}
    return {
        name
        for name, feature in FEATURES.items()
        if opcodes.intersection(feature.opcodes.values())
        or forms.intersection(feature.forms.values())
    }


def _programs_of_cluster(attributes: bytes) -> int:
    """Return how many CTAs the attributes of a kernel put into a cluster; 1 when they do not."""
    position = 0
    while position + 4 <= len(attributes):
        kind, name, size = struct.unpack_from("<BBH", attributes, position)
        position += 4
        if kind != _SIZED_ATTRIBUTE:
            continue
        if name == _CTA_PER_CLUSTER:
            x, y, z = struct.unpack_from("<3I", attributes, position)
            return x * y * z
        position += size
    return 1


def _sections(elf: bytes) -> Iterator[tuple[str, bytes]]:
    """Return names and contents of the sections of a 64-bit little-endian ELF file."""
    if elf[:6] != b"\x7fELF\x02\x01":
        raise NotMachineCodeError("not a 64-bit little-endian ELF file")
    try:
        (table,) = struct.unpack_from("<Q", elf, 0x28)
        size, count, names = struct.unpack_from("<3H", elf, 0x3A)
        headers = [struct.unpack_from("<IIQQQQ", elf, table + size * k) for k in range(count)]
        strings = headers[names][4]
        for header in headers:
            start = strings + header[0]
            name = elf[start : elf.index(b"\0", start)].decode()
            yield name, elf[header[4] : header[4] + header[5]]
    except (struct.error, IndexError, ValueError) as error:
        raise NotMachineCodeError(f"damaged ELF file: {error}") from None
