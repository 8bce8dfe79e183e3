// The kernels as code for GPUs: a module of them, which libweft carries
// (src/platform/gpu/image.cpp).
#include <weft/dev/launch.hpp>

#include "host/kernel/kernels.hpp"

namespace weft::kernel {

using dev::launching::MostThreads;

#define WEFT_ROW(name, Body)                                                                     \
  extern "C" __global__ void __launch_bounds__(MostThreads<Body>::value) name(const Body body) { \
    body();                                                                                      \
  }
WEFT_KERNELS(WEFT_ROW)
#undef WEFT_ROW

}  // namespace weft::kernel
