// DeviceState: the module state of a runtime that kernels carry. Filled by the host (host/runtime),
// read by kernels. Plain data: lies outside the target namespace. Not an ABI between releases:
// `abi` lets a kernel and a library from different builds refuse each other.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device/handle.hpp>

#include <weft/dev/op.hpp>

namespace weft {

inline constexpr std::uint32_t kDeviceAbi = 10;
inline constexpr int kMaxLanes = 64;  // contexts that one runtime can have at a time

// A count of a ring that the host keeps, as kernels know it.
struct HostCount {
  alignas(128) std::uint64_t known = 0;  // may lag behind
  std::uint64_t asking = 0;              // 1: somebody looks how far it is
};

// The counts of a ring that kernels keep among themselves, in their own memory: every record passes
// by here, and on a GPU the host's memory is a microsecond away.
struct RingTickets {
  alignas(128) std::uint64_t next = 0;    // free ticket
  alignas(128) std::uint64_t credit = 0;  // slots that nobody has taken; below zero, as a signed
                                          // number, while those who found none put back theirs
  alignas(128) std::uint64_t asking = 0;  // 1: somebody looks for more
  std::uint64_t claimed = 0;              // records of the consumed that somebody makes credit of,
  std::uint64_t counted = 0;              // and has made
  HostCount consumed{}, completed{};
};

// One side of a device-to-host ring as a kernel sees it (dev/ring.hpp holds both ends). All other
// pointers are to host-visible memory, zeroed when the ring is made; counters count records since.
struct RingView {
  Op* slots = nullptr;
  std::uint64_t capacity = 0;  // a power of two; as much credit is there at first
  RingTickets* tickets = nullptr;
  std::uint64_t* consumed = nullptr;   // records handed to a transport: credit for producers, and,
                                       // without kOpSourceStays, their sources may be reused
  std::uint64_t* completed = nullptr;  // records that are complete at their target, in order
  std::uint64_t* wanted = nullptr;     // raised by who waits until completed reaches it: a
                                       // transport that holds ops back must let these go
  std::uint64_t* results = nullptr;    // results[slot]: a word that comes or goes with a record;
                                       // the record carries its address as any other
  std::uint32_t* results_busy = nullptr;  // results_busy[slot]: set by who asks for a word, cleared
                                          // once it has read it; touched by kernels only
};

// How the bits of a word that was waited for are meant; narrow ones are widened to 8 bytes.
enum class WordType : std::uint32_t { kUnsigned, kSigned, kDouble };

inline constexpr std::uint64_t kNoHeapOffset = ~std::uint64_t{0};

// The record that the first failing thread of a kernel leaves behind; the proxy prints it.
// `claimed` is taken by compare-and-swap, `code` is written last with release.
struct FaultRecord {
  std::uint32_t claimed = 0;
  std::uint32_t code = 0;  // FaultCode; 0: nothing yet
  std::int32_t pe = -1;    // the PE waited for or addressed; -1: not known
  std::uint32_t block = 0;
  std::uint32_t thread = 0;
  std::uint32_t cmp = 0;                // Cmp of a wait
  std::uint32_t lane = 0;               // of the context
  WordType type = WordType::kUnsigned;  // how to read `seen` and `wanted`
  std::uint64_t offset = 0;  // heap offset of the word or range; kNoHeapOffset: not in it
  std::uint64_t seen = 0;    // wait: value of the word; ring: records consumed or completed
  std::uint64_t wanted = 0;  // wait: operand; ring: that many; kBadRange: bytes
  std::uint64_t waited_ns = 0;
  std::uint32_t goes_on = 0;  // 1: a wait that has not ended, and may report again
  char where[64] = {};        // the operation, e.g. "wait_until", "barrier"
};

enum class FaultCode : std::uint32_t {
  kNone = 0,
  kWaitTimeout,  // a wait reached its deadline
  kRingTimeout,  // no credit in the ring, or no completion, before the deadline
  kBadPe,        // WEFT_CHECK: pe outside 0..npes-1
  kBadRange,     // WEFT_CHECK: address range not inside the symmetric heap; always: a count whose
                 // bytes do not fit in 64 bits
  kMisaligned,   // WEFT_CHECK: address of a word not a multiple of its size
  kNotMember,    // collective on team `wanted`, of which this PE is no member
  kBadRoot,      // collective with root `seen` in a team of `wanted`
  kTeamBroken,   // collective on team `wanted` after an earlier one on it failed
  kNicTimeout,   // of `wanted` requests the NIC has completed `seen`, and the deadline passed
  kNicError,     // the NIC has given the queue to `pe` up: its syndrome is `seen`
};

// The deadline of waits once the job has ended: over at their next look at the clock.
inline constexpr std::uint64_t kJobHasEnded = 1;

struct QueueView;  // dev/nic/queue.hpp

struct DeviceState {
  std::uint32_t abi = kDeviceAbi;
  std::int32_t pe = 0;
  std::int32_t npes = 1;
  std::uint32_t trap_on_fault = 0;  // WEFT_WAIT_ACTION=abort
  std::uint32_t waits_on = 0;  // WEFT_WAIT_ACTION=wait: waits report, and end when the job does
  std::byte* heap = nullptr;
  std::uint64_t heap_bytes = 0;  // reserved; offsets below it are symmetric
  const AdoptedRange* adopted = nullptr;
  std::uint64_t adopted_count = 0;
  std::byte* const* peer = nullptr;
  std::uint64_t deadline_ns = 0;  // of every wait; 0: none. The host stores kJobHasEnded
  FaultRecord* fault = nullptr;
  std::uint64_t journal_offset =
      0;  // heap offset of dev/journal.hpp's table; 0 unless WEFT_CHECK=1
  RingView ring[kMaxLanes];
  // The GPU-initiated queue pairs: queues[lane * npes + pe], all of one type of NIC. Null: there is
  // none, and no host code makes one yet.
  const QueueView* queues = nullptr;
};

}  // namespace weft
