"""Bank conflicts of the shared-memory accesses that a simulated kernel makes."""

from __future__ import annotations

import numpy as np

LANES, BANKS, BANK_BYTES, WAVEFRONT_BYTES = 32, 32, 4, 128


def wavefronts(addresses, access_bytes: int) -> int:
    """Return the passes over the banks that one access of a warp takes.

    Lanes that together ask for 128 bytes go at a time; words of one bank that differ need a pass
    each.
    """
    together = min(LANES, WAVEFRONT_BYTES // max(access_bytes, BANK_BYTES))
    total = 0
    for first in range(0, len(addresses), together):
        words = {
            word
            for address in addresses[first : first + together]
            for word in range(address // BANK_BYTES, (address + access_bytes - 1) // BANK_BYTES + 1)
        }
        total += max(np.bincount([word % BANKS for word in words]), default=0)
    return total


class BankStatistics:
    """For every kind of access, how many times the passes of a conflict-free one the worst took."""

    def __init__(self):
        self.worst: dict[str, float] = {}

    def record(self, kind: str, addresses: np.ndarray, access_bytes: int):
        for warp in range(0, len(addresses), LANES):
            taken = wavefronts([int(a) for a in addresses[warp : warp + LANES]], access_bytes)
            lanes = len(addresses[warp : warp + LANES])
            ratio = taken / max(1, lanes * access_bytes // WAVEFRONT_BYTES)
            self.worst[kind] = max(self.worst.get(kind, 0), ratio)
