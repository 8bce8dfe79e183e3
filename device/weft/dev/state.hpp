// DeviceState: the picture of a runtime that kernels carry. Filled by the host (host/runtime), read
// by kernels. Plain data: lies outside the target namespace. Not an ABI between releases:
// `abi` lets a kernel and a library from different builds refuse each other.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/dev/op.hpp>

namespace weft {

inline constexpr std::uint32_t kDeviceAbi = 1;
inline constexpr int kMaxLanes = 64;  // contexts that one runtime can have at a time

// One side of a device-to-host ring as a kernel sees it (dev/ring.hpp holds both ends). All
// pointers are to host-visible memory. Counters count records since the ring was made.
struct RingView {
  Op* slots = nullptr;
  std::uint64_t capacity = 0;            // a power of two
  std::uint64_t* head = nullptr;         // next free ticket; taken by kernels
  std::uint64_t* consumed = nullptr;     // records handed to a transport: credit for producers, and,
                                         // without kOpSourceStays, their sources may be reused
  std::uint64_t* completed = nullptr;    // records that are complete at their target, in order
  std::uint64_t* wanted = nullptr;       // raised (max) by who waits until completed reaches it: a
                                         // transport that holds ops back must let these go
  std::uint64_t* results = nullptr;      // results[slot]: what a fetching record brought back
  std::uint32_t* results_busy = nullptr; // results_busy[slot]: set to 1 by the proxy with the
                                         // record, cleared by the asker once it has read
};

// What the first failing thread of a kernel leaves behind; the proxy prints it. `claimed` is taken
// by compare-and-swap, `code` is written last with release.
struct FaultRecord {
  std::uint32_t claimed = 0;
  std::uint32_t code = 0;      // FaultCode; 0: nothing yet
  std::int32_t pe = -1;        // the PE waited for or addressed; -1: not known
  std::uint32_t block = 0;
  std::uint32_t thread = 0;
  std::uint32_t cmp = 0;       // Cmp of a wait
  std::uint64_t offset = 0;    // heap offset of the word or range
  std::uint64_t seen = 0;
  std::uint64_t wanted = 0;
  std::uint64_t waited_ns = 0;
  char where[64] = {};         // the operation, e.g. "wait_until", "barrier"
};

enum class FaultCode : std::uint32_t {
  kNone = 0,
  kWaitTimeout,   // a wait reached its deadline
  kRingTimeout,   // no credit in the ring, or no completion, before the deadline
  kBadPe,         // WEFT_CHECK: pe outside 0..npes-1
  kBadRange,      // WEFT_CHECK: address range not inside the symmetric heap
};

// Where the collectives of every team keep their words and scratch, in every PE's heap: block
// `team.id` starts at `offset + team.id * stride`. The layout inside is dev/team_block.hpp.
struct TeamBlocks {
  std::uint64_t offset = 0;   // heap offset of block 0
  std::uint64_t stride = 0;   // bytes of one block
  std::int32_t count = 0;     // WEFT_MAX_TEAMS
  std::int32_t slot_bytes = 0;  // scratch per (parity, source rank); shrinks as npes grows
};

struct DeviceState {
  std::uint32_t abi = kDeviceAbi;
  std::int32_t pe = 0;
  std::int32_t npes = 1;
  std::uint32_t trap_on_fault = 0;    // WEFT_WAIT_ACTION=abort
  std::byte* heap = nullptr;
  std::uint64_t heap_bytes = 0;       // reserved; offsets below it are symmetric
  std::byte* const* peer = nullptr;
  std::uint64_t deadline_ns = 0;      // of every wait; 0: none
  FaultRecord* fault = nullptr;
  std::uint64_t* journal = nullptr;   // see dev/journal.hpp; null unless WEFT_CHECK=1
  TeamBlocks teams;
  RingView ring[kMaxLanes];
};

}  // namespace weft
