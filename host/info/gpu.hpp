// GPUs, and whether their memory can be symmetric.
#pragma once

#include <weft/options.hpp>

#include "host/info/report.hpp"

namespace weft::info {

Line cuda(const Options& options);
Line hip(const Options& options);
// How an RDMA port reaches the memory of the first GPU.
Line gpu_rdma(const Options& options);

}  // namespace weft::info
