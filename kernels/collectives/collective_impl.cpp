#include "kernels/collectives/collective_impl.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <weft/kernels/table.hpp>

#include "kernels/collectives/limits.hpp"
#include "kernels/collectives/table_file.hpp"
#include "kernels/core/math.hpp"
#include "kernels/core/status.hpp"
#include "kernels/core/target.hpp"

namespace weft::kernels {
namespace {

std::uint64_t bits_of(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

// 0 for an empty table.
std::uint64_t checksum(const std::vector<PlanRow>& table) {
  if (table.empty()) return 0;
  std::uint64_t sum = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : format_table(table))
    sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return sum;
}

}  // namespace

// By the options or a row of the table: room for Lamport takes as much memory as all else.
bool CollectiveImpl::takes_lamport() const {
  if (!mapped_ || (reduces(what_) && !sums_floats())) return false;
  if (options_.algorithm != Algorithm::kAuto)
    return kernels::is_by(what_, options_.algorithm, Protocol::kLamport);
  return std::any_of(table_.begin(), table_.end(), [this](const PlanRow& row) {
    return row.what == what_ && kernels::is_by(what_, row.algorithm, Protocol::kLamport);
  });
}

std::vector<Given> CollectiveImpl::given() const {
  return {{"the collective", static_cast<std::uint64_t>(what_)},
          {"max_count", problem_.max_count},
          {"dtype", static_cast<std::uint64_t>(problem_.dtype)},
          {"op", static_cast<std::uint64_t>(problem_.op)},
          {"hidden", shape_.hidden},
          {"epsilon (its bits)", bits_of(shape_.epsilon)},
          {"options.algorithm (a hash of it)",
           std::hash<std::string_view>()(options_.algorithm.name())},
          {"options.blocks", options_.blocks},
          {"options.threads", options_.threads},
          {"options.symmetric", options_.symmetric ? 1u : 0u},
          {"options.first_round", options_.first_round},
          {"options.table (a checksum of it)", checksum(options_.table)},
          given_of(options_.arena)};
}

// A table that was given goes before what PE 0 has read, and that before the built-in one.
void CollectiveImpl::use_table(const std::vector<PlanRow>& table) {
  table_ = options_.table;
  table_name_ = "of the options";
  if (!table_.empty()) return;
  table_ = table;
  table_name_ = fmt::format("built-in, for {}", gpu_ ? "GPUs" : "host threads");
  if (!table.empty()) table_name_ = "PE 0's WEFT_KERNELS_TABLE, then " + table_name_;
  const std::vector<PlanRow>& rest = builtin_table(gpu_);
  table_.insert(table_.end(), rest.begin(), rest.end());
}

void CollectiveImpl::choose_channels(const GpuShare& gpu) {
  unsigned blocks = options_.blocks;
  if (blocks == 0) {
    blocks = most_blocks(what_, most_bytes(), team_size_, options_.symmetric, table_);
    // Blocks that wait for others of their grid, or of one beside it, are there at once.
    if (gpu_) at_once_ = static_cast<unsigned>(gpu.num_sms / gpu.sharers);
    if (gpu.sharers > 1) blocks = std::min(blocks, at_once_);
  }
  const std::size_t busy = ceil_div(most_bytes(), gpu_ || shape_.hidden != 0 ? 1024 : 16);
  limits_.channels =
      static_cast<unsigned>(std::clamp<std::size_t>(busy, 1, std::clamp(blocks, 1u, kMostBlocks)));
}

void CollectiveImpl::lay_out_with(bool uses_ll) {
  layout_ = layout_of({what_, most_bytes(), row_bytes(), team_size_, limits_.channels, gpu_,
                       uses_ll, takes_lamport(), has_device_sizes()});
  limits_.ll_bytes = layout_.ll_slot * dev::kLLPacketBytes;
  limits_.simple_bytes = layout_.simple_slot;
  limits_.lamport_bytes = layout_.lamport_bytes();
}

Status CollectiveImpl::settle(const Agreement& agreement, const std::vector<PlanRow>& table) {
  team_size_ = agreement.team_size;
  mapped_ = agreement.maps_all;
  clusters_ = gpu_ && agreement.gpu.clusters;
  call_.starts_early = clusters_;  // sm_90 brought both
  use_table(table);
  choose_channels(agreement.gpu);
  if (!mapped_) {  // few channels, so that each has larger pieces
    ASSIGN_OR_RETURN(const Plan largest, plan(problem_.max_count));
    limits_.channels = largest.blocks;
  }
  RETURN_IF_ERROR(lay_out());
  // An algorithm that the collective does not have, before the first call.
  return plan(problem_.max_count).status();
}

Status CollectiveImpl::bind(Runtime& runtime, std::byte* workspace) {
  call_.space = layout_.workspace(reinterpret_cast<Rounds*>(workspace), workspace + rounds_bytes(),
                                  limits_.channels);
  if (options_.first_round != 0) {
    std::vector<Rounds> rounds(limits_.channels);
    for (Rounds& r : rounds) r.ll = options_.first_round;
    RETURN_IF_ERROR(runtime.context().put_bytes(call_.space.rounds, rounds.data(),
                                                rounds.size() * sizeof(Rounds), runtime.pe()));
  }
  return empty_lamport_slots(
      runtime, call_.space.lamport_words,
      (layout_.simple_staging - layout_.lamport_words) / sizeof(std::uint64_t));
}

Status CollectiveImpl::begin(const Team& team) {
  RETURN_IF_ERROR(check_options(runtime_->npes()));
  RETURN_IF_ERROR(check_problem());
  ASSIGN_OR_RETURN(const Target target, target_of(*runtime_));
  gpu_ = target == Target::kCuda;
  ASSIGN_OR_RETURN(call_.handle, runtime_->context().device());
  call_.team = team;
  call_.dtype = problem_.dtype;
  return Status::ok();
}

Status CollectiveImpl::join(const Team& team, const Agreement& agreement,
                            const std::vector<PlanRow>& table) {
  RETURN_IF_ERROR(begin(team));
  return settle(agreement, table);
}

Status CollectiveImpl::create(const Team& team) {
  RETURN_IF_ERROR(begin(team));
  const std::string who = name();
  const TableFile file(*runtime_, who, options_.table.empty());
  ASSIGN_OR_RETURN(const Agreement agreement,
                   exchange(*runtime_, team, {who.c_str(), given(), {}, file.rows()}));
  ASSIGN_OR_RETURN(const std::vector<PlanRow> table, file.share(*runtime_, agreement.from_first));
  RETURN_IF_ERROR(settle(agreement, table));
  ASSIGN_OR_RETURN(memory_, OperatorMemory::create(*runtime_, options_.arena, workspace_bytes()));
  RETURN_IF_ERROR(bind(*runtime_, memory_.begin()));
  return runtime_->barrier();
}

Result<Plan> CollectiveImpl::plan_bytes(std::size_t count) const {
  return kernels::plan(what_, count * bytes_of(problem_.dtype), team_size_, mapped_, limits_,
                       table_, options_.algorithm, options_.blocks, options_.threads);
}

std::string CollectiveImpl::describe() const {
  const std::string what = shape_.hidden == 0
                               ? fmt::format("{} {}", problem_.max_count, to_string(problem_.dtype))
                               : fmt::format("{} rows of {} {}", problem_.max_count / shape_.hidden,
                                             shape_.hidden, to_string(problem_.dtype));
  const auto largest = plan(problem_.max_count);
  return fmt::format("{} of up to {}, {} members; {} bytes of workspace; table: {}; largest: {}",
                     name(), what, team_size_, workspace_bytes(), table_name_,
                     largest ? to_string(*largest) : largest.status().text());
}

Messages CollectiveImpl::messages(void* out, const void* in, std::size_t count, bool several_in,
                                  bool several_out) const {
  const std::size_t bytes = count * bytes_of(problem_.dtype);
  Messages made;
  made.out = static_cast<std::byte*>(out);
  made.in = static_cast<const std::byte*>(in);
  made.in_stride = several_in ? bytes : 0;
  made.out_stride = several_out ? bytes : 0;
  made.bytes = bytes;
  return made;
}

}  // namespace weft::kernels
