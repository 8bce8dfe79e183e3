// reduce inside kernels.
#include "perftest/tests/device_reduction.hpp"

namespace weft::perf {

std::vector<Row> device_reduce_rows() {
  return {device_reduction_row<Reduction::kReduce>(
      "reduce", "in a kernel: all PEs' vectors combined (-o, -d), the result on every PE")};
}

}  // namespace weft::perf
