// reducescatter inside kernels.
#include "perftest/tests/device_reduction.hpp"

namespace weft::perf {

std::vector<Row> device_reducescatter_rows() {
  return {device_reduction_row<Reduction::kReducescatter>(
      "reducescatter", "in a kernel: all PEs' vectors combined, each PE gets its block")};
}

}  // namespace weft::perf
