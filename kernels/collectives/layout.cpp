#include "kernels/collectives/layout.hpp"

#include <algorithm>

#include "kernels/collectives/all_reduce_norm/call.hpp"
#include "kernels/collectives/limits.hpp"
#include "kernels/core/math.hpp"

namespace weft::kernels {
namespace {

constexpr std::size_t kLine = 128;  // bytes
constexpr std::size_t kUnitsOfLine = kLine / dev::kLLPacketBytes;
constexpr std::size_t kSimpleBytes = std::size_t{48} << 20;   // of all members and slots
constexpr std::size_t kMostSimpleSlotBytes = 128 << 10;       // of one
constexpr std::size_t kLamportBytes = std::size_t{32} << 20;  // data of all members and parities
constexpr std::size_t kNormLLBytes = std::size_t{64} << 20;   // so that rows go in one round

// Staging of a channel for what comes from one member in a round.
struct Slots {
  std::size_t ll;      // units
  std::size_t simple;  // bytes
};

// Members that one receives from; one at least.
std::size_t others_of(const LayoutProblem& p) {
  return static_cast<std::size_t>(std::max(p.team_size, 2) - 1);
}

// The largest slots: smaller in a large team, so that all together need no more. Small on hosts, so
// that small tests go through many rounds.
Slots most_slots(const LayoutProblem& p) {
  const auto size = static_cast<std::size_t>(p.team_size);
  const std::size_t others = others_of(p);
  if (!p.gpu) return {64, std::max<std::size_t>((4 << 10) / others / kLine * kLine, 1024)};
  const std::size_t simple = kSimpleBytes / (kSimpleSlots * p.channels * others) / kLine * kLine;
  return {std::clamp<std::size_t>(4096 / size, 64, 512),
          std::clamp<std::size_t>(simple, 1024, kMostSimpleSlotBytes)};
}

// A row in one round, if it is not too long; its part in one piece.
Slots slots_of_rows(const LayoutProblem& p, const Slots& most, std::size_t simple) {
  const auto size = static_cast<std::size_t>(p.team_size);
  const std::size_t available = kNormLLBytes / (2 * sizeof(dev::LLPacket) * size * p.channels);
  return {std::min(align_up(dev::packed_units(p.row_bytes), kUnitsOfLine),
                   std::max(p.gpu ? available / kUnitsOfLine * kUnitsOfLine : 0, most.ll)),
          std::max(simple, align_up(ceil_div(p.row_bytes, size) + 15, kLine))};
}

Slots slots_of(const LayoutProblem& p) {
  const Slots most = most_slots(p);
  const std::size_t share = ceil_div(p.most_bytes, p.channels);
  const std::size_t simple = std::min(align_up(share + 1, kLine), most.simple);
  if (p.row_bytes != 0) return slots_of_rows(p, most, simple);
  if (p.what != Collective::kAllToAllV || !p.uses_ll)
    return {std::min(align_up(dev::packed_units(share) + 1, kUnitsOfLine), most.ll), simple};
  // A few blocks may have all of it in one round, and what a block has by LL goes by Simple, too.
  const std::size_t units = align_up(dev::packed_units(p.most_bytes) + 1, kUnitsOfLine);
  const std::size_t ll = std::min(kHeaderUnits + units, most.ll);
  return {ll, std::max(simple, ll * dev::kLLPacketBytes)};
}

// Words of data that a channel has from a member: all of a message, or of the largest that goes by
// Lamport in one pass. Few on hosts, so that tests have messages of several passes. Data that are
// not summed up have half as many words beside, so two lines are the least.
std::size_t lamport_words_of(const LayoutProblem& p) {
  const std::size_t available = (p.gpu ? kLamportBytes : kLamportBytes / 256) / (2 * others_of(p));
  if (p.row_bytes != 0) {  // whole rows of a block, if there are no more than that
    const std::size_t rows = ceil_div(ceil_div(p.most_bytes, p.row_bytes), p.channels);
    const std::size_t units = rows * units_of_part(p.row_bytes, 1);
    return align_up(std::min(units, available / p.channels / 8) + kUnitsOfLine - 1, kUnitsOfLine);
  }
  const std::size_t units = dev::packed_units(std::min(p.most_bytes, available));
  return align_up(ceil_div(units, p.channels) + kUnitsOfLine - 1,
                  sends_sums(p.what) ? kUnitsOfLine : 2 * kUnitsOfLine);
}

}  // namespace

Layout layout_of(const LayoutProblem& p) {
  const Slots slots = slots_of(p);
  const std::size_t members = p.channels * static_cast<std::size_t>(p.team_size);
  const std::size_t pairs = members - p.channels;  // of a channel and another member
  const std::size_t simple_slots = kSimpleSlots * pairs;
  const std::size_t sums = p.row_bytes != 0 ? 2 * std::size_t{p.channels} * kMostChunks : 0;
  const std::size_t headers = p.has_headers ? simple_slots : 0;
  Layout made;
  made.ll_slot = static_cast<std::uint32_t>(p.uses_ll ? slots.ll : 0);
  made.simple_slot = static_cast<std::uint32_t>(slots.simple);
  made.data_words = static_cast<std::uint32_t>(p.uses_lamport ? lamport_words_of(p) : 0);
  made.lamport_slot = made.data_words + (sends_sums(p.what) ? 0 : made.data_words / 2);
  made.lamport_words = made.ll_packets + 2 * members * made.ll_slot * sizeof(dev::LLPacket);
  made.simple_staging = made.lamport_words + 2 * pairs * made.lamport_slot * sizeof(std::uint64_t);
  made.sums = made.simple_staging + simple_slots * made.simple_slot;
  made.signals = made.sums + sums * sizeof(dev::LLPacket);
  made.headers = made.signals + simple_slots * sizeof(std::uint64_t);
  made.bytes = made.headers + headers * sizeof(SimpleHeader);
  return made;
}

std::size_t Layout::lamport_bytes() const {
  return data_words == 0 ? 0 : (data_words - kUnitsOfLine + 1) * dev::kLLPacketBytes;
}

Workspace Layout::workspace(Rounds* rounds, std::byte* memory, unsigned channels) const {
  Workspace space;
  space.rounds = rounds;
  space.ll_packets = reinterpret_cast<dev::LLPacket*>(memory + ll_packets);
  space.lamport_words = reinterpret_cast<std::uint64_t*>(memory + lamport_words);
  space.simple_staging = memory + simple_staging;
  space.headers = reinterpret_cast<SimpleHeader*>(memory + headers);
  space.signals = reinterpret_cast<std::uint64_t*>(memory + signals);
  space.sums = reinterpret_cast<dev::LLPacket*>(memory + sums);
  space.channels = channels;
  space.ll_slot = ll_slot;
  space.lamport_slot = lamport_slot;
  space.simple_slot = simple_slot;
  return space;
}

}  // namespace weft::kernels
