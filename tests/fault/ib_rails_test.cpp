// Whole runtimes by ib over two ports, of which one is lost at every moment there is: nothing is
// lost, nothing comes twice, nothing overtakes. Then both.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <weft/weft.hpp>

#include "src/base/status.hpp"
#include "tests/fault/ib_test.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

class RailsTest : public IbTest {
 protected:
  static Options by_two() {
    Options options = by_ib();
    options.ib_device = "fake0,fake1";
    options.wait_timeout = 60;  // only ends what hangs
    return options;
  }
  void TearDown() override {
    for (const int device : {0, 1}) fake_verbs_mend(device);
    IbTest::TearDown();
  }
  const Setting two_{"FAKE_VERBS_DEVICES", "2"};
};

// The job with that device lost at its nth request, for several n, which still takes effect or does
// not.
template <class Body>
void lose_at_every_moment(int device, int npes, const Options& options, Body body) {
  for (const std::size_t moment : {3, 5, 6, 7, 8, 9, 11, 13, 15, 17, 19, 21, 80, 81, 301}) {
    SCOPED_TRACE(moment);
    const auto losing = [&](Runtime& rt) -> Status {
      RETURN_IF_ERROR(talk(rt));
      if (rt.pe() == 0) fake_verbs_cut_after(device, moment / 2, moment % 2 != 0);
      RETURN_IF_ERROR(rt.barrier());
      return body(rt);
    };
    EXPECT_OK(run_local(npes, losing, options));
    fake_verbs_mend(device);
  }
}

// The receiver takes the signal back: one that came twice, or before its bytes, would be noticed.
Status pass_on(Runtime& rt) {
  constexpr std::size_t kWords = 20;
  constexpr Word kRounds = 40;
  Context& ctx = rt.context();
  ASSIGN_OR_RETURN(Word* const words, rt.callocate<Word>(kWords));
  ASSIGN_OR_RETURN(Word* const signal, rt.callocate<Word>(1));
  const int right = (rt.pe() + 1) % rt.npes(), left = (rt.pe() + rt.npes() - 1) % rt.npes();
  const auto word = [](Word round, int pe, std::size_t i) {
    return 1000 * round + 100 * static_cast<Word>(pe) + i;
  };
  RETURN_IF_ERROR(rt.barrier());
  for (Word round = 1; round <= kRounds; ++round) {
    std::vector<Word> mine(kWords);
    for (std::size_t i = 0; i < kWords; ++i) mine[i] = word(round, rt.pe(), i);
    // Both kinds: what is set, and what is added to zero.
    const Notify notify = round % 2 != 0 ? set(signal, round) : add(signal, round);
    RETURN_IF_ERROR(ctx.put(words, mine.data(), kWords, right, notify));
    RETURN_IF_ERROR(wait_until(ctx, signal, Cmp::kNe, Word{0}));
    EXPECT_EQ(*signal, round);
    for (std::size_t i = 0; i < kWords; ++i) EXPECT_EQ(words[i], word(round, left, i));
    *signal = 0;
    RETURN_IF_ERROR(rt.barrier());
  }
  return rt.barrier();
}

TEST_F(RailsTest, SignalsComeOnceAndAfterTheirBytes) {
  lose_at_every_moment(0, 2, by_two(), pass_on);
}
TEST_F(RailsTest, SignalsByTheDevicesAtomicsAsWell) {
  const Setting atomics("FAKE_VERBS_ATOMICS", "glob");
  lose_at_every_moment(0, 2, by_two(), pass_on);
}

// Many under way at once, that nobody repeats by mistake.
Status count_up(Runtime& rt) {
  constexpr Word kRounds = 200;
  Context& ctx = rt.context();
  ASSIGN_OR_RETURN(Word* const words, rt.callocate<Word>(4));
  RETURN_IF_ERROR(rt.barrier());
  for (Word round = 1; round <= kRounds; ++round) {
    for (int pe = 0; pe < rt.npes(); ++pe) {
      RETURN_IF_ERROR(ctx.atomic_add(words, Word{1}, pe));
      RETURN_IF_ERROR(ctx.atomic_xor(words + 1, Word{1} << rt.pe(), pe));
      RETURN_IF_ERROR(ctx.put_nbi(words + 3, &round, 1, pe, add(words + 2, 1)));
      if (round % 16 == 0) RETURN_IF_ERROR(ctx.fence());
    }
    if (round % 50 == 0) RETURN_IF_ERROR(ctx.quiet());
  }
  RETURN_IF_ERROR(ctx.quiet());
  RETURN_IF_ERROR(rt.barrier());
  EXPECT_EQ(words[0], kRounds * static_cast<Word>(rt.npes()));
  EXPECT_EQ(words[1], 0u) << "each bit was turned an even number of times";
  EXPECT_EQ(words[2], kRounds * static_cast<Word>(rt.npes()));
  EXPECT_EQ(words[3], kRounds);
  return rt.barrier();
}

