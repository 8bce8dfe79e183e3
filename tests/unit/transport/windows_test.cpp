// Windows: who has which staging slot, and where it lies.
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

TEST(Windows, AreBoundedAndHaveASlotForEveryPe) {
  for (const int npes : {1, 2, 64, 100, 1000, 4096, 10000}) {
    const Windows windows(0, npes);
    EXPECT_GE(windows.staging_slot_bytes(), 4096u);
    EXPECT_LE(windows.staging_slot_bytes(), std::size_t{256} << 10);
    EXPECT_EQ(windows.staging_slot_bytes() % 4096, 0u);
    if (npes <= 4096)
      EXPECT_LE(
          windows.staging_slot_bytes() * Windows::kStagingSlots * static_cast<std::size_t>(npes),
          std::size_t{64} << 20);
  }
}

TEST(Windows, ASlotLiesWhereItsOwnerLooksForIt) {
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
    for (int staging_slot = 0; staging_slot < Windows::kStagingSlots; ++staging_slot) {
      const Heaps::There there = theirs.there(0, staging_slot, 100);
      EXPECT_EQ(there.address,
                reinterpret_cast<std::uint64_t>(owner.staging_slot_of(asker, staging_slot, 100)));
      EXPECT_EQ(there.key, 5u);
      EXPECT_EQ(theirs.there(0, staging_slot, 100, 1).key, 6u);
      EXPECT_EQ(there.bytes, 100u);
    }
  }
}

TEST(Windows, WhatAStrangerNamesIsLookedAt) {
  HostPlatform platform;
  Windows windows(0, 2);
  EXPECT_EQ(windows.staging_slot_of(1, 0, 1), nullptr);  // there is no window yet
  ASSERT_OK(windows.open(platform, registered));
  EXPECT_NE(windows.staging_slot_of(1, 0, windows.staging_slot_bytes()), nullptr);
  EXPECT_EQ(windows.staging_slot_of(1, 0, windows.staging_slot_bytes() + 1), nullptr);
  EXPECT_EQ(windows.staging_slot_of(1, Windows::kStagingSlots, 1), nullptr);
  EXPECT_EQ(windows.staging_slot_of(1, -2, 1), nullptr);
  EXPECT_EQ(windows.staging_slot_of(2, 0, 1), nullptr);
  EXPECT_EQ(windows.staging_slot_of(-1, 0, 1), nullptr);
}

TEST(Windows, SlotsAreTakenGivenAndLost) {
  Windows windows(0, 2);
  std::vector<int> staging_slots;
  for (int i = 0; i < Windows::kStagingSlots; ++i) {
    const auto staging_slot = windows.take(1);
    ASSERT_OK(staging_slot);
    staging_slots.push_back(*staging_slot);
  }
  EXPECT_TRUE(windows.take(1).status().is(Code::kBusy));
  EXPECT_OK(windows.take(0));  // another's
  windows.give(1, staging_slots[2]);
  const auto again = windows.take(1);
  ASSERT_OK(again);
  EXPECT_EQ(*again, staging_slots[2]);
  for (std::size_t i = 1; i < staging_slots.size(); ++i) windows.lose(1, staging_slots[i]);
  EXPECT_TRUE(windows.take(1).status().is(Code::kBusy));  // one may still come back
  windows.lose(1, staging_slots[0]);
  EXPECT_TRUE(windows.take(1).status().is(Code::kPeerLost));
}

}  // namespace
}  // namespace weft::network
