import numpy

import weft

weft.init()  # finds weft-run, mpirun, srun or torchrun by itself
me, right = weft.my_pe(), (weft.my_pe() + 1) % weft.n_pes()
box, came = weft.zeros(4, "float64"), weft.zeros(1, "uint64")  # symmetric: the same on every PE
weft.put(box, numpy.full(4, me + 0.5), right, signal=came, value=1)  # data, then signal
weft.wait(came, ">=", 1)
print(f"PE {me} of {weft.n_pes()} has {box.numpy()}")