TEST_F(RailsTest, RequestsAreExecutedOnce) { lose_at_every_moment(0, 3, by_two(), count_up); }
TEST_F(RailsTest, AtomicsOfTheDeviceThatFetchNothingAreToo) {
  const Setting atomics("FAKE_VERBS_ATOMICS", "glob");
  lose_at_every_moment(0, 3, by_two(), count_up);
}

// Pieces on both rails; either is lost.
Status stream(Runtime& rt) {
  constexpr std::size_t kWords = 150'000;
  constexpr Word kRounds = 12;
  Context& ctx = rt.context();
  ASSIGN_OR_RETURN(Word* const bulk, rt.callocate<Word>(kWords));
  ASSIGN_OR_RETURN(Word* const signal, rt.callocate<Word>(1));
  const int right = (rt.pe() + 1) % rt.npes();
  RETURN_IF_ERROR(rt.barrier());
  for (Word round = 1; round <= kRounds; ++round) {
    const std::vector<Word> mine(kWords, round);
    RETURN_IF_ERROR(ctx.put(bulk, mine.data(), kWords, right, set(signal, round)));
    RETURN_IF_ERROR(wait_until(ctx, signal, Cmp::kEq, round));
    EXPECT_EQ(std::vector<Word>(bulk, bulk + kWords), mine) << "round " << round;
    std::vector<Word> back(kWords);
    RETURN_IF_ERROR(ctx.get(back.data(), bulk, kWords, right));
    EXPECT_EQ(back[kWords - 1], round);
    RETURN_IF_ERROR(rt.barrier());
  }
  return rt.barrier();
}

TEST_F(RailsTest, LargeTransfersGoByBothAndOutliveTheFirst) {
  const std::size_t first = fake_verbs_carried(0), second = fake_verbs_carried(1);
  EXPECT_OK(run_local(2, stream, by_two()));
  EXPECT_GT(fake_verbs_carried(0), first + 24);
  EXPECT_GT(fake_verbs_carried(1), second + 24);
  lose_at_every_moment(0, 2, by_two(), stream);
}
TEST_F(RailsTest, LargeTransfersOutliveTheSecond) { lose_at_every_moment(1, 2, by_two(), stream); }

// Its old value was lost on the way, if it was executed: then it says so, and is not repeated.
TEST_F(RailsTest, AnAtomicOfTheDeviceThatFetchesEitherCountsOrSaysSo) {
  const Setting atomics("FAKE_VERBS_ATOMICS", "glob");
  int lost = 0;
  for (int nth = 1; nth <= 16; ++nth) {
    const auto body = [&](Runtime& rt) -> Status {
      ASSIGN_OR_RETURN(Word* const word, rt.callocate<Word>(1));
      RETURN_IF_ERROR(talk(rt));
      RETURN_IF_ERROR(rt.barrier());
      if (rt.pe() == 0) {
        fake_verbs_cut_after(0, static_cast<std::size_t>(nth), nth % 2 == 0);
        for (Word i = 0; i < 20; ++i) {
          const Result<Word> old = rt.context().atomic_fetch_add(word, Word{1}, 1);
          if (old.is_ok()) {
            EXPECT_EQ(*old, i);
            continue;
          }
          ++lost;
          EXPECT_CODE(old.status(), Code::kPeerLost);
          EXPECT_THAT(std::string(old.status().text()),
                      AllOf(HasSubstr("fake0 port 1 to PE 1 on "),
                            HasSubstr("the device has executed it, but the old value is lost")));
          EXPECT_CODE(rt.context().quiet(), Code::kPeerLost);  // tells it once more
        }
      }
      RETURN_IF_ERROR(rt.barrier());
      EXPECT_EQ(*word, rt.pe() == 1 ? 20u : 0u);
      return rt.barrier();
    };
    EXPECT_OK(run_local(2, body, by_two()));
    fake_verbs_mend(0);
  }
  EXPECT_GT(lost, 0);
  EXPECT_LT(lost, 16);
}

// The owner's device executes atomics (WEFT_IB_ATOMICS=nic).
Options by_nic(Options options) {
  options.ib_atomics = "nic";
  return options;
}

