"""A put with a signal in a kernel of Numba: weft-run -n 2 python numba_ring.py"""

from numba import cuda, int32, uint64

from weft import device_code

# [kernel]
declare = lambda name, types: cuda.declare_device(name, types, link=device_code.ptx(), abi="c")
my_pe = declare("weft_my_pe", int32(uint64))
n_pes = declare("weft_n_pes", int32(uint64))
put_signal = declare("weft_put_signal_set_block", int32(uint64, uint64, uint64, uint64, uint64, uint64, int32))
wait_until = declare("weft_wait_until_u64_block", int32(uint64, uint64, int32, uint64))


def pass_on(context, box, came, data, size):
    right = (my_pe(context) + 1) % n_pes(context)
    put_signal(context, box, data, size, came, 1, right)  # all threads of the block call
    wait_until(context, came, 3, 1)  # >=
# [kernel]


def main():
    import numpy

    import weft

    cuda.current_context()  # the program uses a GPU, so the job has it
    weft.init()
    me, n = weft.my_pe(), weft.n_pes()
    # [call]
    box, came = weft.zeros(1024), weft.zeros(1, "uint64")
    data = cuda.to_device(numpy.full(1024, me + 0.5, "float32"))
    cuda.jit(pass_on)[1, 128](device_code.context(), box.data_ptr, came.data_ptr, data.device_ctypes_pointer.value, box.nbytes)
    cuda.synchronize()
    # [call]
    assert (cuda.as_cuda_array(box).copy_to_host() == (me - 1) % n + 0.5).all()
    print(f"PE {me} of {n} has the numbers of PE {(me - 1) % n}")


if __name__ == "__main__":
    main()
