#include "kernels/collectives/collective_impl.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <weft/collective.hpp>
#include <weft/kernels/table.hpp>

#include "kernels/core/agree.hpp"
#include "kernels/core/share.hpp"
#include "kernels/core/status.hpp"
#include "kernels/core/target.hpp"

namespace weft::kernels {
namespace {

constexpr std::size_t kNormPacketBytes = std::size_t{64} << 20;  // so that rows go in one round

// Staging of a channel for what comes from one member in a round, at most: of a large team less, so
// that all together need no more. On hosts little, so that small tests go through many rounds.
struct Slots {
  std::size_t packets;  // units
  std::size_t bulk;     // bytes
};
Slots slots_for(bool gpu, std::size_t team_size) {
  const std::size_t others = std::max<std::size_t>(team_size, 2) - 1;
  const std::size_t bulk = (gpu ? 128 << 10 : 8 << 10) / others / 128 * 128;
  return {gpu ? std::clamp<std::size_t>(4096 / team_size, 64, 512) : 64,
          std::max<std::size_t>(bulk, 1024)};
}

Status refuse(const std::string& text) { return Status::error(Code::kInvalidArgument, text); }

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

Status CollectiveImpl::choose_kernels(const Runtime& runtime) {
  ASSIGN_OR_RETURN(const Target target, target_of(runtime));
  gpu_ = target == Target::kCuda;
  run_call_ = &cpu::run_call;
#if defined(WEFT_HAS_CUDA_KERNELS)
  if (gpu_) run_call_ = &cuda::run_call;
#endif
  return Status::ok();
}

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
    return runtime.pe() == 0 ? read.status()
                             : refuse(name() +
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

// Of a channel: what its members' messages have for it, or as much of that as there is room for.
void CollectiveImpl::make_slots(std::size_t most_bytes) {
  const auto size = static_cast<std::size_t>(team_size_);
  const Slots most = slots_for(gpu_, size);
  const std::size_t share = shares(most_bytes, limits_.channels);
  std::size_t packets = std::min(rounded_up(shares(share, 8) + 1, 16), most.packets);
  std::size_t bulk = std::min(rounded_up(share + 1, 128), most.bulk);
  if (shape_.hidden != 0) {  // a row in one round, if it is not too long; its part in one piece
    const std::size_t room = kNormPacketBytes / (2 * sizeof(dev::Packet) * size * limits_.channels);
    packets = std::min(rounded_up(shares(row_bytes(), 8), 16),
                       std::max(gpu_ ? room / 16 * 16 : 0, most.packets));
    bulk = std::max(bulk, rounded_up(shares(row_bytes(), size) + 15, 128));
  }
  const bool packs = mapped_ && what_ != Collective::kAllToAllV;
  call_.space.channels = limits_.channels;
  call_.space.packet_slot = static_cast<std::uint32_t>(packs ? packets : 0);
  call_.space.bulk_slot = static_cast<std::uint32_t>(bulk);
  limits_.packet_bytes = call_.space.packet_slot * std::size_t{8};
  limits_.bulk_bytes = bulk;
}

Status CollectiveImpl::make_workspace(Runtime& runtime) {
  unsigned blocks = options_.blocks;
  if (blocks == 0)
    for (const PlanRow& row : table_)
      if (row.what == what_) blocks = std::max(blocks, row.blocks);
  const std::size_t most_bytes = problem_.max_count * bytes_of(problem_.dtype);
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

  make_slots(most_bytes);
  const auto size = static_cast<std::size_t>(team_size_);
  Workspace& space = call_.space;
  const std::size_t channel_slots = 2 * limits_.channels * size;
  const std::size_t packet_bytes = channel_slots * space.packet_slot * sizeof(dev::Packet);
  const std::size_t staging_bytes = channel_slots * space.bulk_slot;
  const std::size_t header_words =
      what_ == Collective::kAllToAllV ? 2 * limits_.channels * size : 0;
  const std::size_t sums =
      shape_.hidden != 0 ? 2 * std::size_t{limits_.channels} * kMostChunks * sizeof(dev::Packet)
                         : 0;
  ASSIGN_OR_RETURN(rest_, SymmetricMemory::create(
                              runtime, packet_bytes + staging_bytes + sums +
                                           (channel_slots + header_words) * sizeof(std::uint64_t)));
  auto* const rest = rest_.as<std::byte>();
  space.rounds = rounds_.as<Rounds>();
  space.packets = reinterpret_cast<dev::Packet*>(rest);
  space.staging = rest + packet_bytes;
  space.sums = reinterpret_cast<dev::Packet*>(space.staging + staging_bytes);
  space.signals = reinterpret_cast<std::uint64_t*>(space.staging + staging_bytes + sums);
  space.headers = space.signals + channel_slots;

  if (options_.first_round != 0) {
    std::vector<Rounds> rounds(limits_.channels);
    for (Rounds& r : rounds) r.packets = options_.first_round;
    RETURN_IF_ERROR(runtime.context().put_bytes(space.rounds, rounds.data(),
                                                rounds.size() * sizeof(Rounds), runtime.pe()));
  }
  return runtime.barrier();
}

Result<std::unique_ptr<CollectiveImpl>> CollectiveImpl::create(Runtime& runtime, const Team& team,
                                                               Collective what,
                                                               const CollectiveProblem& problem,
                                                               const CollectiveOptions& options,
                                                               const RowShape& shape) {
  std::unique_ptr<CollectiveImpl> made(new CollectiveImpl(what, problem, options, shape));
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

Result<Plan> CollectiveImpl::plan(std::size_t count) const {
  ASSIGN_OR_RETURN(Plan made, kernels::plan(what_, count * bytes_of(problem_.dtype), team_size_,
                                            mapped_, limits_, table_, options_.algorithm,
                                            options_.blocks, options_.threads));
  if (shape_.hidden == 0) return made;
  const std::size_t rows = std::max<std::size_t>(count / shape_.hidden, 1);
  if (made.algorithm == Algorithm::kBulk) {  // a row is one block's
    made.blocks = static_cast<unsigned>(std::min<std::size_t>(rows, made.blocks));
  } else {  // all count rows (row_sums.hpp)
    made.blocks = limits_.channels;
    if (options_.threads == 0)
      made.threads = static_cast<unsigned>(
          std::min<std::size_t>(units_of_part(row_bytes(), split(rows)), made.threads));
  }
  return made;
}

// Blocks that share a row, of calls in packets: as many as there are for each, and have a chunk.
unsigned CollectiveImpl::split(std::size_t rows) const {
  const std::size_t chunks = shares(shares(row_bytes(), 8), kUnitsOfChunk);
  const std::size_t blocks = std::clamp<std::size_t>(limits_.channels / rows, 1, chunks);
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
  ASSIGN_OR_RETURN(call.plan, plan(count));
  call.messages = messages(buffers.residual_out, buffers.in, count);
  call.messages.addend = static_cast<const std::byte*>(buffers.residual);
  call.norm = {static_cast<std::byte*>(buffers.out),
               static_cast<const std::byte*>(buffers.weight),
               shape_.hidden,
               row_bytes(),
               split(rows),
               shape_.epsilon};
  return run_call_(call, stream);
}

}  // namespace weft::kernels
