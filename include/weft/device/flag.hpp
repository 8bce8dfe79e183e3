// A flag: a word of mine that counts, which one PE sets. The wait for it is inlined whole, its
// report as well. So it serves kernels in which nothing may be called, as those whose sums live in
// registers (wgmma) are; all others have Context::wait_until().
#pragma once

#include <cstdint>

#include <weft/device/handle.hpp>
#include <weft/target.hpp>

namespace weft::dev {

struct Flag {
  const std::uint64_t* word = nullptr;  // symmetric
  int pe = -1;                          // who sets it
};

inline namespace WEFT_TARGET {

// By one thread: until the flag is `value` or more; then what was put before it was set is visible
// to this thread. False: the deadline passed, which is reported with `where` and the PE.
WEFT_DEVICE_CALL bool wait_flag(const DeviceContext& handle, const char* where, Flag flag,
                                std::uint64_t value);

}  // namespace WEFT_TARGET
}  // namespace weft::dev
