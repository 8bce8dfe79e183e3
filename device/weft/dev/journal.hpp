// WEFT_CHECK: who last wrote a word. A small hashed table in every PE's heap, at the same offset
// everywhere; the writer leaves its number in the table of the PE whose word it writes. Two words
// that share a slot forget each other: an answer is always right, but there may be none.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/dev/platform.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {

inline constexpr std::size_t kJournalSlots = 1024;
inline constexpr std::size_t kJournalBytes = kJournalSlots * sizeof(std::uint64_t);

// One slot is one word, so that it is never seen half written: 44 bits that name the 4-byte word
// (one more than its number, so that an empty slot is 0) and 20 bits of PE.
WEFT_HOST_DEVICE std::uint64_t journal_key(std::uint64_t offset) { return (offset >> 2) + 1; }
WEFT_HOST_DEVICE std::size_t journal_slot(std::uint64_t offset) {
  return static_cast<std::size_t>((journal_key(offset) * 0x9e3779b97f4a7c15u) >> 54);
}
WEFT_HOST_DEVICE std::uint64_t journal_entry(std::uint64_t offset, int pe) {
  return journal_key(offset) << 20 | (static_cast<std::uint64_t>(pe) & 0xfffffu);
}
static_assert(kJournalSlots == std::size_t{1} << (64 - 54), "journal_slot gives the top bits");

// `heap` is where the word's owner's heap is mapped here.
WEFT_DEVICE void journal_note(std::byte* heap, std::uint64_t journal_offset, std::uint64_t offset,
                              int pe) {
  auto* table = reinterpret_cast<std::uint64_t*>(heap + journal_offset);
  platform::store<Order::kRelaxed, Reach::kSystem>(table + journal_slot(offset),
                                                   journal_entry(offset, pe));
}

// The PE that last wrote the word at `offset` of this heap; -1: not known.
WEFT_DEVICE int journal_writer(const std::byte* heap, std::uint64_t journal_offset,
                               std::uint64_t offset) {
  auto* table = reinterpret_cast<const std::uint64_t*>(heap + journal_offset);
  const std::uint64_t entry =
      platform::load<Order::kRelaxed, Reach::kSystem>(table + journal_slot(offset));
  return entry >> 20 == journal_key(offset) ? static_cast<int>(entry & 0xfffffu) : -1;
}

}  // namespace WEFT_TARGET
}  // namespace weft::dev
