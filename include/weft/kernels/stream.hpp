// Waiting for operators in programs that no GPU compiler compiles. Programs that one does compile
// have weft::dev::synchronize.
#pragma once

#include <weft/runtime.hpp>
#include <weft/status.hpp>
#include <weft/stream.hpp>
#include <weft/target.hpp>

namespace weft::kernels {

// All that is queued on the stream has run, on the GPU that the runtime has, or on host threads.
WEFT_API Status synchronize(const Runtime& runtime, Stream stream = nullptr);

}  // namespace weft::kernels
