#include <weft/kernels/plan.hpp>

#include <algorithm>

#include <fmt/format.h>

#include "kernels/collectives/algorithm.hpp"
#include "kernels/collectives/limits.hpp"
#include "kernels/core/math.hpp"

namespace weft::kernels {
namespace {

constexpr std::size_t KiB = 1024;
constexpr std::size_t kLine = 128;  // bytes
// Where the host carries puts out, each costs some ten microseconds.
constexpr unsigned kMostBlocksByHost = 8;
constexpr std::size_t kLeastPieceByHost = 16 * KiB;

bool is_for(const PlanRow& row, Collective what, int npes, bool symmetric) {
  return row.what == what && (row.most_pes == 0 || npes <= row.most_pes) &&
         (symmetric || !is_by(what, row.algorithm, Protocol::kZeroCopy));
}

// Null: none of that collective.
const PlanRow* find_row(Collective what, std::size_t bytes, int npes, bool symmetric,
                        const std::vector<PlanRow>& table) {
  for (const PlanRow& row : table)
    if (bytes <= row.up_to && is_for(row, what, npes, symmetric)) return &row;
  for (auto row = table.rbegin(); row != table.rend(); ++row)
    if (is_for(*row, what, npes, symmetric)) return &*row;
  return nullptr;
}

std::size_t parts_of(Parts parts, int npes) {
  const auto n = static_cast<std::size_t>(npes);
  if (parts == Parts::kOthers) return std::max<std::size_t>(n, 2) - 1;
  return parts == Parts::kMembers ? n : 1;
}

// Blocks that have something to do, each so many bytes of `bytes`.
unsigned useful_blocks(const Plan& plan, std::size_t bytes, std::size_t each) {
  return static_cast<unsigned>(
      std::clamp<std::size_t>(ceil_div(bytes, each), 1, std::size_t{plan.blocks}));
}

// By LL in one round: what a block takes of a message, which may have to go by Simple, too.
std::size_t piece_of_ll(const PlanLimits& limits) {
  const std::size_t most = std::min(limits.simple_bytes, limits.ll_bytes) / kLine * kLine;
  return std::max(most, kHeaderBytes + kLine) - kHeaderBytes;
}

// Cut into pieces, one for each block or more.
void plan_simple(Plan& plan, std::size_t bytes, std::size_t parts, bool mapped,
                 const PlanLimits& limits) {
  const std::size_t most = std::max(limits.simple_bytes / kLine * kLine, kLine);
  const std::size_t least = std::min(mapped ? kLine : kLeastPieceByHost, most);
  plan.piece = std::clamp(align_up(ceil_div(bytes, parts * plan.blocks), kLine), least, most);
  plan.blocks = useful_blocks(plan, ceil_div(bytes, parts), plan.piece);
}

// An LL packet for each thread, but no more of a block than it takes in a round. In one round a
// block has one piece, if it can.
void plan_ll(Plan& plan, bool in_one_round, std::size_t bytes, std::size_t parts,
             const PlanLimits& limits) {
  const std::size_t most_piece = piece_of_ll(limits);
  std::size_t each = std::min(8 * std::size_t{plan.threads}, limits.ll_bytes);
  if (in_one_round) each = std::min(each, most_piece);
  plan.blocks = useful_blocks(plan, ceil_div(bytes, parts), each);
  if (in_one_round)
    plan.piece = std::clamp(align_up(ceil_div(bytes, plan.blocks), kLine), kLine, most_piece);
}

// 16 bytes for each thread. A message that the slots of all channels do not hold goes in passes
// through half of each at a time; so it does where `forced` blocks are too few.
void plan_lamport(Plan& plan, std::size_t part, const PlanLimits& limits, bool forced) {
  const std::size_t blocks_for_one_pass = ceil_div(part, limits.lamport_bytes);
  if (!forced && blocks_for_one_pass <= limits.channels)
    plan.blocks = std::max(plan.blocks, static_cast<unsigned>(blocks_for_one_pass));
  plan.blocks =
      useful_blocks(plan, part, std::min(16 * std::size_t{plan.threads}, limits.lamport_bytes));
  if (part > limits.lamport_bytes * plan.blocks)  // there is a line at least
    plan.piece = std::max(limits.lamport_bytes / 2 / kLine * kLine, kLine / 2);
}

void plan_zero_copy(Plan& plan, bool relays, std::size_t part) {
  constexpr std::size_t kPieces = 16, kLeast = 8 * KiB, kMost = 128 * KiB;
  plan.blocks = useful_blocks(plan, part, 16 * std::size_t{plan.threads});
  if (relays)
    plan.piece = std::clamp(align_up(ceil_div(part, plan.blocks * kPieces), kLine), kLeast, kMost);
}

// The algorithm that was asked for, or the one that takes its place where that cannot be.
const AlgorithmTraits& possible(const AlgorithmTraits& asked, Collective what, std::size_t bytes,
                                int npes, bool mapped, unsigned blocks, const PlanLimits& limits,
                                bool is_forced) {
  const auto named = [&](const Algorithm& name) -> const AlgorithmTraits& {
    const AlgorithmTraits* const found = find_algorithm(what, name);
    return found != nullptr ? *found : *find_algorithm(what, Algorithm::kSimple);
  };
  if (asked.protocol == Protocol::kSimple)
    return npes >= asked.least_members ? asked : named(asked.fallback);
  if (!mapped) return named(Algorithm::kSimple);
  if (asked.protocol == Protocol::kZeroCopy)
    return limits.symmetric ? asked : named(Algorithm::kSimple);
  const bool by_lamport = asked.protocol == Protocol::kLamport;
  if (by_lamport && limits.lamport_bytes != 0) return asked;
  const AlgorithmTraits& large =
      named(limits.symmetric ? Algorithm::kZeroCopy : Algorithm::kSimple);
  if (limits.ll_bytes == 0) return large;
  const AlgorithmTraits& by_ll = by_lamport ? named(asked.fallback) : asked;
  // A table would not have more than a round go by LL in place of Lamport.
  bool fits = is_forced;
  if (by_lamport)
    fits = fits || ceil_div(bytes, parts_of(asked.parts, npes)) <= limits.ll_bytes * blocks;
  else
    fits = fits || !asked.in_one_round || bytes <= piece_of_ll(limits) * blocks;
  return fits ? by_ll : large;
}

// Blocks and pieces, by the protocol.
void plan_pieces(Plan& plan, const AlgorithmTraits& by, std::size_t bytes, int npes, bool mapped,
                 const PlanLimits& limits, bool blocks_are_forced) {
  const std::size_t parts = parts_of(by.parts, npes);
  switch (by.protocol) {
    case Protocol::kLamport:
      return plan_lamport(plan, ceil_div(bytes, parts), limits, blocks_are_forced);
    case Protocol::kZeroCopy: return plan_zero_copy(plan, by.relays, ceil_div(bytes, parts));
    case Protocol::kSimple: return plan_simple(plan, bytes, parts, mapped, limits);
    case Protocol::kLL: return plan_ll(plan, by.in_one_round, bytes, parts, limits);
  }
}

}  // namespace

const AlgorithmTraits* find_algorithm(Collective what, const Algorithm& algorithm) {
  for (const AlgorithmTraits& one : cpu::algorithms_of(what))
    if (one.name == algorithm) return &one;
  return nullptr;
}

const char* to_string(Collective what) {
  switch (what) {
    case Collective::kAllReduce: return "AllReduce";
    case Collective::kAllGather: return "AllGather";
    case Collective::kReduceScatter: return "ReduceScatter";
    case Collective::kAllToAll: return "AllToAll";
    case Collective::kAllToAllV: return "AllToAllV";
    case Collective::kBroadcast: return "Broadcast";
    case Collective::kAllReduceNorm: return "AllReduceNorm";
  }
  return "no collective";
}

std::string to_string(const Plan& plan) {
  std::string text = fmt::format("{}, {} blocks of {} threads", to_string(plan.algorithm),
                                 plan.blocks, plan.threads);
  if (plan.piece != 0) text += fmt::format(", pieces of {} bytes", plan.piece);
  return text;
}

unsigned most_blocks(Collective what, std::size_t bytes, int npes, bool symmetric,
                     const std::vector<PlanRow>& table) {
  unsigned most = 1;
  for (const PlanRow& row : table) {
    if (!is_for(row, what, npes, symmetric)) continue;
    most = std::max(most, row.blocks);
    if (bytes <= row.up_to) break;
  }
  return most;
}

Result<Plan> plan(Collective what, std::size_t bytes, int npes, bool mapped,
                  const PlanLimits& limits, const std::vector<PlanRow>& table, Algorithm forced,
                  unsigned blocks, unsigned threads) {
  const PlanRow* const row = find_row(what, bytes, npes, limits.symmetric && mapped, table);
  if (row == nullptr)
    return Status::error(Code::kInvalidArgument,
                         fmt::format("plan: the table has no row for {}", to_string(what)));
  Plan made;
  made.algorithm = forced == Algorithm::kAuto ? row->algorithm : forced;
  const AlgorithmTraits* const asked = find_algorithm(what, made.algorithm);
  if (asked == nullptr)
    return Status::error(
        Code::kUnsupported,
        fmt::format("plan: {} has no algorithm '{}'", to_string(what), to_string(made.algorithm)));
  made.threads = threads != 0 ? threads : row->threads;
  made.blocks = blocks != 0 ? blocks
                : mapped    ? row->blocks
                            : std::min(row->blocks, kMostBlocksByHost);
  made.blocks = std::clamp(made.blocks, 1u, limits.channels);
  const AlgorithmTraits& by =
      possible(*asked, what, bytes, npes, mapped, made.blocks, limits, forced != Algorithm::kAuto);
  made.algorithm = by.name;
  // Rows decide on the rest (all_reduce_norm/row_cut.hpp).
  if (by.protocol == Protocol::kLamport && what == Collective::kAllReduceNorm) return made;
  plan_pieces(made, by, bytes, npes, mapped, limits, blocks != 0);
  return made;
}

}  // namespace weft::kernels
