// WEFT_IB_ATOMICS=nic: the owner's device executes every atomic of 8 bytes, over the fake library,
// whose devices are atomic with themselves only. So a word that a processor changes as well loses
// something, and these tests would notice.
#include <gmock/gmock.h>

#include <algorithm>

#include <weft/device.hpp>

#include "tests/fault/ib_test.hpp"
#include "tests/support/pe_group.hpp"
#include "tests/support/random.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Options by_nic(const std::string& transports, const std::string& fault = "") {
  Options options = by_ib();
  options.transports = transports;
  options.ib_atomics = "nic";
  options.fault = fault;
  return options;
}

// By the network, to myself too; mapped, but for atomics; and both held up and shuffled.
struct Way {
  const char *name, *transports, *fault;
};
constexpr Way kWays[] = {
    {"network", "ib,loopback", ""},
    {"mapped", "p2p,ib,loopback", ""},
    {"network_late", "ib,loopback", "late=1,delay=0.3,busy=0.2"},
    {"mapped_late", "p2p,ib,loopback", "late=1,delay=0.3,busy=0.2"},
};

class NicAtomicsTest : public IbTest, public ::testing::WithParamInterface<Way> {
 protected:
  static Options options() { return by_nic(GetParam().transports, GetParam().fault); }
};

// --- one word, all kinds -------------------------------------------------------------------------

// A counter in the low half, six bits of each PE's own above it. Every kind that can keep to its
// part; what is seen of one's own bits must be what one made them.
struct Mixed {
  Context& ctx;
  Word* word;
  int home;
  Word bit, bits;  // that one of mine, and its state

  Status count(int how) const {
    switch (how % 4) {
      case 0: return ctx.atomic_add(word, Word{1}, home);
      case 1: return ctx.atomic_inc(word, home);
      case 2: return ctx.atomic_fetch_add(word, Word{1}, home).status();
      default: return count_by_compare_swap();
    }
  }
  Status count_by_compare_swap() const {
    for (Word seen = 0;;) {
      ASSIGN_OR_RETURN(const Word old, ctx.atomic_compare_swap(word, seen, seen + 1, home));
      if (old == seen) return Status::ok();
      seen = old;
    }
  }
  Status turn(int how) {
    const Word before = std::exchange(bits, how % 3 == 0 ? bit : how % 3 == 1 ? 0 : bits ^ bit);
    const auto look = [&](Result<Word> old) -> Status {
      RETURN_IF_ERROR(old.status());
      EXPECT_EQ(*old & bit, before);
      return Status::ok();
    };
    switch (how % 6) {
      case 0: return ctx.atomic_or(word, bit, home);
      case 1: return ctx.atomic_and(word, ~bit, home);
      case 2: return ctx.atomic_xor(word, bit, home);
      case 3: return look(ctx.atomic_fetch_or(word, bit, home));
      case 4: return look(ctx.atomic_fetch_and(word, ~bit, home));
      default: return look(ctx.atomic_fetch_xor(word, bit, home));
    }
  }
};

constexpr int kRounds = 150;

Status mix(Runtime& rt, bool is_shuffled) {
  Context& ctx = rt.context();
  ASSIGN_OR_RETURN(Word* const words, rt.callocate<Word>(1));
  RETURN_IF_ERROR(rt.barrier());
  for (int home = 0; home < rt.npes(); ++home) {
    Mixed mine{ctx, words, home, Word{1} << (40 + rt.pe()), 0};
    std::mt19937_64 random(test_seed() + static_cast<Word>(rt.pe()));
    for (int round = 0; round < kRounds; ++round) {
      RETURN_IF_ERROR(mine.count(round));
      // Bits are looked at in the order of their changes, which the injector keeps no longer.
      if (is_shuffled) RETURN_IF_ERROR(ctx.fence());
      RETURN_IF_ERROR(mine.turn(static_cast<int>(random() % 6)));
    }
    RETURN_IF_ERROR(ctx.quiet());
    ASSIGN_OR_RETURN(const Word seen, ctx.atomic_fetch(words, home));
    EXPECT_EQ(seen & mine.bit, mine.bits);
  }
  RETURN_IF_ERROR(rt.barrier());
  EXPECT_EQ(words[0] & 0xffffffff, static_cast<Word>(kRounds * rt.npes()));
  return rt.barrier();
}

TEST_P(NicAtomicsTest, KindsMixedOnOneWordLoseNothing) {
  const std::size_t before = fake_verbs_atomics();
  const bool is_shuffled = !options().fault.empty();
  EXPECT_OK(run_local(
      3, [&](Runtime& rt) { return mix(rt, is_shuffled); }, options()));
  EXPECT_GE(fake_verbs_atomics() - before, std::size_t{3 * 3 * 2 * kRounds});
}

