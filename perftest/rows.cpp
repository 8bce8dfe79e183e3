// All rows, in the order in which they are listed and run.
#include "perftest/registry.hpp"

namespace weft::perf {

const std::vector<Row>& registry() {
  static const std::vector<Row> all = [] {
    std::vector<Row> rows;
    for (const auto part : {put_rows,
                            get_rows,
                            scalar_rows,
                            strided_rows,
                            signal_rows,
                            atomic_rows,
                            barrier_rows,
                            collective_rows,
                            reduction_rows,
                            device_put_rows,
                            device_get_rows,
                            device_scalar_rows,
                            device_signal_rows,
                            device_atomic_rows,
                            device_barrier_rows,
                            device_collective_rows,
                            device_reduce_rows,
                            device_reducescatter_rows,
                            device_scan_inclusive_rows,
                            device_scan_exclusive_rows,
                            launch_rows,
                            memory_rows,
                            startup_rows})
      for (const Row& row : part()) rows.push_back(row);
    return rows;
  }();
  return all;
}

}  // namespace weft::perf
