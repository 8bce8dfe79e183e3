// AtomicEmulation: who carries an atomic out, and the steps of those that the device has not.
#include "host/transport/ib/atomic_emulation.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/status.hpp"
#include "tests/unit/transport/ib_idle_env.hpp"

namespace weft::ib {
namespace {

const std::vector<OpKind> kAtomics = {
    OpKind::kAmoSet,      OpKind::kAmoAdd,      OpKind::kAmoAnd,     OpKind::kAmoOr,
    OpKind::kAmoXor,      OpKind::kAmoFetch,    OpKind::kAmoSwap,    OpKind::kAmoCompareSwap,
    OpKind::kAmoFetchAdd, OpKind::kAmoFetchAnd, OpKind::kAmoFetchOr, OpKind::kAmoFetchXor};

bool device_has(OpKind kind) {
  return kind == OpKind::kAmoAdd || kind == OpKind::kAmoFetchAdd || kind == OpKind::kAmoFetch ||
         kind == OpKind::kAmoCompareSwap;
}

TEST(AtomicEmulation, TheOwnerExecutesThemUnlessDevicesDo) {
  const AtomicEmulation emulation(false);
  for (const OpKind kind : kAtomics) {
    for (const std::uint8_t width : std::array<std::uint8_t, 2>{4, 8}) {
      const Op op{.kind = kind, .width = width};
      EXPECT_EQ(emulation.method_of(op, false), Method::kOwner);
      EXPECT_EQ(emulation.method_of(op, true),
                device_has(kind) && width == 8 ? Method::kDeviceAtomic : Method::kOwner);
    }
  }
}

TEST(AtomicEmulation, TheOwnersDeviceExecutesAllOf64Bits) {
  const AtomicEmulation emulation(true);
  for (const OpKind kind : kAtomics) {
    for (const bool device_atomics : {false, true}) {
      EXPECT_EQ(emulation.method_of({.kind = kind, .width = 8}, device_atomics),
                device_has(kind) ? Method::kDeviceAtomic : Method::kCompareSwap);
      for (const std::uint8_t width : std::array<std::uint8_t, 3>{1, 2, 4})
        EXPECT_EQ(emulation.method_of({.kind = kind, .width = width}, device_atomics),
                  Method::kOwner);
    }
  }
}

TEST(AtomicEmulation, NotifiesThatAddAreAtomics) {
  const Op adds{.kind = OpKind::kPut, .notify = NotifyOp::kAdd};
  EXPECT_EQ(AtomicEmulation(false).method_of(adds, true), Method::kDeviceAtomic);
  EXPECT_EQ(AtomicEmulation(false).method_of(adds, false), Method::kOwner);
  EXPECT_EQ(AtomicEmulation(true).method_of(adds, true), Method::kOwner);
  for (const bool owns : {false, true}) {
    const AtomicEmulation emulation(owns);
    EXPECT_EQ(emulation.method_of({.kind = OpKind::kPut}, true), Method::kTransfer);
    EXPECT_EQ(emulation.method_of({.kind = OpKind::kPut, .notify = NotifyOp::kSet}, true),
              Method::kTransfer);
    EXPECT_EQ(emulation.method_of({.kind = OpKind::kGet}, true), Method::kTransfer);
  }
}

TEST(AtomicEmulation, AStepWritesWhatTheAtomicWould) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  for (const std::uint64_t word : {std::uint64_t{0}, std::uint64_t{6}, kMost}) {
    const auto changed = [&](OpKind kind, std::uint64_t value) {
      return changed_word({.value = value, .kind = kind, .width = 8}, word);
    };
    EXPECT_EQ(changed(OpKind::kAmoSet, 9), 9u);
    EXPECT_EQ(changed(OpKind::kAmoSwap, 9), 9u);
    EXPECT_EQ(changed(OpKind::kAmoAnd, 3), word & 3);
    EXPECT_EQ(changed(OpKind::kAmoFetchAnd, 3), word & 3);
    EXPECT_EQ(changed(OpKind::kAmoOr, 3), word | 3);
    EXPECT_EQ(changed(OpKind::kAmoFetchOr, 3), word | 3);
    EXPECT_EQ(changed(OpKind::kAmoXor, kMost), ~word);
    EXPECT_EQ(changed(OpKind::kAmoFetchXor, kMost), ~word);
  }
}

class StepsTest : public ::testing::Test {
 protected:
  // An atomic whose first step is in flight; the word's value comes to `old`.
  InFlightRequest& add(std::uint64_t* old, OpKind kind = OpKind::kAmoSwap) {
    InFlightRequest& request = requests.add({.op = {.remote = 64, .kind = kind, .width = 8},
                                             .connection = &connection,
                                             .method = Method::kCompareSwap,
                                             .block = {.base = reinterpret_cast<std::byte*>(old)}});
    request.work_posted();
    return request;
  }
  test::IdleEnv idle{true};
  Connection connection{1, {}, 0, idle.env};
  InFlightRequests requests;
  AtomicEmulation emulation{true};
};

TEST_F(StepsTest, GoOnUntilOneMatches) {
  std::uint64_t old = 41;
  InFlightRequest& request = add(&old);
  for (const std::uint64_t there : {41, 42, 41}) {  // others change the word meanwhile
    old = there;
    EXPECT_TRUE(emulation.step_completed(request, 5));
    EXPECT_EQ(request.state, RequestState::kStepPending);
    EXPECT_EQ(request.expected, there);
    EXPECT_EQ(emulation.take_due(), std::vector<std::uint64_t>{5});
    EXPECT_TRUE(emulation.take_due().empty()) << "taken once";
    EXPECT_TRUE(request.work_posted());
  }
  EXPECT_FALSE(emulation.step_completed(request, 5)) << "it matched";
  EXPECT_EQ(request.state, RequestState::kPosted);
  EXPECT_TRUE(emulation.take_due().empty());
  EXPECT_TRUE(requests.work_completed(request));
  EXPECT_TRUE(request.is_done());
  EXPECT_FALSE(connection.outstanding.has_compare_swaps());
}

TEST_F(StepsTest, AWordThatIsZeroMatchesAtOnce) {
  std::uint64_t old = 0;
  EXPECT_FALSE(emulation.step_completed(add(&old), 0));
}

TEST_F(StepsTest, AnAbandonedRequestHasNoNext) {
  std::uint64_t old = 7;
  InFlightRequest& request = add(&old);
  ASSERT_TRUE(requests.abandon(request));
  request.block = {};
  EXPECT_FALSE(emulation.step_completed(request, 0));
  EXPECT_TRUE(emulation.take_due().empty());
}

}  // namespace
}  // namespace weft::ib
