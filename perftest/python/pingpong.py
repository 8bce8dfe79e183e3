"""A put with a signal, there and back: in Triton, and the same in CUDA for CuPy. Turns first to first + turns - 1 of all
launches: each raises `came` to its number + 1."""

import weft.triton as wt
from weft.triton import device

CUDA = r"""
#include <weft/device.hpp>

extern "C" __global__ void there_and_back(const weft::DeviceContext* handle, std::uint8_t* box, std::uint64_t* came,
                                          const std::uint8_t* data, std::uint64_t bytes, std::uint64_t first,
                                          std::uint64_t turns, int me) {
  weft::dev::Context ctx(*handle);
  const weft::dev::Block block;
  for (std::uint64_t turn = first; turn < first + turns; ++turn) {
    if (me == 0) ctx.put(block, box, data, bytes, 1, weft::set(came, turn + 1));
    ctx.wait_until(block, came, weft::Cmp::kGe, turn + 1);
    if (me == 1) ctx.put(block, box, data, bytes, 0, weft::set(came, turn + 1));
  }
}
"""


@wt.jit(do_not_specialize=["bytes", "first", "turns", "me"])
def there_and_back(box, came, data, bytes, first, turns, me):
    ctx = device.current_context(0)
    for turn in range(first, first + turns):
        if me == 0:
            device.put_signal_set_block(ctx, box, data, bytes, came, turn + 1, 1)
        device.wait_until_u64_block(ctx, came, 3, turn + 1)
        if me == 1:
            device.put_signal_set_block(ctx, box, data, bytes, came, turn + 1, 0)
