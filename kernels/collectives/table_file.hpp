// TableFile: the table of WEFT_KERNELS_TABLE, which PE 0 reads for all, who may not even have the
// file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <weft/kernels/table.hpp>
#include <weft/result.hpp>
#include <weft/runtime.hpp>

namespace weft::kernels {

class TableFile {
 public:
  // Reads it on PE 0, where it `is_wanted`. `who`: the operator, in errors.
  TableFile(const Runtime& runtime, std::string who, bool is_wanted = true);

  // PE 0 sends the others this in the operator's exchange (core/exchange.hpp).
  std::uint64_t rows() const;
  // The rows on all PEs, from what PE 0 sent. Collective over the job, if there are any.
  Result<std::vector<PlanRow>> share(Runtime& runtime, std::uint64_t rows_of_first) const;

 private:
  const std::string who_;
  Result<std::vector<PlanRow>> read_ = std::vector<PlanRow>();
};

}  // namespace weft::kernels
