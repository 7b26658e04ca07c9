"""Causal attention in one kernel: two matrix products with an online softmax between.

python examples/attention.py
"""

import numpy as np

import tilec as tl


@tl.kernel
def attention(o, q, k, v, scale, *, d: tl.Constant[int], tn: tl.Constant[int]):
    i, _ = o.index
    tm, dv = o.tile_shape
    queries = q.load((i, 0), (tm, d))
    acc = tl.zeros((tm, dv), tl.float32)
    highest = tl.full((tm, 1), -float("inf"), tl.float32)
    total = tl.zeros((tm, 1), tl.float32)
    row = i * tm + tl.arange(tm)[:, None]
    for n in range(k.num_tiles(0, tn)):  # a loop on the device
        keys = k.T.load((0, n), (d, tn))
        scores = tl.mma(queries, keys, tl.zeros((tm, tn), tl.float32)) * scale
        column = n * tn + tl.arange(tn)[None, :]
        scores = tl.where(column <= row, scores, -float("inf"))
        higher = tl.maximum(highest, tl.max(scores, axis=1, keepdims=True))
        p, shrink = tl.exp(scores - higher), tl.exp(highest - higher)
        total = total * shrink + tl.sum(p, axis=1, keepdims=True)
        acc = tl.mma(p.to(v.dtype), v.load((n, 0), (tn, dv)), acc * shrink)
        highest = higher
    o.store((acc / total).to(o.dtype))


__tilec_examples__ = {
    "attention": "f32[300,64]:partition(64,64) f16[300,64] f16[300,64] f16[300,64] 0.125 d=64 tn=64"
}

if __name__ == "__main__":
    length, d = 300, 64
    rng = np.random.default_rng()
    q, k, v = (rng.standard_normal((length, d)).astype(np.float16) for _ in range(3))
    o = np.empty((length, d), np.float32)
    attention(tl.partition(o, (64, d)), q, k, v, d**-0.5, d=d, tn=64)

    scores = q.astype(float) @ k.astype(float).T * d**-0.5
    scores[np.triu_indices(length, 1)] = -np.inf
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    reference = p / p.sum(axis=1, keepdims=True) @ v.astype(float)
    print("largest error", np.abs(o - reference).max())
