// Where an operator's kernels run: on host threads, or on the GPU that the runtime has.
#pragma once

#include <weft/result.hpp>
#include <weft/runtime.hpp>

namespace weft::kernels {

enum class Target { kCpu, kCuda };
// The runtime's, or why this library has no kernels for it.
Result<Target> target_of(const Runtime& runtime);

}  // namespace weft::kernels
