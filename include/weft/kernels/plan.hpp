// Plans: by which algorithm, and with how much of the GPU, a collective of a size is carried out. A
// pure function of the problem and a table: every member comes to the same plan by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

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

enum class Algorithm : std::uint8_t {
  kAuto,     // what the table says
  kPackets,  // each message straight to whoever needs it, in packets (weft/device/packet.hpp). Of
             // an AllReduce: everything to everybody (one-shot). Of an AllToAllV: one round, behind
             // which goes in bulk what it did not hold
  kTwoShotPackets,  // AllReduce and AllReduceNorm: a share to each member, who folds it and sends
                    // it to all
  kBulk,  // puts with signals; of these two in two steps, too. For members that do not map each
          // other all goes so
  kScatteredBulk,  // Broadcast only: a share to each member, who puts it to all. The root sends
                   // each byte once. Of two members the same as kBulk
  kWords,          // but of sums of anything but floats, an AllToAllV and an AllReduceNorm: as
                   // kPackets, half the bytes, as words (weft/device/word.hpp). Of a Broadcast to
                   // three and more a share to each member, who sends it on
  kTwoShotWords,   // AllReduce, sums of floats
  kSymmetric,      // of operators whose buffers are symmetric memory, where all map all, but an
                   // AllReduceNorm: straight into the others' outputs, or out of their inputs
};

WEFT_API const char* to_string(Collective what);
WEFT_API const char* to_string(Algorithm algorithm);

struct Plan {
  Algorithm algorithm = Algorithm::kBulk;
  unsigned blocks = 1;    // channels, too
  unsigned threads = 1;   // of a block
  std::size_t piece = 0;  // in bulk: bytes that a block puts to a member at a time, a multiple of
                          // 16. In packets only of an AllToAllV: what its round has for a member.
                          // As words that do not fit into the workspace: what it sends before it
                          // has to hear that places are free. Of a kSymmetric Broadcast: what it
                          // passes on at a time
};
// "packets, 4 blocks of 512 threads".
WEFT_API std::string to_string(const Plan& plan);

// For messages of up to so many bytes: of an AllReduce, an AllReduceNorm or a Broadcast the whole,
// of the others what one member has for another.
struct PlanRow {
  Collective what = Collective::kAllReduce;
  int most_pes = 0;  // of teams up to this size; 0: of any
  std::size_t up_to = 0;
  Algorithm algorithm = Algorithm::kBulk;
  unsigned blocks = 1;  // at most
  unsigned threads = 1;
};

// Measured on Hopper for GPUs (docs/guide/kernels.md); for host threads as few as show everything.
WEFT_API const std::vector<PlanRow>& builtin_table(bool gpu);

struct PlanLimits {
  unsigned channels = 1;         // that the workspace has
  std::size_t packet_bytes = 0;  // that a channel takes from a member at a time; 0: no packets
  std::size_t bulk_bytes = 1 << 16;
  std::size_t word_bytes = 0;  // that a channel takes from a member as words; 0: none
  bool symmetric = false;      // buffers are, of all calls
};

// The first row that fits (of kSymmetric only where buffers are), else the last of that collective.
// `forced`, where it is not kAuto, `blocks` and `threads`, where they are not 0, take the place of
// the row's. Where some members do not map each other (`mapped` false), or without room for
// packets, all goes in bulk, or where buffers are symmetric and all map all as kSymmetric; so does
// an AllToAllV that one round of packets does not hold, unless it is forced. Without room for words
// at all, packets take their place, unless one round does not hold it. kUnsupported: the collective
// has no such algorithm.
WEFT_API Result<Plan> plan(Collective what, std::size_t bytes, int npes, bool mapped,
                           const PlanLimits& limits, const std::vector<PlanRow>& table,
                           Algorithm forced = Algorithm::kAuto, unsigned blocks = 0,
                           unsigned threads = 0);

}  // namespace weft::kernels
