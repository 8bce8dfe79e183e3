// scan_inclusive inside kernels.
#include "perftest/tests/device_reduction.hpp"

namespace weft::perf {

std::vector<Row> device_scan_inclusive_rows() {
  return {device_reduction_row<Reduction::kInclusive>(
      "scan_inclusive", "in a kernel: the vectors of PEs 0..mine combined")};
}

}  // namespace weft::perf
