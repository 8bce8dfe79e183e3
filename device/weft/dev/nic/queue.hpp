// The send queue of one queue pair as a kernel sees it: the GPU-initiated queue pair to a peer,
// beside memory that is mapped and the ring. The kernel writes requests and rings the doorbell
// itself (operations.hpp); what bytes that takes is the NIC type's to know (contract.hpp). Plain
// data: lies outside the target namespace.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft {

// The counts of a queue that kernels keep among themselves, in their own memory: every request
// passes by here. Requests are counted from the queue's first on, in 64 bits whatever the NIC
// counts in.
struct QueueCounts {
  alignas(128) std::uint64_t reserved = 0;  // free ticket
  alignas(128) std::uint64_t credit = 0;    // slots that nobody has taken; below zero, as a signed
                                            // number, while those who found none put back theirs
  alignas(128) std::uint64_t ringing = 0;   // 1: somebody rings
  std::uint64_t next_to_ring = 0;           // touched by that one alone
  std::uint64_t rung = 0;                   // requests that the NIC was told of
  alignas(128) std::uint64_t looking = 0;   // 1: somebody looks at completions
  std::uint64_t seen = 0;                   // touched by that one alone
  std::uint64_t completed = 0;              // requests known to be complete, in order
  std::uint64_t failure = 0;                // kQueueFailed and the NIC's syndrome; 0: none
};

inline constexpr std::uint64_t kQueueFailed = std::uint64_t{1} << 32;

// A word that a NIC writes a result to is somebody's until that one has read it.
inline constexpr std::uint64_t kWordIsFree = 0;
inline constexpr std::uint64_t kWordIsTaken = ~std::uint64_t{0};

// Addresses are as a kernel uses them; what the NIC reads or writes of mine (all but what is said
// to be kernels') it finds at the same ones. Counts, `written` and `result_owner` are zeroed when
// the queue is made, and then there is as much credit as capacity.
struct QueueView {
  std::byte* slots = nullptr;         // one request each
  std::uint64_t capacity = 0;         // slots: a power of two, at most what the NIC type can count
  QueueCounts* counts = nullptr;      // kernels'
  std::uint32_t* written = nullptr;   // kernels': written[slot], the ticket after the one
                                      // whose request is there
  std::uint32_t* record = nullptr;    // doorbell record: how many requests there are
  std::uint64_t* doorbell = nullptr;  // register of the NIC: look at the record
  const std::uint64_t* completion = nullptr;  // where the NIC tells what is complete
  std::uint32_t number = 0;                   // of the queue pair

  // Memory. Mine, results included, is one registration, and so is the peer's heap.
  std::uint32_t local_key = 0;
  std::uint32_t remote_key = 0;
  std::uint64_t remote_base = 0;          // the peer's heap, offset 0
  std::uint64_t* results = nullptr;       // words for what atomics bring
  std::uint64_t* result_owner = nullptr;  // kernels': kWordIsFree, kWordIsTaken, or of who gave up
                                          // the count of requests after which it is free
  std::uint64_t result_count = 0;         // a power of two
  std::uint64_t* unwanted = nullptr;      // a word for results that nobody reads
};

}  // namespace weft
