#include <weft/kernels/plan.hpp>

#include <algorithm>

#include <fmt/format.h>

#include "kernels/collectives/limits.hpp"
#include "kernels/core/math.hpp"

namespace weft::kernels {
namespace {

constexpr std::size_t kAny = ~std::size_t{0};
constexpr std::size_t KiB = 1024;
constexpr std::size_t kLine = 128;  // bytes
// Where the host carries puts out, each costs some ten microseconds.
constexpr unsigned kMostBlocksByHost = 8;
constexpr std::size_t kLeastPieceByHost = 16 * KiB;

using enum Collective;
using enum Algorithm;

// As measured on two and on four H100 and H200 (docs/measurements/2026-11-26-collectives.md), where
// messages that each sends to all others are the smaller, the more there are: for more PEs an
// estimate.
const std::vector<PlanRow> kGpuTable = {
    {kAllReduce, 2, 4 * KiB, kLamport, 32, 128},
    {kAllReduce, 2, 1024 * KiB, kLamport, 256, 256},
    {kAllReduce, 2, 2048 * KiB, kLamport, 256, 512},
    {kAllReduce, 2, 32768 * KiB, kTwoShotLamport, 256, 512},
    {kAllReduce, 2, kAny, kSimple, 256, 256},
    {kAllReduce, 0, 64 * KiB, kLamport, 64, 128},
    {kAllReduce, 4, 256 * KiB, kLamport, 128, 256},
    {kAllReduce, 0, 128 * KiB, kLamport, 128, 256},
    {kAllReduce, 0, 1024 * KiB, kTwoShotLamport, 128, 256},
    {kAllReduce, 0, kAny, kTwoShotLamport, 128, 512},
    {kAllGather, 2, 8 * KiB, kLL, 32, 128},
    {kAllGather, 2, 512 * KiB, kLamport, 128, 256},
    {kAllGather, 2, 1024 * KiB, kLamport, 256, 256},
    {kAllGather, 2, 16384 * KiB, kLamport, 256, 512},
    {kAllGather, 2, kAny, kZeroCopy, 256, 256},
    {kAllGather, 2, kAny, kSimple, 256, 256},
    {kAllGather, 0, 64 * KiB, kLL, 64, 128},
    {kAllGather, 4, 128 * KiB, kLL, 64, 256},
    {kAllGather, 0, 512 * KiB, kLamport, 128, 256},
    {kAllGather, 0, 1024 * KiB, kLamport, 128, 512},
    {kAllGather, 4, 2048 * KiB, kLamport, 128, 512},
    {kAllGather, 0, 8192 * KiB, kZeroCopy, 128, 256},
    {kAllGather, 0, 65536 * KiB, kZeroCopy, 256, 256},
    {kAllGather, 0, kAny, kZeroCopy, 256, 512},
    {kAllGather, 0, 4096 * KiB, kLamport, 128, 512},
    {kAllGather, 0, kAny, kLamport, 128, 256},
    {kReduceScatter, 2, 4 * KiB, kLamport, 32, 128},
    {kReduceScatter, 2, 16384 * KiB, kLamport, 256, 256},
    {kReduceScatter, 2, kAny, kSimple, 256, 256},
    {kReduceScatter, 0, 64 * KiB, kLamport, 64, 128},
    {kReduceScatter, 0, 256 * KiB, kLamport, 128, 256},
    {kReduceScatter, 0, kAny, kLamport, 128, 512},
    {kAllToAll, 2, 16 * KiB, kLL, 32, 128},
    {kAllToAll, 2, 64 * KiB, kLL, 64, 256},
    {kAllToAll, 2, 512 * KiB, kLamport, 128, 256},
    {kAllToAll, 2, 1024 * KiB, kLamport, 256, 256},
    {kAllToAll, 2, 8192 * KiB, kLamport, 256, 512},
    {kAllToAll, 2, kAny, kZeroCopy, 256, 256},
    {kAllToAll, 2, kAny, kSimple, 256, 256},
    {kAllToAll, 0, 64 * KiB, kLL, 64, 128},
    {kAllToAll, 4, 128 * KiB, kLL, 64, 256},
    {kAllToAll, 0, 512 * KiB, kLamport, 128, 256},
    {kAllToAll, 0, 1024 * KiB, kLamport, 128, 512},
    {kAllToAll, 4, 2048 * KiB, kLamport, 128, 512},
    {kAllToAll, 0, 16384 * KiB, kZeroCopy, 128, 256},
    {kAllToAll, 0, kAny, kZeroCopy, 256, 256},
    {kAllToAll, 0, kAny, kLamport, 128, 512},
    {kAllToAllV, 2, 64 * KiB, kLL, 64, 128},
    {kAllToAllV, 2, 128 * KiB, kLL, 128, 128},
    {kAllToAllV, 2, 256 * KiB, kLL, 128, 256},
    {kAllToAllV, 2, 8192 * KiB, kZeroCopy, 128, 256},
    {kAllToAllV, 2, kAny, kZeroCopy, 256, 256},
    {kAllToAllV, 2, 4096 * KiB, kSimple, 128, 512},
    {kAllToAllV, 2, kAny, kSimple, 256, 256},
    {kAllToAllV, 0, 128 * KiB, kLL, 128, 128},
    {kAllToAllV, 4, 256 * KiB, kLL, 128, 256},
    {kAllToAllV, 0, 16384 * KiB, kZeroCopy, 128, 256},
    {kAllToAllV, 0, kAny, kZeroCopy, 256, 256},
    {kAllToAllV, 0, 2048 * KiB, kSimple, 128, 512},
    {kAllToAllV, 0, kAny, kSimple, 256, 256},
    {kBroadcast, 2, 16 * KiB, kLL, 32, 128},
    {kBroadcast, 2, 64 * KiB, kLL, 64, 256},
    {kBroadcast, 2, 512 * KiB, kLamport, 128, 256},
    {kBroadcast, 2, 4096 * KiB, kLamport, 256, 256},
    {kBroadcast, 2, 16384 * KiB, kLamport, 256, 512},
    {kBroadcast, 2, kAny, kSimple, 256, 256},
    {kBroadcast, 0, 64 * KiB, kLL, 64, 128},
    {kBroadcast, 0, 128 * KiB, kLL, 64, 256},
    {kBroadcast, 0, 1024 * KiB, kLamport, 128, 256},
    {kBroadcast, 0, 16384 * KiB, kLamport, 128, 512},
    {kBroadcast, 0, kAny, kZeroCopy, 128, 256},
    {kBroadcast, 0, kAny, kLamport, 128, 512},
    {kAllReduceNorm, 2, 256 * KiB, kLamport, 128, 128},
    {kAllReduceNorm, 2, 10240 * KiB, kTwoShotLamport, 128, 256},
    {kAllReduceNorm, 2, 20480 * KiB, kTwoShotLamport, 256, 256},
    {kAllReduceNorm, 2, kAny, kSimple, 128, 512},
    {kAllReduceNorm, 4, 192 * KiB, kLamport, 128, 128},
    {kAllReduceNorm, 0, 64 * KiB, kLamport, 128, 128},
    {kAllReduceNorm, 0, 4096 * KiB, kTwoShotLamport, 128, 256},
    {kAllReduceNorm, 4, 10240 * KiB, kTwoShotLamport, 128, 256},
    {kAllReduceNorm, 4, 20480 * KiB, kTwoShotLamport, 256, 256},
    {kAllReduceNorm, 0, kAny, kSimple, 256, 256},
};

// As few threads as go through everything: a laptop has no more.
const std::vector<PlanRow> kHostTable = {
    {kAllReduce, 0, 1 * KiB, kLL, 1, 2},
    {kAllReduce, 0, 8 * KiB, kTwoShotLL, 2, 2},
    {kAllReduce, 0, kAny, kZeroCopy, 2, 2},
    {kAllReduce, 0, kAny, kSimple, 2, 2},
    {kAllGather, 0, 1 * KiB, kLL, 1, 2},
    {kAllGather, 0, kAny, kZeroCopy, 2, 2},
    {kAllGather, 0, kAny, kSimple, 2, 2},
    {kReduceScatter, 0, 1 * KiB, kLL, 1, 2},
    {kReduceScatter, 0, kAny, kZeroCopy, 2, 2},
    {kReduceScatter, 0, kAny, kSimple, 2, 2},
    {kAllToAll, 0, 1 * KiB, kLL, 1, 2},
    {kAllToAll, 0, kAny, kZeroCopy, 2, 2},
    {kAllToAll, 0, kAny, kSimple, 2, 2},
    {kAllToAllV, 0, 1 * KiB, kLL, 2, 2},
    {kAllToAllV, 0, kAny, kZeroCopy, 2, 2},
    {kAllToAllV, 0, kAny, kSimple, 2, 2},
    {kBroadcast, 0, 1 * KiB, kLL, 1, 2},
    {kBroadcast, 0, kAny, kZeroCopy, 2, 2},
    {kBroadcast, 0, kAny, kScatteredSimple, 2, 2},
    {kAllReduceNorm, 0, 1 * KiB, kLL, 2, 2},
    {kAllReduceNorm, 0, 8 * KiB, kTwoShotLL, 2, 2},
    {kAllReduceNorm, 0, kAny, kSimple, 2, 2},
};

bool is_for(const PlanRow& row, Collective what, int npes, bool symmetric) {
  return row.what == what && (row.most_pes == 0 || npes <= row.most_pes) &&
         (row.algorithm != kZeroCopy || symmetric);
}

// Null: none of that collective.
const PlanRow* find_row(Collective what, std::size_t bytes, int npes, bool symmetric,
                        const std::vector<PlanRow>& table) {
  const PlanRow* last = nullptr;
  for (const PlanRow& row : table) {
    if (!is_for(row, what, npes, symmetric)) continue;
    if (bytes <= row.up_to) return &row;
    last = &row;
  }
  return last;
}

bool is_simple(Algorithm algorithm) {
  return algorithm == kSimple || algorithm == kScatteredSimple;
}

// Into how many parts a message is cut, one for each member that has to do with it.
std::size_t parts_of(Collective what, Algorithm algorithm, int npes) {
  const auto n = static_cast<std::size_t>(npes);
  if (algorithm == kScatteredSimple) return n - 1;
  if (what == kBroadcast && (algorithm == kZeroCopy || algorithm == kLamport))
    return std::max<std::size_t>(n, 2) - 1;
  return (what == kAllReduce || what == kAllReduceNorm) && algorithm != kLL && algorithm != kLamport
             ? n
             : 1;
}

// Blocks that have something to do, each so many bytes of `bytes`.
unsigned useful_blocks(const Plan& plan, std::size_t bytes, std::size_t each) {
  return static_cast<unsigned>(
      std::clamp<std::size_t>(ceil_div(bytes, each), 1, std::size_t{plan.blocks}));
}

// AllToAllV by LL: what a block takes of a message, which may have to go by Simple, too.
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

// An LL packet for each thread, but no more of a block than it takes in a round. In an AllToAllV a
// block has one piece, if it can.
void plan_ll(Plan& plan, Collective what, std::size_t bytes, std::size_t parts,
             const PlanLimits& limits) {
  const std::size_t most_piece = piece_of_ll(limits);
  std::size_t each = std::min(8 * std::size_t{plan.threads}, limits.ll_bytes);
  if (what == kAllToAllV) each = std::min(each, most_piece);
  plan.blocks = useful_blocks(plan, ceil_div(bytes, parts), each);
  if (what == kAllToAllV)
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

// A block's part of a broadcast goes in some pieces, so that one is passed on while the next comes.
void plan_zero_copy(Plan& plan, Collective what, std::size_t part) {
  constexpr std::size_t kPieces = 16, kLeast = 8 * KiB, kMost = 128 * KiB;
  plan.blocks = useful_blocks(plan, part, 16 * std::size_t{plan.threads});
  if (what == kBroadcast)
    plan.piece = std::clamp(align_up(ceil_div(part, plan.blocks * kPieces), kLine), kLeast, kMost);
}

// The algorithm that the plan asks for, or the one that takes its place where that cannot be.
Algorithm possible(const Plan& plan, Collective what, std::size_t bytes, int npes, bool mapped,
                   const PlanLimits& limits, bool is_forced) {
  Algorithm algorithm = plan.algorithm;
  if (algorithm == kScatteredSimple) return npes > 2 ? algorithm : kSimple;
  if (algorithm == kSimple || !mapped) return kSimple;
  const Algorithm large = limits.symmetric ? kZeroCopy : kSimple;
  if (algorithm == kZeroCopy) return large;
  const std::size_t part = ceil_div(bytes, parts_of(what, algorithm, npes));
  if (is_lamport(algorithm) && limits.lamport_bytes != 0) return algorithm;
  if (limits.ll_bytes == 0) return large;
  if (is_lamport(algorithm)) {  // by LL, of which a table would not have more than a round
    algorithm = algorithm == kLamport ? kLL : kTwoShotLL;
    return is_forced || part <= limits.ll_bytes * plan.blocks ? algorithm : large;
  }
  const bool in_one_round = what != kAllToAllV || bytes <= piece_of_ll(limits) * plan.blocks;
  return is_forced || in_one_round ? algorithm : large;
}

}  // namespace

bool has_algorithm(Collective what, Algorithm algorithm) {
  const bool sums_to_all = what == kAllReduce || what == kAllReduceNorm;
  switch (algorithm) {
    case kAuto: return false;
    case kLL: return true;
    case kTwoShotLL: return sums_to_all;
    case kSimple: return true;
    case kScatteredSimple: return what == kBroadcast;
    case kLamport: return what != kAllToAllV;
    case kTwoShotLamport: return sums_to_all;
    case kZeroCopy: return what != kAllReduceNorm;
  }
  return false;
}

const char* to_string(Collective what) {
  switch (what) {
    case kAllReduce: return "AllReduce";
    case kAllGather: return "AllGather";
    case kReduceScatter: return "ReduceScatter";
    case kAllToAll: return "AllToAll";
    case kAllToAllV: return "AllToAllV";
    case kBroadcast: return "Broadcast";
    case kAllReduceNorm: return "AllReduceNorm";
  }
  return "no collective";
}

const char* to_string(Algorithm algorithm) {
  switch (algorithm) {
    case kAuto: return "auto";
    case kLL: return "ll";
    case kTwoShotLL: return "two-shot-ll";
    case kSimple: return "simple";
    case kScatteredSimple: return "scattered-simple";
    case kLamport: return "lamport";
    case kTwoShotLamport: return "two-shot-lamport";
    case kZeroCopy: return "zero-copy";
  }
  return "no algorithm";
}

std::string to_string(const Plan& plan) {
  std::string text = fmt::format("{}, {} blocks of {} threads", to_string(plan.algorithm),
                                 plan.blocks, plan.threads);
  if (plan.piece != 0) text += fmt::format(", pieces of {} bytes", plan.piece);
  return text;
}

const std::vector<PlanRow>& builtin_table(bool gpu) { return gpu ? kGpuTable : kHostTable; }

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
  made.algorithm = forced == kAuto ? row->algorithm : forced;
  if (!has_algorithm(what, made.algorithm))
    return Status::error(
        Code::kUnsupported,
        fmt::format("plan: {} has no algorithm '{}'", to_string(what), to_string(made.algorithm)));
  made.threads = threads != 0 ? threads : row->threads;
  made.blocks = blocks != 0 ? blocks
                : mapped    ? row->blocks
                            : std::min(row->blocks, kMostBlocksByHost);
  made.blocks = std::clamp(made.blocks, 1u, limits.channels);
  made.algorithm = possible(made, what, bytes, npes, mapped, limits, forced != kAuto);
  const std::size_t parts = parts_of(what, made.algorithm, npes);
  if (is_lamport(made.algorithm) && what == kAllReduceNorm) return made;  // rows decide on the rest
  if (is_lamport(made.algorithm))
    plan_lamport(made, ceil_div(bytes, parts), limits, blocks != 0);
  else if (made.algorithm == kZeroCopy)
    plan_zero_copy(made, what, ceil_div(bytes, parts));
  else if (is_simple(made.algorithm))
    plan_simple(made, bytes, parts, mapped, limits);
  else
    plan_ll(made, what, bytes, parts, limits);
  return made;
}

}  // namespace weft::kernels
