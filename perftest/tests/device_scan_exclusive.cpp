// scan_exclusive inside kernels.
#include "perftest/tests/device_reduction.hpp"

namespace weft::perf {

std::vector<Row> device_scan_exclusive_rows() {
  return {device_reduction_row<Reduction::kExclusive>(
      "scan_exclusive", "in a kernel: the vectors of PEs 0..mine-1 combined")};
}

}  // namespace weft::perf
