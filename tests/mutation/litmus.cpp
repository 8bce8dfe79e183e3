// Litmus programs of the device API, compiled alone (no test framework) because the mutation test
// compiles them once per mutant. Exit status 0: every promise was kept.
#include "tests/mutation/litmus.hpp"

#include <sched.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

namespace weft::litmus {
namespace {

constexpr std::size_t kRounds = 8;
constexpr std::size_t kWords = 100;

// A put with a signal: all bytes of all threads, then the signal; the source is mine again.
template <class Scope>
void put_with_signal(const JobOptions& options) {
  DeviceJob job(options);
  constexpr std::size_t kRanges = kRounds * kThreads;
  const Lines src(job, kWords, kRanges), dst(job, kWords, kRanges), sig(job, 1, kRanges);
  run_grids(2, 1, kThreads, [&](int pe) {
    const Context ctx(job.handle(pe));
    const Scope scope;
    for (std::size_t round = 0; round < kRounds; ++round) {
      const std::size_t range = round * kThreads + static_cast<std::size_t>(group_of<Scope>());
      Word* from = src.of(job, pe, range);
      Word* signal = sig.of(job, pe, range);
      if (pe == 0) {
        fill(scope, from, kWords, range);
        ctx.put(scope, dst.of(job, pe, range), from, kWords, 1,
                round % 2 == 0 ? set(signal, 1) : add(signal, 1));
        spoil(scope, from, kWords);
      } else {
        LITMUS(ctx.wait_until(scope, signal, Cmp::kEq, Word{1}));
        LITMUS(is_filled(dst.of(job, pe, range), kWords, range));
      }
    }
  });
}

// get: overwrites dst after all threads are done with it; returns when all of it is there.
template <class Scope>
void get(const JobOptions& options) {
  DeviceJob job(options);
  constexpr std::size_t kRanges = kRounds * kThreads;
  const Lines src(job, kWords, kRanges), dst(job, kWords, kRanges);
  for (std::size_t range = 0; range < kRanges; ++range) {
    fill(Thread{}, src.of(job, 1, range), kWords, range);
    fill(Thread{}, dst.of(job, 0, range), kWords, 0);
  }
  run_grids(1, 1, kThreads, [&](int pe) {
    const Context ctx(job.handle(pe));
    const Scope scope;
    for (std::size_t round = 0; round < kRounds; ++round) {
      const std::size_t range = round * kThreads + static_cast<std::size_t>(group_of<Scope>());
      Word* to = dst.of(job, pe, range);
      LITMUS(is_filled(to, kWords, 0));
      ctx.get(scope, to, src.of(job, pe, range), kWords, 1);
      LITMUS(is_filled(to, kWords, range));
    }
  });
}

// The strided forms: the same promises, every second word.
template <class Scope>
void strided(const JobOptions& options) {
  DeviceJob job(options);
  constexpr std::size_t kRanges = kRounds * kThreads, kCount = 20;
  const Lines src(job, kCount, kRanges), dst(job, 2 * kCount, kRanges), back(job, kCount, kRanges);
  run_grids(1, 1, kThreads, [&](int pe) {
    const Context ctx(job.handle(pe));
    const Scope scope;
    for (std::size_t round = 0; round < kRounds; ++round) {
      const std::size_t range = round * kThreads + static_cast<std::size_t>(group_of<Scope>());
      Word* from = src.of(job, pe, range);
      Word* to = dst.of(job, pe, range);
      Word* got = back.of(job, pe, range);
      fill_for_neighbours(scope, from, kCount, range);
      ctx.iput(scope, to, from, 2, 1, kCount, 1);
      spoil(scope, from, kCount);
      ctx.quiet(scope);
      for (std::size_t i = 0; i < kCount; ++i) LITMUS(got[i] == 0);
      ctx.iget(scope, got, to, 1, 2, kCount, 1);
      LITMUS(is_filled(got, kCount, range));
    }
  });
}

constexpr std::size_t kPart = 9;  // words that a thread moves by itself

// The threads of my group, by their ranks in the block; each has a part of its own each round.
struct Mates {
  template <class Scope>
  explicit Mates(Scope scope)
      : first(dev::platform::thread_rank() - static_cast<unsigned>(scope.rank())),
        last(first + static_cast<unsigned>(scope.size()) - 1),
        next(dev::platform::thread_rank() == last ? first : dev::platform::thread_rank() + 1) {}
  bool all_filled(DeviceJob& job, const Lines& lines, int pe, std::size_t round) const {
    for (std::size_t t = round * kThreads + first; t <= round * kThreads + last; ++t)
      if (!is_filled(lines.of(job, pe, t), kPart, t)) return false;
    return true;
  }
  unsigned first, last, next;
};

// The leader has less to do, so it comes early to what the scope does next.
template <class Scope>
void put_alone(const Context& ctx, Scope scope, Word* src, Word* dst, std::size_t range) {
  fill(Thread{}, src, kPart, range);
  for (int repeat = scope.rank() == 0 ? 1 : 3; repeat > 0; --repeat)
    ctx.put_nbi(Thread{}, dst, src, kPart, 1);
}

// Threads put and get on their own, then quiet together: each may touch what any other moved, and
// a plain signal sent after it tells of all of it.
template <class Scope>
void nbi_then_quiet(const JobOptions& options) {
  DeviceJob job(options);
  constexpr std::size_t kRanges = kRounds * kThreads;
  const Lines src(job, kPart, kRanges), dst(job, kPart, kRanges), sig(job, 1, kRanges);
  const Lines far(job, kPart, kRanges), near(job, kPart, kRanges);
  for (std::size_t range = 0; range < kRanges; ++range)
    fill(Thread{}, far.of(job, 1, range), kPart, range);
  run_grids(2, 1, kThreads, [&](int pe) {
    const Context ctx(job.handle(pe));
    const Scope scope;
    const Mates mates(scope);
    for (std::size_t round = 0; round < kRounds; ++round) {
      forget_fences();
      const std::size_t mine = round * kThreads + dev::platform::thread_rank();
      Word* signal = sig.of(job, pe, round * kThreads + mates.first);
      if (pe == 0) {
        put_alone(ctx, scope, src.of(job, pe, mine), dst.of(job, pe, mine), mine);
        ctx.get_nbi(Thread{}, near.of(job, pe, mine), far.of(job, pe, mine), kPart, 1);
        ctx.quiet(scope);
        LITMUS(mates.all_filled(job, near, pe, round));
        spoil(Thread{}, src.of(job, pe, round * kThreads + mates.next), kPart);
        if (dev::platform::thread_rank() == mates.last) ctx.signal(set(signal, 1), 1);
      } else {
        LITMUS(ctx.wait_until(scope, signal, Cmp::kEq, Word{1}));
        LITMUS(mates.all_filled(job, dst, pe, round));
      }
    }
  });
}

// Threads put on their own, then fence together: a plain signal sent after it comes after all.
template <class Scope>
void nbi_then_fence(const JobOptions& options) {
  DeviceJob job(options);
  constexpr std::size_t kManyRounds = 4 * kRounds, kRanges = kManyRounds * kThreads;
  const Lines src(job, kPart, kRanges), dst(job, kPart, kRanges), sig(job, 1, kRanges);
  run_grids(2, 1, kThreads, [&](int pe) {
    const Context ctx(job.handle(pe));
    const Scope scope;
    const Mates mates(scope);
    for (std::size_t round = 0; round < kManyRounds; ++round) {
      forget_fences();
      const std::size_t mine = round * kThreads + dev::platform::thread_rank();
      Word* signal = sig.of(job, pe, round * kThreads + mates.first);
      if (pe == 0) {
        put_alone(ctx, scope, src.of(job, pe, mine), dst.of(job, pe, mine), mine);
        ctx.fence(scope);
        if (dev::platform::thread_rank() == mates.last) ctx.signal(add(signal, 1), 1);
      } else {
        LITMUS(ctx.wait_until(scope, signal, Cmp::kEq, Word{1}));
        LITMUS(mates.all_filled(job, dst, pe, round));
      }
    }
  });
}

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

// To run on a processor of its own; on a machine with one there is nothing to observe.
void stay_on_processor(int n) {
  cpu_set_t allowed, mine;
  sched_getaffinity(0, sizeof(allowed), &allowed);
  CPU_ZERO(&mine);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed) && n-- == 0) CPU_SET(cpu, &mine);
  if (CPU_COUNT(&mine) == 1) sched_setaffinity(0, sizeof(mine), &mine);
}

