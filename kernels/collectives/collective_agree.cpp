// What the PEs of a job agree on when an operator is made: what it was given, and its table.
#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include <weft/collective.hpp>
#include <weft/kernels/table.hpp>

#include "kernels/collectives/collective_impl.hpp"
#include "kernels/core/agree.hpp"
#include "kernels/core/status.hpp"

namespace weft::kernels {
namespace {

std::uint64_t bits_of(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

// Of none 0.
std::uint64_t checksum(const std::vector<PlanRow>& table) {
  if (table.empty()) return 0;
  std::uint64_t sum = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : format_table(table))
    sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return sum;
}

constexpr std::uint64_t kNotRead = ~std::uint64_t{0};

}  // namespace

Status CollectiveImpl::agree(Runtime& runtime) {
  const Team& team = call_.team;
  // PE 0 reads for all, who may not even have the file.
  const std::string& path = runtime.options().kernels_table;
  Result<std::vector<PlanRow>> read = std::vector<PlanRow>();
  if (runtime.pe() == 0 && options_.table.empty() && !path.empty()) read = read_table(path);
  if (!read)  // at once: others may end the job when they hear of it
    read = report(Status::error(read.status().code(), fmt::format("{}: WEFT_KERNELS_TABLE: {}",
                                                                  name(), read.status().text())));
  const std::vector<Given> given = {
      {"the collective", static_cast<std::uint64_t>(what_)},
      {"max_count", problem_.max_count},
      {"dtype", static_cast<std::uint64_t>(problem_.dtype)},
      {"op", static_cast<std::uint64_t>(problem_.op)},
      {"hidden", shape_.hidden},
      {"epsilon (its bits)", bits_of(shape_.epsilon)},
      {"options.algorithm", static_cast<std::uint64_t>(options_.algorithm)},
      {"options.blocks", options_.blocks},
      {"options.threads", options_.threads},
      {"options.symmetric", options_.symmetric ? 1u : 0u},
      {"options.first_round", options_.first_round},
      {"options.table (a checksum of it)", checksum(options_.table)},
      {"the team's size", static_cast<std::uint64_t>(team.is_member() ? team.size : 0), true}};
  ASSIGN_OR_RETURN(const std::vector<std::uint64_t> agreed,
                   kernels::agree(runtime, name().c_str(), given));
  team_size_ = std::max(team_size_, static_cast<int>(agreed.back()));
  ASSIGN_OR_RETURN(const std::vector<std::vector<std::uint64_t>> rows,
                   exchange_words(runtime, {read ? read->size() : kNotRead}));
  return share_table(runtime, read, rows[0][0]);
}

// What PE 0 has read is everybody's table, before the built-in one.
Status CollectiveImpl::share_table(Runtime& runtime, const Result<std::vector<PlanRow>>& read,
                                   std::uint64_t rows_of_first) {
  table_ = options_.table;
  table_name_ = "of the options";
  if (!table_.empty()) return Status::ok();
  if (rows_of_first == kNotRead)
    return runtime.pe() == 0
               ? read.status()
               : Status::error(Code::kInvalidArgument,
                               name() +
                                   ": PE 0 cannot read the table of its WEFT_KERNELS_TABLE, and "
                                   "says why");
  if (rows_of_first != 0) {
    ASSIGN_OR_RETURN(auto* const rows, runtime.allocate<PlanRow>(2 * rows_of_first));
    if (read.is_ok()) std::copy(read.value().begin(), read.value().end(), rows);
    Status status = broadcast_bytes(runtime.context(), runtime.world(), rows + rows_of_first, rows,
                                    rows_of_first * sizeof(PlanRow), 0);
    if (status) table_.assign(rows + rows_of_first, rows + 2 * rows_of_first);
    if (status) status = runtime.barrier();
    const Status freed = runtime.free(rows);
    if (!status) return status;
    if (!freed) return freed;
  }
  table_name_ = fmt::format("built-in, for {}", gpu_ ? "GPUs" : "host threads");
  if (rows_of_first != 0) table_name_ = "PE 0's WEFT_KERNELS_TABLE, then " + table_name_;
  const std::vector<PlanRow>& rest = builtin_table(gpu_);
  table_.insert(table_.end(), rest.begin(), rest.end());
  return Status::ok();
}

}  // namespace weft::kernels
