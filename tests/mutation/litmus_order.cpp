// Litmus programs of order: who tells, who learns, who waits, and the meetings of a scope. Exit
// status 0: every promise was kept.
#include <weft/dev/flag.hpp>
#include <weft/dev/ll.hpp>
#include <weft/dev/lamport.hpp>

#include "tests/mutation/litmus.hpp"

#include <algorithm>
#include <atomic>

namespace weft::litmus {
namespace {

// Every operation that can tell a waiter something, after every kind of fence.
constexpr Word kBefore = 3;
constexpr int kTellers = 15;
void tell(const Context& ctx, int how, Word* flag, int pe) {
  const Word one = 1;
  switch (how) {
    case 0: return ctx.signal(set(flag, 1), pe);
    case 1: return ctx.signal(add(flag, 1), pe);
    case 2: return ctx.p(flag, one, pe);
    case 3: return ctx.put(Thread{}, flag, &one, 1, pe);
    case 4: return ctx.atomic_set(flag, one, pe);
    case 5: return ctx.atomic_inc(flag, pe);
    case 6: return ctx.atomic_and(flag, one, pe);
    case 7: return ctx.atomic_or(flag, Word{4}, pe);
    case 8: return ctx.atomic_xor(flag, one, pe);
    case 9: return void(ctx.atomic_swap(flag, one, pe));
    case 10: return void(ctx.atomic_compare_swap(flag, kBefore, one, pe));
    case 11: return void(ctx.atomic_fetch_inc(flag, pe));
    case 12: return void(ctx.atomic_fetch_and(flag, one, pe));
    case 13: return void(ctx.atomic_fetch_or(flag, Word{4}, pe));
    case 14: return void(ctx.atomic_fetch_xor(flag, one, pe));
    default: fail("tell", "no such teller");
  }
}

constexpr int kOrderers = 4;
void order(const Context& ctx, int how, int pe) {
  switch (how) {
    case 0: return ctx.fence(Thread{});
    case 1: return ctx.quiet(Thread{});
    case 2: return ctx.fence_pe(pe);
    case 3: return ctx.quiet_pe(pe);
    default: fail("order", "no such way");
  }
}

void told_in_order(const JobOptions& options) {
  DeviceJob job(options);
  constexpr std::size_t kRanges = kTellers * kOrderers;
  const Lines src(job, kPart, kRanges), dst(job, kPart, kRanges), flags(job, 1, kRanges);
  for (std::size_t range = 0; range < kRanges; ++range) {
    *flags.of(job, 1, range) = kBefore;
    fill(Thread{}, src.of(job, 0, range), kPart, range);
  }
  run_grids(2, 1, 1, [&](int pe) {
    const Context ctx(job.handle(pe));
    for (std::size_t range = 0; range < kRanges; ++range) {
      forget_fences();
      Word* flag = flags.of(job, pe, range);
      if (pe == 0) {
        ctx.put_nbi(Thread{}, dst.of(job, pe, range), src.of(job, pe, range), kPart, 1);
        order(ctx, static_cast<int>(range) % kOrderers, 1);
        // After quiet the source is mine again, whatever way it went.
        if (range % 2 == 1) spoil(Thread{}, src.of(job, pe, range), kPart);
        tell(ctx, static_cast<int>(range) / kOrderers, flag, 1);
      } else {
        // A put that waits for nothing is seen only when somebody behind it lets it go.
        LITMUS(ctx.wait_until(Thread{}, flag, Cmp::kNe, kBefore));
        LITMUS(is_filled(dst.of(job, pe, range), kPart, range));
      }
    }
    if (pe == 0) ctx.quiet(Thread{});
  });
}

// Every operation that can learn of a signal.
constexpr int kLearners = 14;
bool learn(const Context& ctx, int how, Word* flag, int pe) {
  std::size_t index = ~std::size_t{0};
  const Word one = 1;
  switch (how) {
    case 0: return ctx.atomic_fetch(flag, pe) == 1;
    case 1: return ctx.atomic_swap(flag, Word{0}, pe) == 1;
    case 2: return ctx.atomic_compare_swap(flag, Word{1}, Word{2}, pe) == 1;
    case 3: return ctx.atomic_compare_swap(flag, Word{7}, Word{2}, pe) == 1;
    case 4: return ctx.atomic_fetch_add(flag, Word{0}, pe) == 1;
    case 5: return ctx.atomic_fetch_and(flag, ~Word{0}, pe) == 1;
    case 6: return ctx.atomic_fetch_or(flag, Word{0}, pe) == 1;
    case 7: return ctx.atomic_fetch_xor(flag, Word{0}, pe) == 1;
    case 8: return ctx.signal_fetch(flag) == 1;
    case 9: return ctx.test(flag, Cmp::kEq, Word{1});
    case 10: return ctx.test_all_vector(flag, 1, nullptr, Cmp::kEq, &one);
    case 11: return ctx.test_any(flag, 1, nullptr, Cmp::kGe, Word{1}) == 0;
    case 12: return ctx.test_some(flag, 1, &index, nullptr, Cmp::kGt, Word{0}) == 1 && index == 0;
    case 13: return ctx.wait_until_any_vector(Thread{}, flag, 1, nullptr, Cmp::kEq, &one) == 0;
    default: fail("learn", "no such way");
  }
  return false;
}

void learned(const JobOptions& options) {
  DeviceJob job(options);
  const Lines src(job, kPart, kLearners), dst(job, kPart, kLearners), flags(job, 1, kLearners);
  for (std::size_t range = 0; range < kLearners; ++range)
    fill(Thread{}, src.of(job, 0, range), kPart, range);
  run_grids(2, 1, 1, [&](int pe) {
    const Context ctx(job.handle(pe));
    for (std::size_t range = 0; range < kLearners; ++range) {
      if (pe == 0) {
        ctx.put(Thread{}, dst.of(job, pe, range), src.of(job, pe, range), kPart, 1,
                set(flags.of(job, pe, range), 1));
      } else {
        while (!learn(ctx, static_cast<int>(range), flags.of(job, pe, range), 1))
          dev::platform::relax();
        LITMUS(is_filled(dst.of(job, pe, range), kPart, range));
      }
    }
  });
}

// Waits on several words: every thread of the scope knows all that any of them tells.
void wait_on_many(const JobOptions& options) {
  DeviceJob job(options);
  constexpr std::size_t kFlags = 5, kRanges = kRounds * kFlags;
  const Lines src(job, kPart, kRanges), dst(job, kPart, kRanges), flags(job, kFlags, kRounds);
  const Lines found(job, kFlags, kRounds);
  run_grids(2, 1, kThreads, [&](int pe) {
    const Context ctx(job.handle(pe));
    const Block block;
    for (std::size_t round = 0; round < kRounds; ++round) {
      Word* words = flags.of(job, pe, round);
      if (pe == 0) {
        const std::size_t i = dev::platform::thread_rank();
        if (i >= kFlags) continue;
        const std::size_t range = round * kFlags + i;
        fill(Thread{}, src.of(job, pe, range), kPart, range);
        ctx.put(Thread{}, dst.of(job, pe, range), src.of(job, pe, range), kPart, 1,
                set(words + i, i + 1));
        continue;
      }
      auto arrived = [&](std::size_t i) {
        return is_filled(dst.of(job, pe, round * kFlags + i), kPart, round * kFlags + i);
      };
      const int out[kFlags] = {0, 1, 0, 0, 1};
      Word values[kFlags] = {1, 2, 3, 4, 5};
      if (round % 4 == 0) {
        LITMUS(ctx.wait_until_all(block, words, kFlags, nullptr, Cmp::kGe, Word{1}));
        for (std::size_t i = 0; i < kFlags; ++i) LITMUS(arrived(i));
      } else if (round % 4 == 1) {
        LITMUS(ctx.wait_until_all_vector(block, words, kFlags, out, Cmp::kEq, values));
        for (std::size_t i = 0; i < kFlags; ++i) LITMUS(out[i] != 0 || arrived(i));
      } else if (round % 4 == 2) {
        const std::size_t i = ctx.wait_until_any(block, words, kFlags, out, Cmp::kNe, Word{0});
        LITMUS(i < kFlags && out[i] == 0 && arrived(i));
      } else {
        auto* indices = reinterpret_cast<std::size_t*>(found.of(job, pe, round));
        const std::size_t n =
            ctx.wait_until_some_vector(block, words, kFlags, indices, out, Cmp::kEq, values);
        LITMUS(n >= 1 && n <= 3);
        for (std::size_t k = 0; k < n; ++k) LITMUS(indices[k] < kFlags && arrived(indices[k]));
      }
    }
  });
}

// Every form of waiting, for what comes later than its first look.
constexpr int kWaits = 7;
bool waited(const Context& ctx, int how, Word* word) {
  std::size_t index = ~std::size_t{0};
  const Word one = 1;
  switch (how) {
    case 0: return ctx.wait_until(Thread{}, word, Cmp::kEq, one);
    case 1: return ctx.wait_until_all(Thread{}, word, 1, nullptr, Cmp::kEq, one);
    case 2: return ctx.wait_until_all_vector(Thread{}, word, 1, nullptr, Cmp::kEq, &one);
    case 3: return ctx.wait_until_any(Thread{}, word, 1, nullptr, Cmp::kEq, one) == 0;
    case 4: return ctx.wait_until_any_vector(Thread{}, word, 1, nullptr, Cmp::kEq, &one) == 0;
    case 5:
      return ctx.wait_until_some(Thread{}, word, 1, &index, nullptr, Cmp::kEq, one) == 1 &&
             index == 0;
    case 6:
      return ctx.wait_until_some_vector(Thread{}, word, 1, &index, nullptr, Cmp::kEq, &one) == 1 &&
             index == 0;
    default: fail("waited", "no such way");
  }
  return false;
}

void waits_for_later(const JobOptions& options) {
  DeviceJob job(options);
  const Lines words(job, 1, kWaits);
  std::atomic<int> begun{-1};
  run_grids(2, 1, 1, [&](int pe) {
    const Context ctx(job.handle(pe));
    for (int how = 0; how < kWaits; ++how) {
      Word* word = words.of(job, pe, static_cast<std::size_t>(how));
      if (pe == 0) {
        while (begun.load(std::memory_order_relaxed) < how) dev::platform::relax();
        usleep(5000);  // the waiter's first look is long past
        ctx.signal(set(word, 1), 1);
      } else {
        begun.store(how, std::memory_order_relaxed);
        LITMUS(waited(ctx, how, word));
        LITMUS(ctx.signal_fetch(word) == 1);
      }
    }
  });
}

// Packets that come one after the other: all are waited for.
void packets_for_later(const JobOptions& options) {
  DeviceJob job(options);
  constexpr int kMany = 3;
  const Lines places(job, 2 * kMany, kRounds);
  std::atomic<std::size_t> begun{0};
  run_grids(2, 1, 1, [&](int pe) {
    const Context ctx(job.handle(pe));
    for (std::size_t round = 0; round < kRounds; ++round) {
      auto* const first = reinterpret_cast<dev::LLPacket*>(places.of(job, pe, round));
      const auto flag = static_cast<std::uint32_t>(round + 1);
      if (pe == 0) {
        while (begun.load(std::memory_order_relaxed) <= round) dev::platform::relax();
        for (int k = 0; k < kMany; ++k) {
          usleep(300);
          dev::send_ll(ctx.ptr(first + k, 1), mark(round, static_cast<std::size_t>(k)), flag);
        }
      } else {
        begun.store(round + 1, std::memory_order_relaxed);
        std::uint64_t data[kMany] = {};
        const auto awaited = [&](int k) -> dev::AwaitedLL { return {first + k, 0}; };
        LITMUS(dev::receive_ll<kMany>(ctx, "packets", awaited, flag, data));
        LITMUS(is_filled(data, kMany, round));
      }
    }
  });
}

// The same of words; their places are free again.
void words_for_later(const JobOptions& options) {
  DeviceJob job(options);
  constexpr int kMany = 3;
  const Lines places(job, kMany, kRounds);
  for (std::size_t round = 0; round < kRounds; ++round)
    std::fill_n(places.of(job, 1, round), kMany, dev::kLamportEmpty);
  std::atomic<std::size_t> begun{0};
  run_grids(2, 1, 1, [&](int pe) {
    const Context ctx(job.handle(pe));
    for (std::size_t round = 0; round < kRounds; ++round) {
      Word* const first = places.of(job, pe, round);
      if (pe == 0) {
        while (begun.load(std::memory_order_relaxed) <= round) dev::platform::relax();
        for (int k = 0; k < kMany; ++k) {
          usleep(300);
          dev::send_lamport(ctx.ptr(first + k, 1), mark(round, static_cast<std::size_t>(k)));
        }
      } else {
        begun.store(round + 1, std::memory_order_relaxed);
        std::uint64_t data[kMany] = {};
        const auto awaited = [&](int k) -> dev::AwaitedLamport { return {first + k, 0}; };
        LITMUS(dev::receive_lamport<kMany>(job.handle(pe), "words", awaited, data));
        LITMUS(is_filled(data, kMany, round));
        LITMUS((dev::platform::load<dev::Order::kRelaxed, dev::Reach::kSystem>(first) ==
                dev::kLamportEmpty));
      }
    }
  });
}

// A flag that is set later: what was put before it is there.
void flags_for_later(const JobOptions& options) {
  DeviceJob job(options);
  const Lines lines(job, 2, kRounds);  // a word, and the flag behind it
  std::atomic<std::size_t> begun{0};
  run_grids(2, 1, 1, [&](int pe) {
    const Context ctx(job.handle(pe));
    for (std::size_t round = 0; round < kRounds; ++round) {
      Word* const words = lines.of(job, pe, round);
      if (pe == 0) {
        while (begun.load(std::memory_order_relaxed) <= round) dev::platform::relax();
        usleep(300);
        const Word word = mark(round, 0);
        ctx.put(Thread{}, words, &word, 1, 1, set(words + 1, round + 1));
      } else {
        begun.store(round + 1, std::memory_order_relaxed);
        LITMUS(dev::wait_flag(job.handle(pe), "flag", {words + 1, 0}, round + 1));
        LITMUS(words[0] == mark(round, 0));
      }
    }
  });
}

// The platform's barriers and exchanges.
template <class Scope>
void meetings(const JobOptions&) {
  Word left[2][kThreads] = {};
  run_grids(1, 1, kThreads, [&](int) {
    const Scope scope;
    const unsigned me = dev::platform::thread_rank();
    const unsigned first = me - static_cast<unsigned>(scope.rank());
    const unsigned next = first + (me - first + 1) % static_cast<unsigned>(scope.size());
    for (Word round = 1; round <= 4 * kRounds; ++round) {
      // Written by me, read by my neighbour after the rendezvous; two sets, so that one rendezvous
      // a round is enough.
      left[round % 2][me] = round;
      switch (round % 4) {
        case 0: scope.sync(); break;
        case 1: LITMUS(scope.broadcast(round + first + scope.rank()) == round + first); break;
        case 2: LITMUS(scope.all(true)); break;
        case 3: LITMUS(scope.all(scope.rank() != scope.size() - 1) == false); break;
      }
      LITMUS(left[round % 2][next] == round);
    }
    // Nothing but the exchanges themselves keeps one from overtaking the next.
    for (Word round = 0; round < 4 * kRounds; ++round) {
      LITMUS(scope.broadcast(round + me) == round + first);
      LITMUS(scope.all(round % 2 == 0 || scope.rank() != 0) == (round % 2 == 0));
    }
  });
}
void run_all(const JobOptions& options) {
  told_in_order(options);
  learned(options);
  wait_on_many(options);
  waits_for_later(options);
}

}  // namespace
}  // namespace weft::litmus

int main(int argc, char** argv) {
  using namespace weft::litmus;
  const auto [mapped, by_ring] = begin(argc, argv);
  meetings<Warp>(mapped);
  meetings<Block>(mapped);
  packets_for_later(mapped);
  words_for_later(mapped);
  flags_for_later(mapped);
  run_all(mapped);
  run_all(by_ring);
  return 0;
}
