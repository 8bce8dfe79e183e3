// The rows of libweft_perf_kernels.so, set by set.
#pragma once

#include <vector>

#include "perftest/registry.hpp"

namespace weft::perf {

// Where CUDA was built.
std::vector<Row> collective_rows();
std::vector<Row> gemm_rows();
std::vector<Row> fused_rows();

std::vector<Row> tune_rows();

}  // namespace weft::perf