// Two PEs each put a word and then look for the other's: after quiet, at least one finds it. Many
// turns, for they must run at the same moment to miss each other; fewer on a busy machine.
void each_looks(const JobOptions& options) {
  DeviceJob job(options);
  constexpr Word kTurns = 20'000;
  constexpr std::size_t kApart = 16, kSets = 1024;  // cold lines make stores slow
  const Lines words(job, 2 * kApart, kSets);
  std::atomic<Word> arrived{0}, turns{kTurns};
  std::vector<unsigned char> found(2 * (kTurns + 1));
  const std::uint64_t end = dev::platform::clock_ns() + 5'000'000'000;
  run_grids(2, 1, 1, [&](int pe) {
    const Context ctx(job.handle(pe));
    const auto me = static_cast<std::size_t>(pe), other = 1 - me;
    stay_on_processor(pe);
    for (Word turn = 1; turn <= turns.load(std::memory_order_relaxed); ++turn) {
      forget_fences();
      if (pe == 0 && dev::platform::clock_ns() > end) turns.store(turn, std::memory_order_relaxed);
      arrived.fetch_add(1, std::memory_order_release);  // with the word about the last turn
      while (arrived.load(std::memory_order_acquire) < 2 * turn) dev::platform::relax();
      // Who came last is ahead by the time that news takes; some of these delays make up for it.
      for (Word delay = pe == 0 ? turn % 256 : turn / 256 % 256; delay > 0; --delay)
        asm volatile("");
      Word* const word = words.of(job, pe, turn % kSets);
      ctx.p(word + kApart * me, turn, 1 - pe);
      if (turn % 2 == 0) {
        ctx.quiet(Thread{});
      } else {
        ctx.quiet_pe(1 - pe);
      }
      found[2 * turn + me] = ctx.g(word + kApart * other, pe) >= turn;
    }
  });
  for (Word turn = 1; turn <= turns.load(); ++turn) LITMUS(found[2 * turn] || found[2 * turn + 1]);
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
      // Written by me, read by my neighbour after the meeting; two sets, so that one meeting a
      // round is enough.
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

// Many producers, a ring of two: credit, laps, cells.
void small_ring(JobOptions options) {
  options.ring_capacity = 2;
  DeviceJob job(options);
  constexpr unsigned kBlocks = 2, kProducers = kBlocks * kThreads, kEach = 10;
  const Lines src(job, 16, kProducers), dst(job, 16, kProducers), words(job, kEach, kProducers);
  const Lines sum(job, 1, 3);
  Word* const signalled = sum.of(job, 0);
  Word* const counted = signalled + 1;
  std::atomic<Word> tickets{0};
  run_grids(1, kBlocks, kThreads, [&](int pe) {
    const Context ctx(job.handle(pe));
    const unsigned me = dev::platform::block_rank() * kThreads + dev::platform::thread_rank();
    for (Word i = 0; i < kEach; ++i) {
      ctx.signal(add(signalled, i + 1), 1);
      ctx.p(words.of(job, pe, me) + i, mark(me, i), 1);
    }
    fill(Thread{}, src.of(job, pe, me), 16, me);
    ctx.put(Thread{}, dst.of(job, pe, me), src.of(job, pe, me), 16, 1);
    spoil(Thread{}, src.of(job, pe, me), 16);
    tickets.fetch_or(Word{1} << ctx.atomic_fetch_inc(counted, 1), std::memory_order_relaxed);
    ctx.quiet(Thread{});
    for (Word i = 0; i < kEach; ++i) LITMUS(ctx.g(words.of(job, pe, me) + i, 1) == mark(me, i));
  });
  LITMUS(tickets.load() == (Word{1} << kProducers) - 1);
  for (unsigned p = 0; p < kProducers; ++p) LITMUS(is_filled(dst.of(job, 1, p), 16, p));
  LITMUS(*sum.of(job, 1) == kProducers * kEach * (kEach + 1) / 2);
}

// Producers that wait for nothing but room: only credit keeps them from what the host still reads.
void credit_only(JobOptions options) {
  options.ring_capacity = 2;
  DeviceJob job(options);
  const Lines sum(job, 1, 1);
  run_grids(1, 1, kThreads, [&](int pe) {
    const Context ctx(job.handle(pe));
    for (int i = 0; i < 20; ++i) ctx.signal(add(sum.of(job, pe), 1), 1);
  });
  const Context last(job.handle(0));
  last.quiet(Thread{});
  LITMUS(*sum.of(job, 1) == kThreads * 20);
}

// Each thread asks once and then does nothing that could order its reading by accident.
void one_word_each(JobOptions options) {
  options.ring_capacity = 2;
  DeviceJob job(options);
  const Lines count(job, 1, 1);
  std::atomic<Word> seen{0};
  run_grids(1, 4, kThreads, [&](int pe) {
    const Context ctx(job.handle(pe));
    seen.fetch_or(Word{1} << ctx.atomic_fetch_inc(count.of(job, pe), 1), std::memory_order_relaxed);
  });
  LITMUS(seen.load() == (Word{1} << 4 * kThreads) - 1);
}

// Values that a slot's own word carries: nobody writes it before the host has read it.
void carried_words(JobOptions options) {
  options.ring_capacity = 2;
  DeviceJob job(options);
  const Lines words(job, 16, kThreads);
  run_grids(1, 1, kThreads, [&](int pe) {
    const Context ctx(job.handle(pe));
    const std::size_t me = dev::platform::thread_rank();
    for (std::size_t i = 0; i < 16; ++i) ctx.p(words.of(job, pe, me) + i, mark(me, i), 1);
  });
  const Context last(job.handle(0));
  last.quiet(Thread{});
  for (std::size_t t = 0; t < kThreads; ++t) LITMUS(is_filled(words.of(job, 1, t), 16, t));
}

// Who gave up waiting for a word leaves a cell that the host still writes to: nobody else uses it
// before that.
void abandoned_words(JobOptions options) {
  options.ring_capacity = 2;
  options.deadline_ns = 1;
  DeviceJob job(options);
  constexpr std::size_t kEach = 100;
  const Lines words(job, kEach, kThreads), count(job, 1, 1);
  run_grids(1, 1, kThreads, [&](int pe) {
    const Context ctx(job.handle(pe));
    const std::size_t me = dev::platform::thread_rank();
    for (std::size_t i = 0; i < kEach; ++i) {
      ctx.atomic_fetch_inc(count.of(job, pe), 1);
      ctx.p(words.of(job, pe, me) + i, mark(me, i), 1);
    }
  });
  job.stop_proxies();
  for (std::size_t t = 0; t < kThreads; ++t)
    for (std::size_t i = 0; i < kEach; ++i) {
      const Word word = words.of(job, 1, t)[i];
      LITMUS(word == 0 || word == mark(t, i));
    }
}

// Threads fail one after the other; the host takes every record whole.
void faults(JobOptions options) {
  forget_fences();  // the thread that takes them has fenced in other programs
  options.deadline_ns = 1;
  options.proxy = false;
  DeviceJob job(options);
  const Lines words(job, 1, kThreads);
  std::atomic<int> running{kThreads};
  std::thread kernel([&] {
    run_grids(1, 1, kThreads, [&](int pe) {
      const Context ctx(job.handle(pe));
      const Word me = dev::platform::thread_rank();
      for (int i = 0; i < 50; ++i) {
        LITMUS(!ctx.wait_until(Thread{}, words.of(job, pe, me), Cmp::kEq, me + 100));
        sched_yield();
      }
      running.fetch_sub(1, std::memory_order_relaxed);
    });
  });
  int taken = 0;
  FaultRecord record;
  while (running.load(std::memory_order_relaxed) > 0) {
    if (!job.take_fault(0, &record)) {
      sched_yield();
      continue;
    }
    ++taken;
    LITMUS(record.code == static_cast<std::uint32_t>(FaultCode::kWaitTimeout));
    LITMUS(record.wanted == record.thread + 100 && record.seen == 0);
    LITMUS(job.at<Word>(0, record.offset) == words.of(job, 0, record.thread));
    LITMUS(std::strcmp(record.where, "wait_until") == 0);
  }
  kernel.join();
  LITMUS(taken > 0);
}

// A range that the host adopts while a kernel looks for it is found whole, or not yet.
void adopted_meanwhile(JobOptions options) {
  forget_fences();
  options.npes = 1;
  DeviceJob job(options);
  std::vector<Word> own(4);
  AdoptedRange range;
  job.state(0).adopted = &range;
  std::thread host([&] {
    range = {reinterpret_cast<const std::byte*>(own.data()), own.size() * sizeof(Word), 4096};
    __atomic_store_n(&job.state(0).adopted_count, 1, __ATOMIC_RELEASE);  // as Job::show_adopted
  });
  run_grids(1, 1, 1, [&](int pe) {
    const DeviceContext handle = job.handle(pe);
    std::uint64_t offset = 0;
    while ((offset = dev::adopted_offset(handle, &own[1], sizeof(Word))) == kNoHeapOffset)
      sched_yield();
    LITMUS(offset == 4096 + sizeof(Word));
  });
  host.join();
}

void run_all(const JobOptions& options) {
  put_with_signal<Thread>(options);
  put_with_signal<Warp>(options);
  put_with_signal<Block>(options);
  get<Warp>(options);
  get<Block>(options);
  strided<Warp>(options);
  strided<Block>(options);
  nbi_then_quiet<Warp>(options);
  nbi_then_quiet<Block>(options);
  nbi_then_fence<Warp>(options);
  nbi_then_fence<Block>(options);
  told_in_order(options);
  learned(options);
  wait_on_many(options);
  waits_for_later(options);
}

}  // namespace
}  // namespace weft::litmus

int main(int argc, char** argv) {
  using namespace weft::litmus;
  limit_processor_time(30);
  const auto seed = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 1;
  weft::test::JobOptions mapped;
  mapped.seed = seed;
  mapped.deadline_ns = kNoSoonerThan;
  weft::test::JobOptions by_ring = mapped;
  by_ring.mapped = false;

  meetings<Warp>(mapped);
  meetings<Block>(mapped);
  run_all(mapped);
  run_all(by_ring);
  small_ring(by_ring);
  credit_only(by_ring);
  one_word_each(by_ring);
  carried_words(by_ring);
  abandoned_words(by_ring);
  faults(mapped);
  adopted_meanwhile(mapped);
  each_looks(mapped);
  return 0;
}
