"""AllGather by hand and by the operator: weft-run -n 4 python allgather.py [--gpu]"""

import sys

import numpy

import weft

on_gpu = "--gpu" in sys.argv
weft.init(device="cuda" if on_gpu else "cpu")
if on_gpu:
    import torch
me, n = weft.my_pe(), weft.n_pes()

COUNT = 1 << 16
of = lambda pe: numpy.random.default_rng(pe).random(COUNT, "float32")
shard = torch.from_numpy(of(me)).cuda() if on_gpu else of(me)

# [by hand]
everybody, came = weft.zeros((n, COUNT)), weft.zeros(n, "int64")  # symmetric, on weft.device()
for step in range(n):
    pe = (me + step) % n  # each begins with another one
    weft.on_stream.put(everybody[me], shard, pe, signal=came[me : me + 1], value=1)
for source in range(n):
    weft.on_stream.wait(came[source : source + 1], ">=", 1)
# [by hand]

# [operator]
gather = weft.AllGather(COUNT)
out = torch.empty(n, COUNT, device="cuda") if on_gpu else numpy.empty((n, COUNT), "float32")
gather(out, shard)
# [operator]

by_hand, by_operator = (everybody.torch().cpu().numpy(), out.cpu().numpy()) if on_gpu else (everybody.numpy(), out)
wanted = numpy.stack([of(pe) for pe in range(n)])
assert (by_hand == wanted).all() and (by_operator == wanted).all()
print(f"PE {me} of {n} has everybody's {COUNT} numbers")
