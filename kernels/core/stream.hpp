// weft::kernels::synchronize for each target, from one source (stream_kernels.cpp).
#pragma once

#include <weft/status.hpp>
#include <weft/stream.hpp>

namespace weft::kernels {

using SynchronizeStream = Status(Stream stream);
namespace cpu {
SynchronizeStream synchronize_stream;
}
namespace cuda {
SynchronizeStream synchronize_stream;
}

}  // namespace weft::kernels
