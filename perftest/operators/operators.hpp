// The rows of libweft_perf_kernels.so, set by set.
#pragma once

#include <string_view>
#include <vector>

#include "perftest/registry.hpp"

namespace weft::perf {

// Where CUDA was built.
std::vector<Row> collective_rows();
std::vector<Row> gemm_rows();
std::vector<Row> fused_rows();

std::vector<Row> tune_rows();

// A row of such a set, which times itself.
inline Row operator_row(std::string_view set, RunRows run, std::string_view name,
                        std::string_view what, std::string_view formula) {
  Row row;
  row.name = name;
  row.api = Api::kKernel;
  row.what = what;
  row.formula = formula;
  row.min_pes = 1;
  row.run = run;
  row.set = set;
  return row;
}

}  // namespace weft::perf
