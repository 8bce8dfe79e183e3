#include "host/runtime/defaults.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

namespace weft {
namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kLeastChunk = kReserveAlign;
constexpr std::uint64_t kLeastHeap = 16 * kReserveAlign;

// A step is what may be allocated without asking whether there is memory for it.
std::uint64_t chunk_for(std::uint64_t memory) {
  return std::max(std::bit_floor(memory / 4), kLeastChunk);
}

// How much of its address space a PE may reserve for each heap. Its process reserves one for each
// PE in it, and for each of those one for every PE of another process of the machine. The program
// needs some, too: it is left half.
std::uint64_t heap_room(const std::vector<Facts>& facts, const Facts& mine) {
  if (mine.address_space == kUnlimited) return kUnlimited;
  std::uint64_t here = 0, beside = 0;
  for (const Facts& theirs : facts) {
    if (same_process(theirs, mine))
      ++here;
    else if (same_machine(theirs, mine))
      ++beside;
  }
  return mine.address_space / 2 / (std::max<std::uint64_t>(here, 1) * (1 + beside));
}

}  // namespace

void shrink_defaults(Options& options, const std::vector<Facts>& facts) {
  std::uint64_t memory = kUnlimited, room = kUnlimited;
  for (const Facts& pe : facts) {
    memory = std::min(memory, pe.memory);
    room = std::min(room, heap_room(facts, pe));
  }
  const Options defaults;
  if (options.heap_chunk == defaults.heap_chunk)
    options.heap_chunk = std::min(options.heap_chunk, chunk_for(memory));
  if (options.heap_size + options.adopt_size <= room) return;
  if (options.adopt_size == defaults.adopt_size)
    options.adopt_size = std::min(options.adopt_size, room / 4 / kReserveAlign * kReserveAlign);
  if (options.heap_size != defaults.heap_size) return;
  const std::uint64_t left = room - std::min(room, std::uint64_t{options.adopt_size});
  options.heap_size = std::min<std::uint64_t>(
      options.heap_size, std::max(left / kReserveAlign * kReserveAlign, kLeastHeap));
}

}  // namespace weft
