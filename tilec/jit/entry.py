r"""The format of one cache file: a header, named sections, one checksum over everything.

::

    magic      8 bytes   b"tilec\0\r\n"
    version    u32       FORMAT_VERSION
    header     u32       length of the header
    body       u64       length of the body
    digest     32 bytes  sha256 of header and body
    header     JSON      {"key": the file's key, "sections": [[name, length], ...]}
    body                 the sections, one after the other

Nothing in it is ever executed on the host, and nothing is unpickled.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

FORMAT_VERSION = 1

_MAGIC = b"tilec\0\r\n"
_PREFIX = struct.Struct("<8sIIQ32s")


class BadFileError(Exception):
    """The bytes are not a whole, unchanged file of this format; the text says why."""


@dataclass(frozen=True)
class Entry:
    """What a variant needs to launch, and where it came from.

    Attributes:
        plan: the launch plan as JSON text.
        cubin: machine code; empty when the driver is to compile ``ptx``.
        ptx: the text the machine code was made from.
        metadata: JSON values: the assembler, what the kernel uses, what its phases took.
    """

    plan: str
    cubin: bytes
    ptx: str
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


def pack_entry(key: str, entry: Entry) -> bytes:
    """Return the file of an entry."""
    return pack(
        key,
        {
            "plan": entry.plan.encode(),
            "metadata": json.dumps(entry.metadata, sort_keys=True).encode(),
            "cubin": entry.cubin,
            "ptx": entry.ptx.encode(),
        },
    )


def unpack_entry(key: str, data: bytes) -> Entry:
    """Return the entry of a file.

    Raises:
        BadFileError: the file is damaged, foreign or of another format.
    """
    sections = unpack(key, data)
    try:
        return Entry(
            plan=sections["plan"].decode(),
            cubin=sections["cubin"],
            ptx=sections["ptx"].decode(),
            metadata=json.loads(sections["metadata"]),
        )
    except (KeyError, ValueError) as error:
        raise BadFileError(f"not an entry: {error!r}") from None


def pack(key: str, sections: Mapping[str, bytes]) -> bytes:
    """Return a file that holds named sections under a key."""
    lengths = [[name, len(content)] for name, content in sections.items()]
    header = json.dumps({"key": key, "sections": lengths}).encode()
    body = b"".join(sections.values())
    digest = hashlib.sha256(header + body).digest()
    return _PREFIX.pack(_MAGIC, FORMAT_VERSION, len(header), len(body), digest) + header + body


def unpack(key: str, data: bytes) -> dict[str, bytes]:
    """Return the sections of a file.

    Raises:
        BadFileError: the file is damaged, foreign or of another format.
    """
    if len(data) < _PREFIX.size:
        raise BadFileError("too short")
    magic, version, header_bytes, body_bytes, digest = _PREFIX.unpack_from(data)
    if magic != _MAGIC:
        raise BadFileError("not a tilec file")
    if version != FORMAT_VERSION:
        raise BadFileError(f"format {version}, expected {FORMAT_VERSION}")
    if len(data) != _PREFIX.size + header_bytes + body_bytes:
        raise BadFileError("length does not match the header")
    if hashlib.sha256(memoryview(data)[_PREFIX.size :]).digest() != digest:
        raise BadFileError("checksum does not match")
    header = cast("dict[str, Any]", json.loads(data[_PREFIX.size : _PREFIX.size + header_bytes]))
    if header["key"] != key:
        raise BadFileError("belongs to another key")
    return _split(header["sections"], data, _PREFIX.size + header_bytes)


def _split(lengths: list[tuple[str, int]], data: bytes, start: int) -> dict[str, bytes]:
    sections: dict[str, bytes] = {}
    for name, length in lengths:
        sections[name] = data[start : start + length]
        start += length
    return sections
