"""ReduceScatter by hand and by the operator: weft-run -n 4 python reduce_scatter.py [--gpu]"""

import sys

import numpy

import weft

on_gpu = "--gpu" in sys.argv
weft.init(device="cuda" if on_gpu else "cpu")
if on_gpu:
    import torch
me, n = weft.my_pe(), weft.n_pes()

COUNT = 1 << 14
of = lambda pe: numpy.random.default_rng(pe).random((n, COUNT), "float32")
mine = torch.from_numpy(of(me)).cuda() if on_gpu else of(me)

# [by hand]
inbox, came = weft.zeros((n, COUNT)), weft.zeros(n, "int64")
for step in range(n):
    pe = (me + step) % n
    weft.on_stream.put(inbox[me], mine[pe], pe, signal=came[me : me + 1], value=1)
for source in range(n):
    weft.on_stream.wait(came[source : source + 1], ">=", 1)
blocks = inbox.torch() if on_gpu else inbox.numpy()
total = blocks[0] + 0
for source in range(1, n):
    total += blocks[source]  # in the order of ranks: the same bits in every run
# [by hand]

# [operator]
scatter = weft.ReduceScatter(COUNT)
out = torch.empty(COUNT, device="cuda") if on_gpu else numpy.empty(COUNT, "float32")
scatter(out, mine)
# [operator]

by_hand, by_operator = (total.cpu().numpy(), out.cpu().numpy()) if on_gpu else (total, out)
assert (by_hand == by_operator).all()
numpy.testing.assert_allclose(by_operator, sum(of(pe)[me].astype("float64") for pe in range(n)), rtol=1e-6)
print(f"PE {me} of {n} has its {COUNT} sums")
