// A kernel that was compiled by other means than nvcc, on GPUs: two PEs as threads, each launches
// it once through the driver.
#pragma once

#include <string>

#include <weft/status.hpp>

#include "src/platform/gpu/gpu.hpp"

namespace weft {

// How the kernel `pass(context, data, signal, count)` gets its context.
enum class ContextBy { kValue, kPointer };

// `image` is PTX or a cubin. The kernel puts data[0, count) to the next PE's data[count, 2 * count)
// and sets its signal to 1; then it waits for its own signal. Fails unless all data arrived.
Status run_pass(const std::string& image, ContextBy by);

// For tests that need one: if there is none, prints why. Before anything starts the driver.
bool finds_gpu(gpu::Kind kind);
inline constexpr int kSkipped = 77;  // what ctest takes for a skipped test

}  // namespace weft
