"""Products of fragments as mma.sync defines them, on registers of simulated threads."""

from __future__ import annotations

import numpy as np

LANES = 32


def matrix_product(a, b, c, lhs_type, rhs_type, threads):
    """PTX ISA, m16n8: a word of A holds neighbours along K of row l/4 (+8 for odd words), 16 bytes
    on for words 2 and 3; of B, of column l/4. Accumulator i: row l/4 + 8(i/2), column 2(l%4) + i%2.
    """
    packed = 4 // np.dtype(lhs_type).itemsize
    fragments = [
        np.ascontiguousarray(w).reshape(threads, -1).view(np.uint8).view(t)
        for t, ws in ((lhs_type, a), (rhs_type, b))
        for w in ws
    ]
    halves = len(c) == 2  # f16 pairs
    accs = [np.array(x) for x in (np.concatenate(c, axis=1).T if halves else c)]
    wide = np.int64 if np.dtype(lhs_type).kind in "iu" else np.float64
    for warp in range(threads // LANES):
        lhs, rhs = np.zeros((16, 8 * packed), wide), np.zeros((8 * packed, 8), wide)
        for lane in range(LANES):
            group, place = lane // 4, lane % 4 * packed
            thread = warp * LANES + lane
            for word in range(4):
                at = place + 4 * packed * (word // 2)
                lhs[group + 8 * (word % 2), at : at + packed] = fragments[word][thread].astype(wide)
            for word in range(2):
                at = place + 4 * packed * word
                rhs[at : at + packed, group] = fragments[4 + word][thread].astype(wide)
        product = lhs @ rhs
        for lane in range(LANES):
            thread = warp * LANES + lane
            for i, acc in enumerate(accs):
                value = product[lane // 4 + 8 * (i // 2), 2 * (lane % 4) + i % 2]
                acc[thread] = np.asarray(acc[thread].astype(wide) + value).astype(acc.dtype)
    return [np.stack(accs[:2], axis=1), np.stack(accs[2:], axis=1)] if halves else accs


def product_f64(m, k, operands, threads):
    """PTX ISA, m8n8 and m16n8 of f64: row l/4 (+8) of A by K l%4 + 4i, column l/4 of B.
    Accumulators as in m16n8.
    """
    halves, steps = m // 8, k // 4
    a, b = operands[: halves * steps], operands[halves * steps : (halves + 1) * steps]
    accs = [np.array(x) for x in operands[(halves + 1) * steps :]]
    for warp in range(0, threads, LANES):
        lanes = np.arange(LANES)
        lhs, rhs = np.zeros((m, k)), np.zeros((k, 8))
        for step in range(steps):
            rhs[lanes % 4 + 4 * step, lanes // 4] = b[step][warp : warp + LANES]
            for half in range(halves):
                values = a[step * halves + half][warp : warp + LANES]
                lhs[lanes // 4 + 8 * half, lanes % 4 + 4 * step] = values
        product = lhs @ rhs
        for i, acc in enumerate(accs):
            acc[warp : warp + LANES] += product[lanes // 4 + 8 * (i // 2), 2 * (lanes % 4) + i % 2]
    return accs