// Amounts that some atomics add are taken out by others.
Status take_out(Runtime& rt) {
  Context& ctx = rt.context();
  ASSIGN_OR_RETURN(Word* const words, rt.callocate<Word>(2));
  RETURN_IF_ERROR(rt.barrier());
  Word taken = 0;
  for (int round = 0; round < kRounds; ++round) {
    RETURN_IF_ERROR(ctx.atomic_add(words, Word{3}, 0));
    ASSIGN_OR_RETURN(const Word old, round % 2 == 0 ? ctx.atomic_swap(words, Word{0}, 0)
                                                    : ctx.atomic_fetch_and(words, Word{0}, 0));
    taken += old;
  }
  RETURN_IF_ERROR(ctx.atomic_add(words + 1, taken, 0));
  RETURN_IF_ERROR(rt.barrier());
  if (rt.pe() == 0) {
    EXPECT_EQ(words[0] + words[1], static_cast<Word>(3 * kRounds * rt.npes()));
  }
  return rt.barrier();
}
TEST_P(NicAtomicsTest, WhatIsSwappedOutIsThereOnce) {
  EXPECT_OK(run_local(3, take_out, options()));
}

// Words of 4 bytes and signals are the processor's, beside those of the device.
Status beside(Runtime& rt) {
  Context& ctx = rt.context();
  ASSIGN_OR_RETURN(auto* const halves, rt.callocate<std::uint32_t>(4));
  ASSIGN_OR_RETURN(Word* const words, rt.callocate<Word>(2));
  RETURN_IF_ERROR(rt.barrier());
  for (int round = 0; round < kRounds; ++round)
    for (int pe = 0; pe < rt.npes(); ++pe) {
      RETURN_IF_ERROR(ctx.atomic_add(halves, std::uint32_t{1}, pe));
      RETURN_IF_ERROR(ctx.atomic_xor(halves + 1, std::uint32_t{1} << rt.pe(), pe));
      RETURN_IF_ERROR(ctx.put_bytes(nullptr, nullptr, 0, pe, add(words, 1)));
      RETURN_IF_ERROR(ctx.atomic_xor(words + 1, Word{1} << rt.pe(), pe));
    }
  RETURN_IF_ERROR(rt.barrier());
  EXPECT_EQ(halves[0], static_cast<std::uint32_t>(kRounds * rt.npes()));
  EXPECT_EQ(halves[1], 0u);
  EXPECT_EQ(words[0], static_cast<Word>(kRounds * rt.npes()));
  EXPECT_EQ(words[1], 0u);
  return rt.barrier();
}
TEST_P(NicAtomicsTest, NarrowWordsAndSignalsStayWithTheirOwner) {
  EXPECT_OK(run_local(3, beside, options()));
}

// --- order ---------------------------------------------------------------------------------------

// A PE that sees a put after a fence also sees the atomic before it; and an atomic after a fence
// comes after the put before it. Each direction is tested with an atomic that takes several steps.
Status ordered(Runtime& rt) {
  Context& ctx = rt.context();
  ASSIGN_OR_RETURN(Word* const words, rt.callocate<Word>(4));
  RETURN_IF_ERROR(rt.barrier());
  for (int to = 0; to < rt.npes(); ++to) {
    const int from = (to + 1) % rt.npes();
    for (Word round = 1; round <= 40; ++round) {
      if (rt.pe() == from) {
        RETURN_IF_ERROR(ctx.atomic_set(words, round, to));
        RETURN_IF_ERROR(round % 2 == 0 ? ctx.fence() : ctx.fence(to));
        RETURN_IF_ERROR(ctx.put_nbi(words + 1, &round, 1, to));
        RETURN_IF_ERROR(ctx.fence());
        RETURN_IF_ERROR(ctx.atomic_set(words + 2, round, to));
        RETURN_IF_ERROR(ctx.quiet(to));
      }
      if (rt.pe() == to) {
        RETURN_IF_ERROR(wait_until(ctx, words + 1, Cmp::kEq, round));
        EXPECT_EQ(__atomic_load_n(words, __ATOMIC_ACQUIRE), round);
        RETURN_IF_ERROR(wait_until(ctx, words + 2, Cmp::kEq, round));
      }
      RETURN_IF_ERROR(rt.barrier());
    }
    if (rt.pe() == to) words[0] = words[1] = words[2] = 0;
    RETURN_IF_ERROR(rt.barrier());
  }
  return rt.barrier();
}
TEST_P(NicAtomicsTest, FencesAreKept) { EXPECT_OK(run_local(3, ordered, options())); }

// Complete is complete, also on my own words.
Status complete(Runtime& rt) {
  Context& ctx = rt.context();
  ASSIGN_OR_RETURN(Word* const words, rt.callocate<Word>(1));
  for (Word round = 1; round <= 100; ++round) {
    RETURN_IF_ERROR(ctx.atomic_set(words, round, rt.pe()));
    RETURN_IF_ERROR(round % 2 == 0 ? ctx.quiet() : ctx.quiet(rt.pe()));
    EXPECT_EQ(__atomic_load_n(words, __ATOMIC_ACQUIRE), round);
    ASSIGN_OR_RETURN(const Word old, ctx.atomic_fetch_xor(words, round, rt.pe()));
    EXPECT_EQ(old, round);
  }
  return rt.barrier();
}
TEST_P(NicAtomicsTest, QuietCompletesThem) { EXPECT_OK(run_local(2, complete, options())); }

