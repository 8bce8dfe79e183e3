// The layout of an operator's symmetric memory is a pure function: no GPU, no PEs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/collectives/all_reduce_norm/call.hpp"
#include "kernels/collectives/layout.hpp"
#include "kernels/collectives/limits.hpp"

namespace weft::kernels {
namespace {

constexpr std::size_t KiB = 1024;

std::vector<LayoutProblem> problems() {
  std::vector<LayoutProblem> all;
  for (const Collective what :
       {Collective::kAllReduce, Collective::kAllToAll, Collective::kAllToAllV})
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, 5000 * KiB})
      for (const int size : {1, 2, 3, 8, 64})
        for (const unsigned channels : {1u, 7u, 128u})
          for (const bool gpu : {false, true})
            for (const bool uses_ll : {false, true})
              for (const bool uses_lamport : {false, true})
                all.push_back({what, bytes, 0, size, channels, gpu, uses_ll, uses_lamport,
                               what == Collective::kAllToAllV});
  for (const std::size_t row : {1u, 16384u, 1u << 20})
    for (const bool gpu : {false, true})
      all.push_back({Collective::kAllReduceNorm, 100 * row, row, 4, 32, gpu, true});
  return all;
}

// First byte and end of each part, as kernels index it.
std::vector<std::pair<std::size_t, std::size_t>> parts_of(const LayoutProblem& p, const Layout& l) {
  const std::size_t slots = 2 * std::size_t{p.channels} * static_cast<std::size_t>(p.team_size);
  const std::size_t simple_slots =
      kSimpleSlots * p.channels * (static_cast<std::size_t>(p.team_size) - 1);
  const std::size_t senders = slots - 2 * std::size_t{p.channels};  // nobody sends to himself
  return {{l.ll_packets, l.ll_packets + slots * l.ll_slot * sizeof(dev::LLPacket)},
          {l.lamport_words, l.lamport_words + senders * l.lamport_slot * 8},
          {l.simple_staging, l.simple_staging + simple_slots * l.simple_slot},
          {l.sums, l.sums + (p.row_bytes != 0 ? 2 * p.channels * kMostChunks * 16 : 0)},
          {l.signals, l.signals + simple_slots * 8},
          {l.headers, l.headers + (p.has_headers ? simple_slots * 16 : 0)}};
}

TEST(Layout, PartsDoNotOverlapAndAreAligned) {
  for (const LayoutProblem& p : problems()) {
    const Layout l = layout_of(p);
    std::size_t end = 0;
    for (const auto& [first, last] : parts_of(p, l)) {
      EXPECT_GE(first, end);
      end = last;
    }
    EXPECT_EQ(l.bytes, end) << "nothing is wasted behind the last";
    EXPECT_EQ(l.ll_packets % 16, 0u);
    EXPECT_EQ(l.lamport_words % 16, 0u);
    EXPECT_EQ(l.simple_staging % 16, 0u);
    EXPECT_EQ(l.simple_slot % 16, 0u);
    EXPECT_EQ(l.sums % 16, 0u);
    EXPECT_EQ(l.signals % 8, 0u);
    EXPECT_EQ(l.ll_slot != 0, p.uses_ll);
    EXPECT_EQ(l.lamport_slot != 0, p.uses_lamport);
    EXPECT_EQ(l.lamport_slot % 16, 0u);
    // Beside each pair of any data is a word (escaped_lamport_channel.hpp).
    const bool sums = p.what == Collective::kAllReduce;
    EXPECT_EQ(l.lamport_slot, sums ? l.data_words : l.data_words / 2 * 3);
    EXPECT_EQ(l.data_words % 16, 0u);
    if (!p.gpu || !p.uses_lamport) continue;
    const std::size_t most =
        (std::size_t{16} << 20) / static_cast<std::size_t>(std::max(p.team_size - 1, 1));
    EXPECT_GE(l.lamport_bytes() * p.channels, std::min(p.most_bytes, most));
    EXPECT_GT(l.simple_slot, 0u);
  }
}

TEST(Layout, TakesMemoryThatDoesNotGrowWithMessagesOrTeams) {
  for (const int size : {1, 2, 3, 8, 64}) {
    const Layout l =
        layout_of({Collective::kAllReduce, std::size_t{1} << 40, 0, size, 128, true, true, true});
    EXPECT_LE(l.bytes, std::size_t{140} << 20) << size << " members";
  }
}

TEST(Layout, SmallMessagesHaveSmallSlots) {
  const Layout l = layout_of({Collective::kAllGather, 1000, 0, 4, 4, true, true});
  EXPECT_EQ(l.ll_slot, 48u);  // 250 bytes in 32 packets, and one more for the rest, in lines
  EXPECT_EQ(l.simple_slot, 256u);
}

// So a plan with one block has no second round where one with many has none.
TEST(Layout, SlotsOfAllToAllVHoldHeaderAndMessage) {
  const Layout small = layout_of({Collective::kAllToAllV, 1000, 0, 4, 8, true, true});
  EXPECT_GE(small.ll_slot, kHeaderUnits + 125);
  EXPECT_LE(small.ll_slot, kHeaderUnits + 125 + 17);
  const Layout large = layout_of({Collective::kAllToAllV, 1 << 20, 0, 4, 8, true, true});
  EXPECT_EQ(large.ll_slot, 512u);
  EXPECT_GE(large.simple_slot, (large.ll_slot - kHeaderUnits) * dev::kLLPacketBytes);
}

// A row in one round.
TEST(Layout, SlotsOfRowsHoldARow) {
  const Layout l = layout_of({Collective::kAllReduceNorm, 16384 * 64, 16384, 8, 64, true, true});
  EXPECT_EQ(l.ll_slot, 2048u);
  EXPECT_GE(l.simple_slot, 16384u / 8);
}

TEST(Layout, PutsTheWorkspaceWhereItSays) {
  const Layout l = layout_of({Collective::kAllToAllV, 5000, 0, 3, 4, false, true});
  std::vector<std::uint64_t> memory(l.bytes / 8 + 2);
  auto* const first = reinterpret_cast<std::byte*>(memory.data());
  Rounds rounds[4];
  const Workspace space = l.workspace(rounds, first, 4);
  EXPECT_EQ(space.rounds, rounds);
  EXPECT_EQ(reinterpret_cast<std::byte*>(space.ll_packets), first + l.ll_packets);
  EXPECT_EQ(space.simple_staging, first + l.simple_staging);
  EXPECT_EQ(reinterpret_cast<std::byte*>(space.signals), first + l.signals);
  EXPECT_EQ(reinterpret_cast<std::byte*>(space.headers), first + l.headers);
  EXPECT_EQ(space.channels, 4u);
  EXPECT_EQ(space.ll_slot, l.ll_slot);
  EXPECT_EQ(space.simple_slot, l.simple_slot);
}

}  // namespace
}  // namespace weft::kernels
