#include "kernels/collectives/table_file.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <weft/collective.hpp>

#include "kernels/core/status.hpp"

namespace weft::kernels {
namespace {

constexpr std::uint64_t kNotRead = ~std::uint64_t{0};

}  // namespace

TableFile::TableFile(const Runtime& runtime, std::string who, bool is_wanted)
    : who_(std::move(who)) {
  const std::string& path = runtime.options().kernels_table;
  if (runtime.pe() != 0 || path.empty() || !is_wanted) return;
  read_ = read_table(path);
  if (!read_)  // at once: others may end the job when they learn of it
    read_ = report(Status::error(read_.status().code(), fmt::format("{}: WEFT_KERNELS_TABLE: {}",
                                                                    who_, read_.status().text())));
}

std::uint64_t TableFile::rows() const { return read_ ? read_->size() : kNotRead; }

Result<std::vector<PlanRow>> TableFile::share(Runtime& runtime, std::uint64_t rows_of_first) const {
  if (rows_of_first == kNotRead)
    return runtime.pe() == 0
               ? read_.status()
               : Status::error(Code::kInvalidArgument,
                               who_ +
                                   ": PE 0 cannot read the table of its WEFT_KERNELS_TABLE, and "
                                   "says why");
  std::vector<PlanRow> shared;
  if (rows_of_first == 0) return shared;
  ASSIGN_OR_RETURN(auto* const rows, runtime.allocate<PlanRow>(2 * rows_of_first));
  if (read_.is_ok()) std::copy(read_.value().begin(), read_.value().end(), rows);
  Status status = broadcast_bytes(runtime.context(), runtime.world(), rows + rows_of_first, rows,
                                  rows_of_first * sizeof(PlanRow), 0);
  if (status) shared.assign(rows + rows_of_first, rows + 2 * rows_of_first);
  if (status) status = runtime.barrier();
  const Status freed = runtime.free(rows);
  if (!status) return status;
  if (!freed) return freed;
  return shared;
}

}  // namespace weft::kernels