// --- kernels -------------------------------------------------------------------------------------

struct Kernel {
  DeviceContext handle;
  Word* words;
  int home;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    const Word bit = Word{1} << (40 + ctx.pe());
    for (int round = 0; round < 50; ++round) {
      ctx.atomic_add(words, Word{1}, home);
      ctx.atomic_fetch_inc(words, home);
      ctx.atomic_fetch_or(words, bit, home);
      ctx.atomic_fetch_and(words, ~bit, home);
    }
  }
};

// A PE that sees a kernel's store after a fence also sees the kernel's atomic before it.
struct Fenced {
  DeviceContext handle;
  Word* words;
  Word rounds;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    const int right = (ctx.pe() + 1) % ctx.npes(), left = (ctx.pe() + ctx.npes() - 1) % ctx.npes();
    for (Word round = 1; round <= rounds; ++round) {
      ctx.atomic_set(words, round, right);
      if (round % 2 == 0)
        ctx.fence(dev::Thread{});
      else
        ctx.fence_pe(right);
      ctx.p(words + 1, round, right);
      ctx.quiet(dev::Thread{});  // else it need not come
      ctx.wait_until(dev::Thread{}, words + 1, Cmp::kGe, round);
      if (__atomic_load_n(words, __ATOMIC_ACQUIRE) < round) __atomic_store_n(words + 2, round, 0);
      ctx.signal(set(words + 3, round), left);
      ctx.wait_until(dev::Thread{}, words + 3, Cmp::kGe, round);
    }
    ctx.quiet(dev::Thread{});
  }
};

TEST_P(NicAtomicsTest, FencesOfKernelsAreKept) {
  EXPECT_OK(run_local(
      3,
      [](Runtime& rt) -> Status {
        ASSIGN_OR_RETURN(Word* const words, rt.callocate<Word>(4));
        ASSIGN_OR_RETURN(const DeviceContext handle, rt.context().device());
        RETURN_IF_ERROR(rt.barrier());
        RETURN_IF_ERROR(dev::launch({1, 1, 0}, Fenced{handle, words, 60}));
        RETURN_IF_ERROR(dev::synchronize());
        RETURN_IF_ERROR(rt.barrier());
        EXPECT_EQ(words[0], 60u);
        EXPECT_EQ(words[2], 0u) << "a round in which the atomic came late";
        return rt.health();
      },
      options()));
}

TEST_P(NicAtomicsTest, KernelsAndTheHostShareWords) {
  const auto body = [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(Word* const words, rt.callocate<Word>(1));
    ASSIGN_OR_RETURN(const DeviceContext handle, rt.context().device());
    RETURN_IF_ERROR(rt.barrier());
    RETURN_IF_ERROR(dev::launch({1, 1, 0}, Kernel{handle, words, 0}));
    for (int round = 0; round < 100; ++round)
      RETURN_IF_ERROR(rt.context().atomic_add(words, Word{1}, 0));
    RETURN_IF_ERROR(dev::synchronize());
    RETURN_IF_ERROR(rt.barrier());
    if (rt.pe() == 0) {
      EXPECT_EQ(words[0], static_cast<Word>(200 * rt.npes()));
    }
    return rt.health();
  };
  for (const bool check : {false, true}) {
    Options options = NicAtomicsTest::options();
    options.check = check;
    EXPECT_OK(run_local(3, body, options));
  }
}

std::string way_name(const ::testing::TestParamInfo<Way>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Ways, NicAtomicsTest, ::testing::ValuesIn(kWays), way_name);

// --- what cannot be ------------------------------------------------------------------------------

using NicAtomicsErrorTest = IbTest;

TEST_F(NicAtomicsErrorTest, WhatIsMissingIsSaid) {
  const auto failure = [](const Options& options) {
    return std::string(run_local(2, talk, options).text());
  };
  EXPECT_THAT(failure(by_nic("p2p,loopback")),
              AllOf(HasSubstr("WEFT_IB_ATOMICS=nic"), HasSubstr("ib, which is not in")));
  const Setting atomics("FAKE_VERBS_ATOMICS", "none");
  EXPECT_THAT(failure(by_nic("p2p,ib,loopback")),
              AllOf(HasSubstr("of PE 0 on "), HasSubstr("fake0 port 1 has no atomics"),
                    HasSubstr("WEFT_IB_ATOMICS=owner on all PEs")));
  EXPECT_OK(run_local(2, talk, by_ib()));
}

TEST_F(NicAtomicsErrorTest, AHostWithoutADeviceIsNamed) {
  const Setting none("FAKE_VERBS_DEVICES", "0");
  EXPECT_THAT(std::string(run_local(2, talk, by_nic("p2p,ib,loopback")).text()),
              AllOf(HasSubstr("of PE 0 on "), HasSubstr("no RDMA device")));
}

}  // namespace
}  // namespace weft
