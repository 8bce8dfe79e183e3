"""The second layer of a tensor-parallel block: weft-run -n 2 python gemm_reduce_scatter.py [--gpu]"""

import sys

import numpy

import weft

on_gpu = "--gpu" in sys.argv
weft.init(device="cuda" if on_gpu else "cpu")
if on_gpu:
    import torch

    private = lambda values: torch.from_numpy(values).cuda()
    empty = lambda *shape: torch.empty(shape, dtype=torch.float16, device="cuda")
    product = lambda a, b: a @ b.T
    host = lambda values: values.float().cpu().numpy()
else:
    private = lambda values: values
    empty = lambda *shape: numpy.empty(shape, "float16")
    product = lambda a, b: (a.astype("float32") @ b.astype("float32").T).astype("float16")
    host = lambda values: values.astype("float32")
me, n = weft.my_pe(), weft.n_pes()

TOKENS, HIDDEN, FEATURES = (n * 512, 2048, 1024) if on_gpu else (n * 8 + 1, 48, 64)
of = lambda pe, *shape: numpy.random.default_rng(pe).standard_normal(shape, "float32").astype("float16")
part = private(of(me, TOKENS, FEATURES))  # all tokens, this PE's features
weight = private(of(100 + me, HIDDEN, FEATURES))

# [operator]
layer = weft.GemmRs(TOKENS, HIDDEN, FEATURES, "float16")
mine = empty(layer.rows(TOKENS), HIDDEN)  # this PE's tokens: a share of the rows
layer(mine, part, weight)
# [operator]

# [two steps]
share = -(-TOKENS // n)
padded = private(numpy.zeros((n * share, HIDDEN), "float16"))
padded[:TOKENS] = product(part, weight)
scatter = weft.ReduceScatter(share * HIDDEN, "float16")
total = empty(share, HIDDEN)
scatter(total, padded)
# [two steps]

numpy.testing.assert_allclose(host(mine), host(total)[: layer.rows(TOKENS)], rtol=1e-2, atol=0.5)
print(f"PE {me} of {n} has {layer.rows(TOKENS)} x {HIDDEN} of the sum")
