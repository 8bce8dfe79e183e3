// Plans: by which algorithm, and with how much of the GPU, a collective of a size is carried out. A
// pure function of the problem and a table: every member comes to the same plan by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <weft/kernels/algorithm.hpp>
#include <weft/result.hpp>
#include <weft/target.hpp>

namespace weft::kernels {

enum class Collective : std::uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kAllToAllV,
  kBroadcast,
  kAllReduceNorm,
};

WEFT_API const char* to_string(Collective what);

struct Plan {
  Algorithm algorithm = Algorithm::kSimple;
  unsigned blocks = 1;    // channels, too
  unsigned threads = 1;   // of a block
  std::size_t piece = 0;  // Simple: bytes that a block puts to a member at a time, a multiple of
                          // 16. LL, an AllToAllV only: what its round has for a member. Lamport,
                          // where the workspace has too little room: what it sends before it has
                          // to hear that slots are free. A kZeroCopy Broadcast: what it passes on
                          // at a time
};
// "ll, 4 blocks of 512 threads".
WEFT_API std::string to_string(const Plan& plan);

// For messages of up to so many bytes: of an AllReduce, an AllReduceNorm or a Broadcast the whole,
// of the others what one member has for another.
struct PlanRow {
  Collective what = Collective::kAllReduce;
  int most_pes = 0;  // of teams up to this size; 0: of any
  std::size_t up_to = 0;
  Algorithm algorithm = Algorithm::kSimple;
  unsigned blocks = 1;  // at most
  unsigned threads = 1;
};

// Measured on Hopper for GPUs (docs/measurements/2026-11-26-collectives.md); for host threads as
// few as show everything.
WEFT_API const std::vector<PlanRow>& builtin_table(bool gpu);

struct PlanLimits {
  unsigned channels = 1;     // that the workspace has
  std::size_t ll_bytes = 0;  // that a channel takes from a member at a time; 0: no LL
  std::size_t simple_bytes = 1 << 16;
  std::size_t lamport_bytes = 0;  // the same by Lamport; 0: no Lamport
  bool symmetric = false;         // buffers are, of all calls
};

// The first row that fits (one of kZeroCopy only where buffers are symmetric), else the last of
// that collective. `forced`, where it is not kAuto, `blocks` and `threads`, where they are not 0,
// take the place of the row's. Where some members do not map each other (`mapped` false), or
// without room for LL, all goes by Simple, or where buffers are symmetric and all map all by zero
// copy; so does an AllToAllV that one round of LL does not hold, unless it is forced. Without room
// for Lamport, LL takes its place, unless one round does not hold the message. kUnsupported: the
// collective has no such algorithm.
WEFT_API Result<Plan> plan(Collective what, std::size_t bytes, int npes, bool mapped,
                           const PlanLimits& limits, const std::vector<PlanRow>& table,
                           Algorithm forced = Algorithm::kAuto, unsigned blocks = 0,
                           unsigned threads = 0);

}  // namespace weft::kernels
