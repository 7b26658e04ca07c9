import random

import pytest

from tilec.jit.entry import (
    BadFileError,
    Entry,
    pack,
    pack_entry,
    unpack,
    unpack_entry,
)

ENTRY = Entry(
    plan='{"version": 1, "symbol": "softmax"}',
    cubin=bytes(range(256)) * 4,
    ptx=".version 8.0\n// ×\n",
    metadata={"assembler": "nvJitLink 13.5", "registers": 32, "timings_ms": {"ptx": 1.5}},
)
KEY = "ab" * 32


def test_entry_packed_and_unpacked_is_the_same():
    assert unpack_entry(KEY, pack_entry(KEY, ENTRY)) == ENTRY
    empty = Entry(plan="{}", cubin=b"", ptx="", metadata={})
    assert unpack_entry(KEY, pack_entry(KEY, empty)) == empty


def test_entry_same_content_has_same_bytes():
    other = Entry(ENTRY.plan, ENTRY.cubin, ENTRY.ptx, dict(reversed(ENTRY.metadata.items())))
    assert pack_entry(KEY, ENTRY) == pack_entry(KEY, other)


def test_entry_any_changed_byte_is_found():
    whole = pack_entry(KEY, ENTRY)
    generator = random.Random(7)
    offsets = [*range(64), *generator.sample(range(len(whole)), 400)]
    for offset in offsets:
        damaged = bytearray(whole)
        damaged[offset] ^= generator.randrange(1, 256)
        with pytest.raises(BadFileError):
            unpack_entry(KEY, bytes(damaged))


def test_entry_any_other_length_is_found():
    whole = pack_entry(KEY, ENTRY)
    for length in range(len(whole)):
        with pytest.raises(BadFileError):
            unpack_entry(KEY, whole[:length])
    with pytest.raises(BadFileError, match="length does not match the header"):
        unpack_entry(KEY, whole + b"\0")


def test_entry_under_another_key_is_refused():
    with pytest.raises(BadFileError, match="belongs to another key"):
        unpack_entry("cd" * 32, pack_entry(KEY, ENTRY))


def test_entry_of_another_format_version_is_refused():
    whole = bytearray(pack_entry(KEY, ENTRY))
    whole[8] += 1
    with pytest.raises(BadFileError, match="format 2, expected 1"):
        unpack(KEY, bytes(whole))


def test_entry_file_with_other_sections_is_refused():
    with pytest.raises(BadFileError, match="not an entry"):
        unpack_entry(KEY, pack(KEY, {"plan": b"{}"}))
    with pytest.raises(BadFileError, match="not an entry"):
        unpack_entry(KEY, pack(KEY, {"plan": b"{}", "cubin": b"", "ptx": b"\xff", "metadata": b""}))


def test_entry_foreign_file_is_refused():
    with pytest.raises(BadFileError, match="not a tilec file"):
        unpack(KEY, b"#!/bin/sh\n" * 100)
