// The kernels as Platform::launch() takes them.
#pragma once

#include <span>

#include "host/kernel/kernels.hpp"
#include "src/platform/platform.hpp"

namespace weft::kernel {

template <class Body>
const Kernel& record();
#define WEFT_ROW(name, Body) \
  template <>                \
  const Kernel& record<Body>();
WEFT_KERNELS(WEFT_ROW)
#undef WEFT_ROW

std::span<const Kernel* const> all();

// All of them are loaded, and streams begun.
inline Status prepare(Platform& platform) {
  return platform.prepare(all(), record<NothingKernel>());
}

// One launch of `body`.
template <class Body>
Status launch(Platform& platform, unsigned blocks, unsigned threads, const Body& body,
              Stream stream) {
  return platform.launch(record<Body>(), blocks, threads, &body, stream);
}

}  // namespace weft::kernel
