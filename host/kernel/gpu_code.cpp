// The kernels as code for GPUs: a module of them, which libweft carries
// (src/platform/gpu/image.cpp).
#include "host/kernel/kernels.hpp"

namespace weft::kernel {

template <class Body, class = void>
inline constexpr unsigned kMostThreads = 1024;
template <class Body>
inline constexpr unsigned kMostThreads<Body, std::void_t<decltype(Body::kMostThreads)> > =
    Body::kMostThreads;

#define WEFT_ROW(name, Body) \
  extern "C" __global__ void __launch_bounds__(kMostThreads<Body>) name(const Body body) { body(); }
WEFT_KERNELS(WEFT_ROW)
#undef WEFT_ROW

}  // namespace weft::kernel
