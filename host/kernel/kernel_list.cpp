#include "host/kernel/kernel_list.hpp"

#include <type_traits>

#include <weft/dev/launch.hpp>

namespace weft::kernel {

#define WEFT_ROW(name, Body)                                                            \
  template <>                                                                           \
  const Kernel& record<Body>() {                                                        \
    static_assert(std::is_trivially_copyable_v<Body>);                                  \
    static constexpr Kernel kRecord{#name, sizeof(Body), &dev::launching::enter<Body>}; \
    return kRecord;                                                                     \
  }
WEFT_KERNELS(WEFT_ROW)
#undef WEFT_ROW

std::span<const Kernel* const> all() {
#define WEFT_ROW(name, Body) &record<Body>(),
  static const Kernel* const kAll[] = {WEFT_KERNELS(WEFT_ROW)};
#undef WEFT_ROW
  return kAll;
}

}  // namespace weft::kernel
