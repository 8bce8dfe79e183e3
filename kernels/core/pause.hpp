// Where tests hold a thread up, to bring the orders about that hardware rarely takes.
#pragma once

namespace weft::kernels {
enum class Point { kBeforeData, kBeforeWait, kBeforeExit };
#if defined(WEFT_KERNELS_PAUSES)
void pause(Point point);  // the test's
#define WEFT_KERNELS_PAUSE(point) ::weft::kernels::pause(::weft::kernels::Point::point)
#else
#define WEFT_KERNELS_PAUSE(point) static_cast<void>(0)
#endif
}  // namespace weft::kernels
