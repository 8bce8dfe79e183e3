"""The device API in a kernel that CuPy compiles: weft-run -n 2 python cupy_ring.py"""

# [kernel]
SOURCE = r"""
#include <weft/device.hpp>

extern "C" __global__ void pass_on(const weft::DeviceContext* handle, float* box, std::uint64_t* came, const float* data,
                                   std::uint64_t count) {
  weft::dev::Context ctx(*handle);
  const weft::dev::Block block;
  const int right = (ctx.pe() + 1) % ctx.npes();
  ctx.put(block, box, data, count, right, weft::set(came, 1));
  ctx.wait_until(block, came, weft::Cmp::kGe, std::uint64_t{1});
}
"""
# [kernel]


def main():
    import cupy

    import weft
    from weft import device_code

    cupy.cuda.Device(0).use()
    cupy.zeros(1)  # the program uses a GPU, so the job has it
    weft.init()
    me, n = weft.my_pe(), weft.n_pes()
    # [call]
    pass_on = cupy.RawModule(code=SOURCE, options=device_code.nvrtc_options()).get_function("pass_on")
    box, came = weft.zeros(1024), weft.zeros(1, "uint64")
    array, data = cupy.from_dlpack(box), cupy.full(1024, me + 0.5, "float32")
    pass_on((1,), (128,), (cupy.uint64(device_code.context()), array, cupy.from_dlpack(came), data, cupy.uint64(1024)))
    assert (array == (me - 1) % n + 0.5).all()
    # [call]
    print(f"PE {me} of {n} has the numbers of PE {(me - 1) % n}")


if __name__ == "__main__":
    main()