TEST_F(RailsTest, AtomicsOfTheOwnersDeviceDoNotNeedTheOtherPort) {
  lose_at_every_moment(1, 3, by_nic(by_two()), count_up);
  lose_at_every_moment(1, 3, by_nic(by_two()), stream);
}

// The fate that a failed atomic reports: the least and the most that it may have added.
std::pair<Word, Word> counts_of(const Status& status) {
  const std::string text(status.text());
  EXPECT_CODE(status, Code::kPeerLost);
  EXPECT_THAT(text, HasSubstr("PE 1"));
  EXPECT_THAT(text, HasSubstr("fake0 port 1"));
  if (text.find("has executed it") != std::string::npos) return {1, 1};
  if (text.find("or not") != std::string::npos) return {0, 1};
  EXPECT_THAT(text, HasSubstr("WEFT_IB_ATOMICS=nic no other port may"));
  return {0, 0};
}

// When its port is lost they fail, of known fate or said to be not; all else goes on by the other.
Status count_until_lost(Runtime& rt, std::size_t moment, bool by_loop) {
  Context& ctx = rt.context();
  ASSIGN_OR_RETURN(Word* const word, rt.callocate<Word>(2));
  RETURN_IF_ERROR(talk(rt));
  RETURN_IF_ERROR(rt.barrier());
  Word least = 0, most = 0;
  if (rt.pe() == 0) {
    fake_verbs_cut_after(0, moment / 2, moment % 2 != 0);
    for (Word i = 0; i < 40; ++i) {
      // A bit more each time, by or; or one more.
      const auto old = by_loop ? ctx.atomic_fetch_or(word, Word{1} << i, 1)
                               : ctx.atomic_fetch_add(word, Word{1}, 1);
      const auto [low, high] = old.is_ok() ? std::pair<Word, Word>{1, 1} : counts_of(old.status());
      least += low;
      most += high;
    }
    EXPECT_LT(least, 40u);
    EXPECT_LE(most - least, 1u) << "what came later is known not to have been executed";
    const Status again = ctx.atomic_add(word, Word{1}, 1);
    EXPECT_CODE(again, Code::kPeerLost);
    ctx.quiet().ignore();
    RETURN_IF_ERROR(ctx.put(word + 1, &most, 1, 1));
    RETURN_IF_ERROR(ctx.atomic_add(reinterpret_cast<std::uint32_t*>(word + 1) + 1, 7u, 1));
  }
  RETURN_IF_ERROR(rt.barrier());
  const Word counted = by_loop ? static_cast<Word>(__builtin_popcountll(word[0])) : word[0];
  if (rt.pe() == 1) {
    EXPECT_LE(counted, word[1] & 0xffffffff);
    EXPECT_GE(counted + 1, word[1] & 0xffffffff);
    EXPECT_EQ(word[1] >> 32, 7u);
  }
  return rt.barrier();
}

TEST_F(RailsTest, AtomicsOfTheOwnersDeviceFailWithItsPort) {
  for (const bool by_loop : {false, true})
    for (const std::size_t moment : {2, 3, 4, 5, 6, 7, 20, 21, 60, 61}) {
      SCOPED_TRACE(moment);
      const auto body = [&](Runtime& rt) { return count_until_lost(rt, moment, by_loop); };
      EXPECT_OK(run_local(2, body, by_nic(by_two())));
      fake_verbs_mend(0);
    }
}

// The failure names the way that failed last, and the one before.
TEST_F(RailsTest, WithoutAPortLeftTheErrorNamesBoth) {
  Options options = by_two();
  options.start_timeout = 2;
  options.wait_timeout = 3;
  const auto body = [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(Word* const word, rt.callocate<Word>(1));
    RETURN_IF_ERROR(talk(rt));
    if (rt.pe() != 0) return Status::ok();
    fake_verbs_cut(0);
    fake_verbs_cut(1);
    Status status = rt.context().p(word, Word{1}, 1);
    if (status.is_ok()) status = rt.context().quiet();
    EXPECT_CODE(status, Code::kPeerLost);
    EXPECT_THAT(std::string(status.text()),
                AllOf(HasSubstr("fake1 port 1"), HasSubstr("PE 1"),
                      HasSubstr("fake0 port 1 to PE 1 on "), HasSubstr("had failed before")));
    return Status::ok();
  };
  // Ending the job finds the ways still cut off on its other lanes, which is no news.
  run_local(2, body, options).ignore();
}

}  // namespace
}  // namespace weft
