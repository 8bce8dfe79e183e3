// Windows: who has which pane, and where it lies.
#include "host/transport/network/windows.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/idle_platform.hpp"
#include "tests/support/status.hpp"

namespace weft::network {
namespace {

class HostPlatform : public test::IdlePlatform {
 public:
  Result<Memory> host_visible(std::size_t bytes) override {
    const auto memory = std::make_shared<std::vector<std::byte>>(bytes);
    return Memory({memory->data(), bytes}, memory);
  }
};

Result<Registered> registered(std::byte* base, std::size_t) {
  return Registered{.address = reinterpret_cast<std::uint64_t>(base), .keys = {5, 6}};
}

TEST(Windows, AreBoundedAndHaveAPaneForEveryPe) {
  for (const int npes : {1, 2, 64, 100, 1000, 4096, 10000}) {
    const Windows windows(0, npes);
    EXPECT_GE(windows.pane_bytes(), 4096u);
    EXPECT_LE(windows.pane_bytes(), std::size_t{256} << 10);
    EXPECT_EQ(windows.pane_bytes() % 4096, 0u);
    if (npes <= 4096)
      EXPECT_LE(windows.pane_bytes() * Windows::kPanes * static_cast<std::size_t>(npes),
                std::size_t{64} << 20);
  }
}

TEST(Windows, APaneLiesWhereItsOwnerLooksForIt) {
  HostPlatform platform;
  constexpr int kNpes = 3;
  Windows owner(0, kNpes);
  const auto place = owner.open(platform, registered);
  ASSERT_OK(place);
  for (int asker = 0; asker < kNpes; ++asker) {
    Windows theirs(asker, kNpes);
    EXPECT_FALSE(theirs.serves(0));
    theirs.know(0, *place);
    EXPECT_TRUE(theirs.serves(0));
    for (int pane = 0; pane < Windows::kPanes; ++pane) {
      const Heaps::There there = theirs.there(0, pane, 100);
      EXPECT_EQ(there.address, reinterpret_cast<std::uint64_t>(owner.pane_of(asker, pane, 100)));
      EXPECT_EQ(there.key, 5u);
      EXPECT_EQ(theirs.there(0, pane, 100, 1).key, 6u);
      EXPECT_EQ(there.bytes, 100u);
    }
  }
}

TEST(Windows, WhatAStrangerNamesIsLookedAt) {
  HostPlatform platform;
  Windows windows(0, 2);
  EXPECT_EQ(windows.pane_of(1, 0, 1), nullptr);  // there is no window yet
  ASSERT_OK(windows.open(platform, registered));
  EXPECT_NE(windows.pane_of(1, 0, windows.pane_bytes()), nullptr);
  EXPECT_EQ(windows.pane_of(1, 0, windows.pane_bytes() + 1), nullptr);
  EXPECT_EQ(windows.pane_of(1, Windows::kPanes, 1), nullptr);
  EXPECT_EQ(windows.pane_of(1, -2, 1), nullptr);
  EXPECT_EQ(windows.pane_of(2, 0, 1), nullptr);
  EXPECT_EQ(windows.pane_of(-1, 0, 1), nullptr);
}

TEST(Windows, PanesAreTakenGivenAndLost) {
  Windows windows(0, 2);
  std::vector<int> panes;
  for (int i = 0; i < Windows::kPanes; ++i) {
    const auto pane = windows.take(1);
    ASSERT_OK(pane);
    panes.push_back(*pane);
  }
  EXPECT_TRUE(windows.take(1).status().is(Code::kBusy));
  EXPECT_OK(windows.take(0));  // another's
  windows.give(1, panes[2]);
  const auto again = windows.take(1);
  ASSERT_OK(again);
  EXPECT_EQ(*again, panes[2]);
  for (std::size_t i = 1; i < panes.size(); ++i) windows.lose(1, panes[i]);
  EXPECT_TRUE(windows.take(1).status().is(Code::kBusy));  // one may still come back
  windows.lose(1, panes[0]);
  EXPECT_TRUE(windows.take(1).status().is(Code::kPeerLost));
}

}  // namespace
}  // namespace weft::network
