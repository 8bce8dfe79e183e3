// A team's block: the words and the scratch that its collectives use, one in every PE's heap.
// TeamBlocks (dev/state.hpp) says where block `team.id` lies; this header says what is inside.
//
//   header      counters, broken: written by the owner of the heap only
//   sync words  [kSyncParities][messages of a sync], each alone on a cache line; peers set them
//   list        one int32 per rank: the members of a list team (Team::list points here)
//   hosts       how the members lie on hosts (team_hosts.hpp)
//   work        two buffers of kWorkBytes, used by the owner only
//   slots       [kGenerations][rank]: 16 bytes of words, then payload; rank's PE writes it
//   packed      [kGenerations][rank]: units of packed.hpp; rank's PE writes it. Not in every job
//
// Blocks start out zeroed. When an id is used again, every member of the new team zeroes its own
// block or, where nothing is packed, calls reset_team_block() on it, then all members synchronise
// (over the parent), then the team is used. The contents of a block of a team that nobody is a
// member of do not matter.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/dev/state.hpp>
#include <weft/target.hpp>

#include <weft/dev/team_hosts.hpp>

namespace weft {

inline constexpr std::size_t kCacheLine = 64;
inline constexpr int kSyncParities = 2;
inline constexpr int kGenerations = 4;          // exchanges whose slots can be in use at once
inline constexpr std::size_t kSlotHeader = 16;  // the arrival word; keeps payload 16-aligned
inline constexpr std::size_t kWorkBytes =
    4096 + kCacheLine;                                // 4 KiB fit into a slot beside its words
inline constexpr std::size_t kScratchBytes = 131072;  // all slots of a team, while npes allows it

inline constexpr std::size_t kPackedUnit = 8;           // bytes of data in a pair of packed words
inline constexpr std::size_t kMostPackedBytes = 16384;  // of a message
inline constexpr std::size_t kPackedScratchBytes = 262144;  // all of a team's, while npes allows it
// A packed exchange's flag is its number modulo this, plus 1: a word that was never written has 0.
inline constexpr std::uint64_t kPackedPeriod = std::uint64_t{1} << 31;

struct TeamHeader {
  std::uint64_t seq = 0;     // exchanges that this PE has begun
  std::uint64_t synced = 0;  // every member has finished exchanges 1..synced
  std::uint64_t epoch = 0;   // syncs that this PE has begun
  std::uint64_t broken = 0;  // not 0: a wait failed, members are out of step
  std::uint64_t packed = 0;  // packed exchanges that this PE has begun; they are counted apart
  std::uint64_t packed_synced = 0;  // every member has finished packed exchanges 1..packed_synced
};

// Up to this many members a sync is one round, in which everybody tells everybody. One message
// after the other costs less than a second round: only the first waits for the way there.
inline constexpr int kFlatSync = 8;

// Messages that each of n members sends in a sync: to all others, or ceil(log2(n)).
WEFT_HOST_DEVICE constexpr int sync_messages(int n) {
  if (n <= kFlatSync) return n - 1;
  int rounds = 0;
  while ((std::int64_t{1} << rounds) < n) ++rounds;
  return rounds;
}
// The most that a team of a job of `npes` needs: of h hosts with up to k members, which are at
// least h + k - 1, sync_messages(h) and sync_messages(k).
WEFT_HOST_DEVICE constexpr int sync_words(int npes) {
  constexpr int kFew = kFlatSync - 1;
  if (npes <= kFlatSync) return npes - 1;
  const int rounds = sync_messages(npes);
  return kFew + (rounds < kFew ? kFew : rounds);
}

WEFT_HOST_DEVICE constexpr std::size_t round_to_line(std::size_t bytes) {
  return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

// Bytes of one slot: the scratch shared out among the PEs, in whole cache lines, at least one.
WEFT_HOST_DEVICE constexpr std::size_t team_slot_bytes(int npes) {
  const std::size_t share = kScratchBytes / kGenerations / static_cast<std::size_t>(npes);
  const std::size_t lines = share / kCacheLine;
  const std::size_t most = kWorkBytes / kCacheLine;
  return (lines < 1 ? 1 : lines > most ? most : lines) * kCacheLine;
}

// Bytes of one packed message: scratch of its own, shared out alike; the words are twice that.
WEFT_HOST_DEVICE constexpr std::size_t team_packed_bytes(int npes) {
  const std::size_t share = kPackedScratchBytes / kGenerations / static_cast<std::size_t>(npes) / 2;
  const std::size_t lines = share / kCacheLine;
  const std::size_t most = kMostPackedBytes / kCacheLine;
  return (lines < 1 ? 1 : lines > most ? most : lines) * kCacheLine;
}

// Offsets inside a block. Small enough to be made anew wherever it is needed.
struct TeamLayout {
  std::size_t list = 0;
  std::size_t hosts = 0;
  std::size_t work = 0;
  std::size_t slots = 0;
  std::size_t bytes = 0;  // of the whole block
  std::size_t slot_bytes = 0;
  std::size_t packed_bytes = 0;  // of one message; 0: nothing is packed
  std::int32_t npes = 1;
  std::int32_t sync_words = 0;

  WEFT_HOST_DEVICE constexpr std::size_t sync_word(std::uint64_t epoch, int message) const {
    const auto parity = static_cast<std::size_t>(epoch % kSyncParities);
    const auto line =
        parity * static_cast<std::size_t>(sync_words) + static_cast<std::size_t>(message);
    return kCacheLine * (1 + line);
  }
  WEFT_HOST_DEVICE constexpr std::size_t work_buffer(int index) const {
    return work + static_cast<std::size_t>(index) * kWorkBytes;
  }
  // The slot that `rank` fills in exchange `seq`; its first word is the arrival word.
  WEFT_HOST_DEVICE constexpr std::size_t slot(std::uint64_t seq, int rank) const {
    const auto generation = static_cast<std::size_t>(seq % kGenerations);
    const auto index = generation * static_cast<std::size_t>(npes) + static_cast<std::size_t>(rank);
    return slots + index * slot_bytes;
  }
  WEFT_HOST_DEVICE constexpr std::size_t payload(std::uint64_t seq, int rank) const {
    return slot(seq, rank) + kSlotHeader;
  }
  WEFT_HOST_DEVICE constexpr std::size_t payload_bytes() const { return slot_bytes - kSlotHeader; }

  // Messages that go packed; for all members the same.
  WEFT_HOST_DEVICE constexpr bool packs(std::size_t bytes) const {
    return bytes != 0 && bytes <= packed_bytes;
  }
  // The same where one member alone sends, which has the room of all.
  WEFT_HOST_DEVICE constexpr bool packs_of_one(std::size_t bytes) const {
    const std::size_t all = packed_bytes * static_cast<std::size_t>(npes);
    return bytes != 0 && bytes <= (all < kMostPackedBytes ? all : kMostPackedBytes);
  }
  // The words that `rank` fills in packed exchange `seq`, rank 0's where one alone sends, and where
  // those of all begin and end.
  WEFT_HOST_DEVICE constexpr std::size_t packed(std::uint64_t seq, int rank) const {
    const auto generation = static_cast<std::size_t>(seq % kGenerations);
    const auto index = generation * static_cast<std::size_t>(npes) + static_cast<std::size_t>(rank);
    return packed_begin() + index * 2 * packed_bytes;
  }
  WEFT_HOST_DEVICE constexpr std::size_t packed_begin() const {
    return slots + kGenerations * static_cast<std::size_t>(npes) * slot_bytes;
  }
  WEFT_HOST_DEVICE constexpr std::size_t packed_end() const {
    return packed_begin() + kGenerations * static_cast<std::size_t>(npes) * 2 * packed_bytes;
  }
};

WEFT_HOST_DEVICE constexpr TeamLayout team_layout(int npes, std::size_t slot_bytes,
                                                  std::size_t packed_bytes = 0) {
  const auto n = static_cast<std::size_t>(npes);
  TeamLayout layout;
  layout.npes = npes;
  layout.slot_bytes = slot_bytes;
  layout.packed_bytes = packed_bytes;
  layout.sync_words = sync_words(npes);
  layout.list = kCacheLine * (1 + kSyncParities * static_cast<std::size_t>(layout.sync_words));
  layout.hosts = layout.list + round_to_line(n * sizeof(std::int32_t));
  layout.work = layout.hosts + round_to_line(team_hosts_words(n) * sizeof(std::int32_t));
  layout.slots = layout.work + 2 * kWorkBytes;
  layout.bytes = layout.packed_end();
  return layout;
}

// The blocks that the runtime allocates (zeroed, `count * stride` bytes, aligned to kCacheLine) at
// `offset`.
WEFT_HOST_DEVICE constexpr TeamBlocks team_blocks(int npes, int max_teams, std::uint64_t offset,
                                                  std::size_t packed_bytes = 0) {
  TeamBlocks blocks;
  blocks.offset = offset;
  blocks.slot_bytes = static_cast<std::int32_t>(team_slot_bytes(npes));
  blocks.packed_bytes = static_cast<std::int32_t>(packed_bytes);
  const TeamLayout layout = team_layout(npes, team_slot_bytes(npes), packed_bytes);
  blocks.stride = layout.bytes;
  blocks.count = max_teams;
  blocks.sync_words = layout.sync_words;
  blocks.work = static_cast<std::int32_t>(layout.work);
  blocks.slots = static_cast<std::int32_t>(layout.slots);
  return blocks;
}

// The same layout, read.
WEFT_HOST_DEVICE constexpr TeamLayout team_layout(const TeamBlocks& blocks, int npes) {
  TeamLayout layout;
  layout.list = kCacheLine * (1 + kSyncParities * static_cast<std::size_t>(blocks.sync_words));
  layout.hosts = layout.list + round_to_line(static_cast<std::size_t>(npes) * sizeof(std::int32_t));
  layout.work = static_cast<std::size_t>(blocks.work);
  layout.slots = static_cast<std::size_t>(blocks.slots);
  layout.bytes = blocks.stride;
  layout.slot_bytes = static_cast<std::size_t>(blocks.slot_bytes);
  layout.packed_bytes = static_cast<std::size_t>(blocks.packed_bytes);
  layout.npes = npes;
  layout.sync_words = blocks.sync_words;
  return layout;
}

// Heap offset of the block of team `id`.
WEFT_HOST_DEVICE constexpr std::uint64_t team_block_offset(const TeamBlocks& blocks, int id) {
  return blocks.offset + static_cast<std::uint64_t>(id) * blocks.stride;
}

// Makes my block of a team ready for a new team of the same id: everything but list and buffers.
WEFT_HOST_DEVICE void reset_team_block(std::byte* block, const TeamLayout& layout) {
  *reinterpret_cast<TeamHeader*>(block) = TeamHeader{};
  *reinterpret_cast<std::int32_t*>(block + layout.hosts) = 0;
  for (int line = 0; line < kSyncParities * layout.sync_words; ++line)
    *reinterpret_cast<std::uint64_t*>(block + kCacheLine * (1 + static_cast<std::size_t>(line))) =
        0;
  for (int generation = 0; generation < kGenerations; ++generation)
    for (int rank = 0; rank < layout.npes; ++rank)
      *reinterpret_cast<std::uint64_t*>(
          block + layout.slot(static_cast<std::uint64_t>(generation), rank)) = 0;
}

}  // namespace weft
