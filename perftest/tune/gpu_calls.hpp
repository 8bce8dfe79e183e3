// Calls on the GPU that is current in this thread.
#pragma once

#include <memory>

#include <weft/result.hpp>

#include "perftest/tune/calls.hpp"

namespace weft::perf::tune {

// By NVIDIA's driver library, which is there where the runtime has such a GPU.
Result<std::unique_ptr<Recorder>> gpu_recorder();

}  // namespace weft::perf::tune
