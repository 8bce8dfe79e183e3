// A kernel that was compiled by other means than nvcc, on GPUs: two PEs as threads, each launches
// it once through the driver.
#pragma once

#include <string>

#include <weft/status.hpp>

namespace weft {

// How the kernel `pass(context, data, signal, count)` gets its context.
enum class ContextBy { kValue, kPointer };

// `image` is PTX or a cubin. The kernel puts data[0, count) to the next PE's data[count, 2 * count)
// and sets its signal to 1; then it waits for its own signal. Fails unless all data arrived.
Status run_pass(const std::string& image, ContextBy by);

// Of a test that needs a GPU and finds none, which it prints; 0: there is one.
int why_skipped();

}  // namespace weft
