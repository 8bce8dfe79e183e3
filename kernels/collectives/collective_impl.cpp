#include "kernels/collectives/collective_impl.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <weft/kernels/table.hpp>

#include "kernels/collectives/all_reduce_norm/row_cut.hpp"
#include "kernels/collectives/limits.hpp"
#include "kernels/collectives/table_file.hpp"
#include "kernels/core/math.hpp"
#include "kernels/core/status.hpp"
#include "kernels/core/target.hpp"

namespace weft::kernels {
namespace {

Status refuse(const std::string& text) { return Status::error(Code::kInvalidArgument, text); }

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

Status CollectiveImpl::choose_kernels(const Runtime& runtime) {
  ASSIGN_OR_RETURN(const Target target, target_of(runtime));
  gpu_ = target == Target::kCuda;
  run_call_ = &cpu::run_call;
#if defined(WEFT_HAS_CUDA_KERNELS)
  if (gpu_) run_call_ = &cuda::run_call;
#endif
  return Status::ok();
}

// By the options or a row of the table: room for Lamport takes as much memory as all else.
bool CollectiveImpl::takes_lamport() const {
  if (!mapped_ || (reduces(what_) && !sums_floats())) return false;
  if (options_.algorithm != Algorithm::kAuto) return is_lamport(options_.algorithm);
  return std::any_of(table_.begin(), table_.end(), [this](const PlanRow& row) {
    return row.what == what_ && is_lamport(row.algorithm);
  });
}

std::vector<Given> CollectiveImpl::given() const {
  return {{"the collective", static_cast<std::uint64_t>(what_)},
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
          {"options.table (a checksum of it)", checksum(options_.table)}};
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

Status CollectiveImpl::lay_out() {
  const auto with = [&](bool uses_ll) {
    layout_ = layout_of({what_, most_bytes(), row_bytes(), team_size_, limits_.channels, gpu_,
                         uses_ll, takes_lamport()});
    limits_.ll_bytes = layout_.ll_slot * dev::kLLPacketBytes;
    limits_.simple_bytes = layout_.simple_slot;
    limits_.lamport_bytes = layout_.lamport_bytes();
  };
  with(mapped_);
  if (what_ != Collective::kAllToAllV) return Status::ok();
  ASSIGN_OR_RETURN(const Plan all_calls, plan(problem_.max_count));  // all have one
  with(all_calls.algorithm == Algorithm::kLL);
  return Status::ok();
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

Result<std::unique_ptr<CollectiveImpl>> CollectiveImpl::begin(Runtime& runtime, const Team& team,
                                                              Collective what,
                                                              const CollectiveProblem& problem,
                                                              const CollectiveOptions& options,
                                                              const RowShape& shape) {
  std::unique_ptr<CollectiveImpl> made(new CollectiveImpl(runtime, what, problem, options, shape));
  RETURN_IF_ERROR(made->check_problem(runtime.npes()));
  RETURN_IF_ERROR(made->choose_kernels(runtime));
  ASSIGN_OR_RETURN(made->call_.handle, runtime.context().device());
  made->call_.team = team;
  made->call_.what = what;
  made->call_.dtype = problem.dtype;
  made->call_.op = problem.op;
  return made;
}

Result<std::unique_ptr<CollectiveImpl>> CollectiveImpl::part(Runtime& runtime, const Team& team,
                                                             Collective what,
                                                             const CollectiveProblem& problem,
                                                             const Agreement& agreement,
                                                             const std::vector<PlanRow>& table) {
  ASSIGN_OR_RETURN(auto made, begin(runtime, team, what, problem, {}, {}));
  RETURN_IF_ERROR(made->settle(agreement, table));
  return made;
}

Result<std::unique_ptr<CollectiveImpl>> CollectiveImpl::create(Runtime& runtime, const Team& team,
                                                               Collective what,
                                                               const CollectiveProblem& problem,
                                                               const CollectiveOptions& options,
                                                               const RowShape& shape) {
  ASSIGN_OR_RETURN(auto made, begin(runtime, team, what, problem, options, shape));
  const std::string name = made->name();
  const TableFile file(runtime, name, options.table.empty());
  ASSIGN_OR_RETURN(const Agreement agreement,
                   exchange(runtime, team, {name.c_str(), made->given(), {}, file.rows()}));
  ASSIGN_OR_RETURN(const std::vector<PlanRow> table, file.share(runtime, agreement.from_first));
  RETURN_IF_ERROR(made->settle(agreement, table));
  ASSIGN_OR_RETURN(made->memory_, SymmetricMemory::create(runtime, made->workspace_bytes()));
  RETURN_IF_ERROR(made->bind(runtime, made->memory_.as<std::byte>()));
  RETURN_IF_ERROR(runtime.barrier());
  return made;
}

Result<Plan> CollectiveImpl::plan_bytes(std::size_t count) const {
  return kernels::plan(what_, count * bytes_of(problem_.dtype), team_size_, mapped_, limits_,
                       table_, options_.algorithm, options_.blocks, options_.threads);
}

Result<Plan> CollectiveImpl::plan(std::size_t count) const {
  ASSIGN_OR_RETURN(const Plan made, plan_bytes(count));
  if (shape_.hidden == 0) return made;
  return plan_rows(made, std::max<std::size_t>(count / shape_.hidden, 1)).plan;
}

CollectiveImpl::RowPlan CollectiveImpl::plan_rows(Plan made, std::size_t rows) const {
  if (is_lamport(made.algorithm)) {
    const bool two_shot = made.algorithm == Algorithm::kTwoShotLamport;
    const auto cut = cut_rows({rows, row_bytes(), team_size_, two_shot, made.blocks, made.threads,
                               clusters_, gpu_, limits_.lamport_bytes});
    if (cut) {
      made.blocks = cut->blocks;
      made.threads = cut->threads;
      return {made, cut->split};
    }
    made.algorithm = two_shot ? Algorithm::kTwoShotLL : Algorithm::kLL;
  }
  if (made.algorithm == Algorithm::kSimple) {  // a row is one block's
    made.blocks = static_cast<unsigned>(std::min<std::size_t>(rows, made.blocks));
    return {made, 1};
  }
  made.blocks = blocks_of_rows();  // all count rows (row_sums.hpp)
  made.threads = std::min(made.threads, kMostThreadsOfRows);
  const unsigned blocks = split(rows);
  if (options_.threads == 0)
    made.threads = static_cast<unsigned>(
        std::min<std::size_t>(units_of_part(row_bytes(), blocks), made.threads));
  return {made, blocks};
}

// Blocks that share a row in calls by LL: as many as there are for each, and have a chunk.
unsigned CollectiveImpl::split(std::size_t rows) const {
  const std::size_t chunks = chunks_of_row(row_bytes());
  const std::size_t blocks = std::clamp<std::size_t>(blocks_of_rows() / rows, 1, chunks);
  return chunks > kMostChunks ? 1
                              : static_cast<unsigned>(ceil_div(chunks, ceil_div(chunks, blocks)));
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

Messages CollectiveImpl::messages(void* out, const void* in, std::size_t count) const {
  const std::size_t bytes = count * bytes_of(problem_.dtype);
  const bool is_split_in = what_ == Collective::kReduceScatter || what_ == Collective::kAllToAll;
  const bool is_split_out = what_ == Collective::kAllGather || what_ == Collective::kAllToAll;
  return {static_cast<std::byte*>(out),
          static_cast<const std::byte*>(in),
          is_split_in ? bytes : 0,
          is_split_out ? bytes : 0,
          bytes,
          nullptr};
}

Status CollectiveImpl::run(Stream stream, void* out, const void* in, std::size_t count,
                           int root) const {
  if (count == 0 && call_.team.is_member()) return Status::ok();
  RETURN_IF_ERROR(check_call(out, in, count, root));
  Call call = call_;
  ASSIGN_OR_RETURN(call.plan, plan(count));
  call.messages = messages(out, in, count);
  call.root = root;
  if (call.plan.algorithm == Algorithm::kZeroCopy) RETURN_IF_ERROR(check_symmetric(call.messages));
  return run_call_(call, stream);
}

Status CollectiveImpl::run(Stream stream, void* out, const void* in,
                           const AllToAllVSizes& sizes) const {
  RETURN_IF_ERROR(check_call(out, in, problem_.max_count, 0));
  RETURN_IF_ERROR(check_sizes(sizes));
  Call call = call_;
  ASSIGN_OR_RETURN(call.plan, plan(problem_.max_count));
  call.messages = {
      static_cast<std::byte*>(out), static_cast<const std::byte*>(in), 0, 0, 0, nullptr, nullptr};
  call.sizes = sizes;
  if (call.plan.algorithm == Algorithm::kZeroCopy) RETURN_IF_ERROR(check_symmetric(call.messages));
  return run_call_(call, stream);
}

Status CollectiveImpl::run(Stream stream, const NormBuffers& buffers, std::size_t rows) const {
  if (rows == 0 && call_.team.is_member()) return Status::ok();
  if (rows > problem_.max_count / shape_.hidden)
    return refuse(fmt::format("{}: rows is {}, but the operator was made for max_rows {}", name(),
                              rows, problem_.max_count / shape_.hidden));
  const std::size_t count = rows * shape_.hidden;
  RETURN_IF_ERROR(check_call(buffers.out, buffers.in, count, 0));
  RETURN_IF_ERROR(check_address("residual_out", buffers.residual_out));
  RETURN_IF_ERROR(check_address("residual", buffers.residual));
  RETURN_IF_ERROR(check_address("weight", buffers.weight));
  if (buffers.out == buffers.residual_out)
    return refuse(name() + ": out is residual_out; each takes its own buffer");
  Call call = call_;
  ASSIGN_OR_RETURN(const Plan by_bytes, plan_bytes(count));
  const RowPlan by_rows = plan_rows(by_bytes, rows);
  call.plan = by_rows.plan;
  call.messages = messages(buffers.residual_out, buffers.in, count);
  call.messages.addend = static_cast<const std::byte*>(buffers.residual);
  call.norm = {static_cast<std::byte*>(buffers.out),
               static_cast<const std::byte*>(buffers.weight),
               shape_.hidden,
               row_bytes(),
               by_rows.split,
               shape_.epsilon};
  return run_call_(call, stream);
}

}  // namespace weft::kernels
