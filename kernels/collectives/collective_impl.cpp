#include "kernels/collectives/collective_impl.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kernels/collectives/layout.hpp"
#include "kernels/collectives/limits.hpp"
#include "kernels/collectives/row_cut.hpp"
#include "kernels/core/agree.hpp"
#include "kernels/core/gpu_share.hpp"
#include "kernels/core/share.hpp"
#include "kernels/core/status.hpp"
#include "kernels/core/target.hpp"

namespace weft::kernels {
namespace {

Status refuse(const std::string& text) { return Status::error(Code::kInvalidArgument, text); }

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

// By the options or a row of the table: room for words takes as much memory as all else.
bool CollectiveImpl::takes_words() const {
  if (!mapped_ || (reduces(what_) && !sums_floats())) return false;
  if (options_.algorithm != Algorithm::kAuto) return is_words(options_.algorithm);
  return std::any_of(table_.begin(), table_.end(), [this](const PlanRow& row) {
    return row.what == what_ && is_words(row.algorithm);
  });
}

Status CollectiveImpl::make_workspace(Runtime& runtime) {
  unsigned blocks = options_.blocks;
  const std::size_t most_bytes = problem_.max_count * bytes_of(problem_.dtype);
  ASSIGN_OR_RETURN(const GpuShare share, gpu_share(runtime));
  clusters_ = gpu_ && share.clusters;
  call_.starts_early = clusters_;  // sm_90 brought both
  if (blocks == 0) {
    blocks = most_blocks(what_, most_bytes, team_size_, options_.symmetric, table_);
    // Blocks that wait for others of their grid, or of one beside it, are there at once.
    if (gpu_) at_once_ = static_cast<unsigned>(share.multiprocessors / share.sharers);
    if (share.sharers > 1) blocks = std::min(blocks, at_once_);
  }
  const std::size_t busy = shares(most_bytes, gpu_ || shape_.hidden != 0 ? 1024 : 16);
  limits_.channels =
      static_cast<unsigned>(std::clamp<std::size_t>(busy, 1, std::clamp(blocks, 1u, kMostBlocks)));
  ASSIGN_OR_RETURN(rounds_, SymmetricMemory::create(runtime, limits_.channels * sizeof(Rounds)));

  // On whether all members map all, all must agree.
  std::uint64_t maps = 1;
  for (int rank = 0; call_.team.is_member() && rank < call_.team.size; ++rank)
    if (runtime.context().ptr(rounds_.as<Rounds>(), call_.team.pe_of(rank)) == nullptr) maps = 0;
  ASSIGN_OR_RETURN(const std::vector<std::vector<std::uint64_t>> all,
                   exchange_words(runtime, {maps}));
  mapped_ = std::all_of(all.begin(), all.end(), [](const auto& pe) { return pe[0] == 1; });
  if (!mapped_) {  // few channels, so that each has larger pieces
    ASSIGN_OR_RETURN(const Plan largest, plan(problem_.max_count));
    limits_.channels = largest.blocks;
  }

  const auto lay_out = [&](bool packs) {
    const Layout made = layout_of(
        {what_, most_bytes, row_bytes(), team_size_, limits_.channels, gpu_, packs, takes_words()});
    limits_.packet_bytes = made.packet_slot * dev::kPacketBytes;
    limits_.bulk_bytes = made.bulk_slot;
    limits_.word_bytes = made.word_bytes();
    return made;
  };
  Layout layout = lay_out(mapped_);
  if (what_ == Collective::kAllToAllV) {  // all calls have one plan
    ASSIGN_OR_RETURN(const Plan all_calls, plan(problem_.max_count));
    layout = lay_out(all_calls.algorithm == Algorithm::kPackets);
  }
  ASSIGN_OR_RETURN(rest_, SymmetricMemory::create(runtime, layout.bytes));
  call_.space = layout.workspace(rounds_.as<Rounds>(), rest_.as<std::byte>(), limits_.channels);

  if (options_.first_round != 0) {
    std::vector<Rounds> rounds(limits_.channels);
    for (Rounds& r : rounds) r.packets = options_.first_round;
    RETURN_IF_ERROR(runtime.context().put_bytes(call_.space.rounds, rounds.data(),
                                                rounds.size() * sizeof(Rounds), runtime.pe()));
  }
  RETURN_IF_ERROR(empty_words(runtime, call_.space.words,
                              (layout.staging - layout.words) / sizeof(std::uint64_t)));
  return runtime.barrier();
}

Result<std::unique_ptr<CollectiveImpl>> CollectiveImpl::create(Runtime& runtime, const Team& team,
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
  RETURN_IF_ERROR(made->agree(runtime));
  RETURN_IF_ERROR(made->make_workspace(runtime));
  // An algorithm that the collective does not have, before the first call.
  RETURN_IF_ERROR(made->plan(problem.max_count).status());
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
  if (is_words(made.algorithm)) {
    const bool two_shot = made.algorithm == Algorithm::kTwoShotWords;
    const auto cut = cut_rows({rows, row_bytes(), team_size_, two_shot, made.blocks, made.threads,
                               clusters_, gpu_, limits_.word_bytes});
    if (cut) {
      made.blocks = cut->blocks;
      made.threads = cut->threads;
      return {made, cut->split};
    }
    made.algorithm = two_shot ? Algorithm::kTwoShotPackets : Algorithm::kPackets;
  }
  if (made.algorithm == Algorithm::kBulk) {  // a row is one block's
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

// Blocks that share a row, of calls in packets: as many as there are for each, and have a chunk.
unsigned CollectiveImpl::split(std::size_t rows) const {
  const std::size_t chunks = chunks_of_row(row_bytes());
  const std::size_t blocks = std::clamp<std::size_t>(blocks_of_rows() / rows, 1, chunks);
  return chunks > kMostChunks ? 1 : static_cast<unsigned>(shares(chunks, shares(chunks, blocks)));
}

std::size_t CollectiveImpl::workspace_bytes() const { return rounds_.bytes() + rest_.bytes(); }

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
  if (call.plan.algorithm == Algorithm::kSymmetric) RETURN_IF_ERROR(check_symmetric(call.messages));
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
  if (call.plan.algorithm == Algorithm::kSymmetric) RETURN_IF_ERROR(check_symmetric(call.messages));
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
