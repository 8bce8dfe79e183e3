"""The first layer of a tensor-parallel block: weft-run -n 2 python allgather_gemm.py [--gpu]"""

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

TOKENS, FEATURES, HIDDEN = (512, 1024, 2048) if on_gpu else (32, 48, 64)
of = lambda pe, *shape: numpy.random.default_rng(pe).standard_normal(shape, "float32").astype("float16")
rows = private(of(me, TOKENS, HIDDEN))  # of this PE's tokens
weight = private(of(100 + me, FEATURES, HIDDEN))  # this PE's part of it, as nn.Linear has it

# [two steps]
gather = weft.AllGather(TOKENS * HIDDEN, "float16")
everybody = empty(n * TOKENS, HIDDEN)
gather(everybody, rows)
first_gathered = product(everybody, weight)
# [two steps]

# [operator]
layer = weft.AgGemm(TOKENS, FEATURES, HIDDEN, "float16")
out, gathered = empty(n * TOKENS, FEATURES), empty(n * TOKENS, HIDDEN)
layer(out, rows, weight, gathered)
# [operator]

assert (host(gathered) == host(everybody)).all()
numpy.testing.assert_allclose(host(out), host(first_gathered), rtol=1e-2, atol=0.3)
print(f"PE {me} of {n} has {n * TOKENS} x {FEATURES} of the product")
