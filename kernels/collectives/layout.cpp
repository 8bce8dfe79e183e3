#include "kernels/collectives/layout.hpp"

#include <algorithm>

#include "kernels/collectives/call.hpp"
#include "kernels/collectives/limits.hpp"
#include "kernels/core/share.hpp"

namespace weft::kernels {
namespace {

constexpr std::size_t kLine = 128;  // bytes
constexpr std::size_t kUnitsOfLine = kLine / dev::kPacketBytes;
constexpr std::size_t kStagingBytes = std::size_t{48} << 20;     // of all members and places
constexpr std::size_t kMostBulkBytes = 128 << 10;                // of one
constexpr std::size_t kWordBytes = std::size_t{32} << 20;        // data of all members and parities
constexpr std::size_t kNormPacketBytes = std::size_t{64} << 20;  // so that rows go in one round

// Staging of a channel for what comes from one member in a round.
struct Slots {
  std::size_t packets;  // units
  std::size_t bulk;     // bytes
};

// That a member hears from; one at least.
std::size_t others_of(const LayoutProblem& p) {
  return static_cast<std::size_t>(std::max(p.team_size, 2) - 1);
}

// At most: of a large team less, so that all together need no more. On hosts little, so that small
// tests go through many rounds.
Slots most_slots(const LayoutProblem& p) {
  const auto size = static_cast<std::size_t>(p.team_size);
  const std::size_t others = others_of(p);
  if (!p.gpu) return {64, std::max<std::size_t>((4 << 10) / others / kLine * kLine, 1024)};
  const std::size_t bulk = kStagingBytes / (kBulkPlaces * p.channels * others) / kLine * kLine;
  return {std::clamp<std::size_t>(4096 / size, 64, 512),
          std::clamp<std::size_t>(bulk, 1024, kMostBulkBytes)};
}

// A row in one round, if it is not too long; its part in one piece.
Slots slots_of_rows(const LayoutProblem& p, const Slots& most, std::size_t bulk) {
  const auto size = static_cast<std::size_t>(p.team_size);
  const std::size_t room = kNormPacketBytes / (2 * sizeof(dev::Packet) * size * p.channels);
  return {std::min(rounded_up(dev::packed_units(p.row_bytes), kUnitsOfLine),
                   std::max(p.gpu ? room / kUnitsOfLine * kUnitsOfLine : 0, most.packets)),
          std::max(bulk, rounded_up(shares(p.row_bytes, size) + 15, kLine))};
}

Slots slots_of(const LayoutProblem& p) {
  const Slots most = most_slots(p);
  const std::size_t share = shares(p.most_bytes, p.channels);
  const std::size_t bulk = std::min(rounded_up(share + 1, kLine), most.bulk);
  if (p.row_bytes != 0) return slots_of_rows(p, most, bulk);
  if (p.what != Collective::kAllToAllV || !p.packs)
    return {std::min(rounded_up(dev::packed_units(share) + 1, kUnitsOfLine), most.packets), bulk};
  // A few blocks may have all of it in one round, and what a block has in packets goes in bulk,
  // too.
  const std::size_t units = rounded_up(dev::packed_units(p.most_bytes) + 1, kUnitsOfLine);
  const std::size_t packets = std::min(kHeaderUnits + units, most.packets);
  return {packets, std::max(bulk, packets * dev::kPacketBytes)};
}

// Of data, what a channel has from a member: all of a message, or of the largest that goes as words
// in one lap. On hosts little, so that tests have some that do not. What is not summed up has half
// as many beside, so two lines are the least.
std::size_t words_of(const LayoutProblem& p) {
  const std::size_t room = (p.gpu ? kWordBytes : kWordBytes / 256) / (2 * others_of(p));
  if (p.row_bytes != 0) {  // whole rows of a block, if there are no more than that
    const std::size_t rows = shares(shares(p.most_bytes, p.row_bytes), p.channels);
    const std::size_t units = rows * units_of_part(p.row_bytes, 1);
    return rounded_up(std::min(units, room / p.channels / 8) + kUnitsOfLine - 1, kUnitsOfLine);
  }
  const std::size_t units = dev::packed_units(std::min(p.most_bytes, room));
  return rounded_up(shares(units, p.channels) + kUnitsOfLine - 1,
                    sends_sums(p.what) ? kUnitsOfLine : 2 * kUnitsOfLine);
}

}  // namespace

Layout layout_of(const LayoutProblem& p) {
  const Slots slots = slots_of(p);
  const std::size_t members = p.channels * static_cast<std::size_t>(p.team_size);
  const std::size_t pairs = members - p.channels;  // of a channel and another member
  const std::size_t places = kBulkPlaces * pairs;
  const std::size_t sums = p.row_bytes != 0 ? 2 * std::size_t{p.channels} * kMostChunks : 0;
  const std::size_t headers = p.what == Collective::kAllToAllV ? places : 0;
  Layout made;
  made.packet_slot = static_cast<std::uint32_t>(p.packs ? slots.packets : 0);
  made.bulk_slot = static_cast<std::uint32_t>(slots.bulk);
  made.data_words = static_cast<std::uint32_t>(p.words ? words_of(p) : 0);
  made.word_slot = made.data_words + (sends_sums(p.what) ? 0 : made.data_words / 2);
  made.words = made.packets + 2 * members * made.packet_slot * sizeof(dev::Packet);
  made.staging = made.words + 2 * pairs * made.word_slot * sizeof(std::uint64_t);
  made.sums = made.staging + places * made.bulk_slot;
  made.signals = made.sums + sums * sizeof(dev::Packet);
  made.headers = made.signals + places * sizeof(std::uint64_t);
  made.bytes = made.headers + headers * sizeof(BulkHeader);
  return made;
}

std::size_t Layout::word_bytes() const {
  return data_words == 0 ? 0 : (data_words - kUnitsOfLine + 1) * dev::kPacketBytes;
}

Workspace Layout::workspace(Rounds* rounds, std::byte* memory, unsigned channels) const {
  Workspace space;
  space.rounds = rounds;
  space.packets = reinterpret_cast<dev::Packet*>(memory + packets);
  space.words = reinterpret_cast<std::uint64_t*>(memory + words);
  space.staging = memory + staging;
  space.headers = reinterpret_cast<BulkHeader*>(memory + headers);
  space.signals = reinterpret_cast<std::uint64_t*>(memory + signals);
  space.sums = reinterpret_cast<dev::Packet*>(memory + sums);
  space.channels = channels;
  space.packet_slot = packet_slot;
  space.word_slot = word_slot;
  space.bulk_slot = bulk_slot;
  return space;
}

}  // namespace weft::kernels
