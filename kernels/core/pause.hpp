// Where tests hold a thread up, to bring the orders about that hardware rarely takes. On GPUs it is
// nothing. On host threads it is a function that does nothing, in a source of its own, so that the
// linker of a test puts another in its place: kernels need no parameter for it, and tests no second
// compilation of them.
#pragma once

#include <weft/device.hpp>

namespace weft::kernels {

enum class Point { kBeforeData, kBeforeWait, kBeforeExit };

namespace WEFT_TARGET {
#if WEFT_TARGET_CPU
void pause(Point point);
#else
WEFT_DEVICE void pause(Point) {}
#endif
}  // namespace WEFT_TARGET

}  // namespace weft::kernels
