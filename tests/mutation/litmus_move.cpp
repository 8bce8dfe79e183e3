// Litmus programs of moving data: put with a signal, get, the strided forms, and what quiet and
// fence cover. Exit status 0: every promise was kept.
#include <weft/dev/tile.hpp>

#include "tests/mutation/litmus.hpp"

namespace weft::litmus {
namespace {

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

constexpr std::size_t kCount = 20;

struct Whole {
  template <class Scope>
  static void put(const Context& ctx, Scope scope, Word* to, const Word* from) {
    ctx.put(scope, to, from, kCount, 1);
  }
  template <class Scope>
  static void get(const Context& ctx, Scope scope, Word* to, const Word* from) {
    ctx.get(scope, to, from, kCount, 1);
  }
};
// Every second word of a range.
struct Strided {
  template <class Scope>
  static void put(const Context& ctx, Scope scope, Word* to, const Word* from) {
    ctx.iput(scope, to, from, 2, 1, kCount, 1);
  }
  template <class Scope>
  static void get(const Context& ctx, Scope scope, Word* to, const Word* from) {
    ctx.iget(scope, to, from, 1, 2, kCount, 1);
  }
};
struct Tiled {  // complete behind quiet
  template <class Scope>
  static void put(const Context& ctx, Scope scope, Word* to, const Word* from) {
    dev::put_tile_nbi(ctx, scope, to, from, dev::TileShape<2>{{4, 5}, {2, 8}, {1, 4}}, 1);
    ctx.quiet(scope);
  }
  template <class Scope>
  static void get(const Context& ctx, Scope scope, Word* to, const Word* from) {
    dev::get_tile_nbi(ctx, scope, to, from, dev::TileShape<2>{{4, 5}, {1, 4}, {2, 8}}, 1);
    ctx.quiet(scope);
  }
};

// Words that go there and back, one way after the other.
template <class Scope, class How>
void there_and_back(const JobOptions& options) {
  DeviceJob job(options);
  constexpr std::size_t kRanges = kRounds * kThreads;
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
      How::put(ctx, scope, to, from);
      spoil(scope, from, kCount);
      ctx.quiet(scope);
      for (std::size_t i = 0; i < kCount; ++i) LITMUS(got[i] == 0);
      How::get(ctx, scope, got, to);
      LITMUS(is_filled(got, kCount, range));
    }
  });
}

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

void run_all(const JobOptions& options) {
  put_with_signal<Thread>(options);
  put_with_signal<Warp>(options);
  put_with_signal<Block>(options);
  get<Warp>(options);
  get<Block>(options);
  there_and_back<Warp, Whole>(options);
  there_and_back<Block, Whole>(options);
  there_and_back<Warp, Strided>(options);
  there_and_back<Block, Strided>(options);
  there_and_back<Warp, Tiled>(options);
  there_and_back<Block, Tiled>(options);
  nbi_then_quiet<Warp>(options);
  nbi_then_quiet<Block>(options);
  nbi_then_fence<Warp>(options);
  nbi_then_fence<Block>(options);
}

}  // namespace
}  // namespace weft::litmus

int main(int argc, char** argv) {
  using namespace weft::litmus;
  const auto [mapped, by_ring] = begin(argc, argv);
  run_all(mapped);
  run_all(by_ring);
  return 0;
}
