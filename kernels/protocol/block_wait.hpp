// A block's wait for a flag that one PE sets.
#pragma once

#include <cstdint>

#include <weft/device.hpp>

namespace weft::kernels {
namespace WEFT_TARGET {

// By all threads of the block: until the flag is `value` or more; then all see what was put before
// it was set. False, for all: the deadline passed, and the report names `where` and the PE.
WEFT_DEVICE bool wait_by_block(const dev::Context& ctx, const char* where, const dev::Flag& flag,
                               std::uint64_t value) {
  // The others acquire what this thread has at the barrier.
  const bool arrived = dev::thread_rank() != 0 || dev::wait_flag(ctx.handle(), where, flag, value);
  return dev::Block{}.all(arrived);
}

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
