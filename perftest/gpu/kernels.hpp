// The kernels that weft-perf gpu times: each operation as a program calls it, and its floor, the
// same with bare loads and stores. Kernels repeat it `iters` times.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device.hpp>

namespace weft::perf::gpu {

using Word = std::uint64_t;

struct alignas(16) Vector {
  Word word[2];
};

WEFT_DEVICE Word load_relaxed(const Word* word) {
  Word value;
  asm volatile("ld.relaxed.sys.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}
// Acquires what a relaxed load has seen, by the fence that does nothing else (PTX 8.6), as Weft's
// waits do.
WEFT_DEVICE void acquire_seen() { asm volatile("fence.acquire.sys;" : : : "memory"); }
WEFT_DEVICE void store_relaxed(Word* word, Word value) {
  asm volatile("st.relaxed.sys.u64 [%0], %1;" : : "l"(word), "l"(value) : "memory");
}
WEFT_DEVICE void store_release(Word* word, Word value) {
  asm volatile("st.release.sys.u64 [%0], %1;" : : "l"(word), "l"(value) : "memory");
}

// My block's part of a transfer, in vectors.
struct Part {
  std::size_t first, count;
};
WEFT_DEVICE Part my_part(std::size_t vectors) {
  const std::size_t each = (vectors + dev::grid_size() - 1) / dev::grid_size();
  const std::size_t first = each * dev::block_rank();
  if (first >= vectors) return {vectors, 0};
  return {first, vectors - first < each ? vectors - first : each};
}

// The scope's threads copy, several vectors of each in flight.
template <class Scope>
WEFT_DEVICE void bare_copy(Scope scope, Vector* to, const Vector* from, std::size_t count) {
  constexpr std::size_t kAtOnce = 8;
  const std::size_t step = static_cast<std::size_t>(scope.size());
  std::size_t at = static_cast<std::size_t>(scope.rank());
  for (; at + (kAtOnce - 1) * step < count; at += kAtOnce * step) {
    Vector held[kAtOnce];
    for (std::size_t k = 0; k < kAtOnce; ++k) held[k] = from[at + k * step];
    for (std::size_t k = 0; k < kAtOnce; ++k) to[at + k * step] = held[k];
  }
  for (; at < count; at += step) to[at] = from[at];
}

// All blocks move one range, each its part.
struct Move {
  DeviceContext handle;
  Vector *dst, *src;
  std::size_t vectors;
  int peer, iters;
  bool gets;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    const dev::Block block;
    const Part part = my_part(vectors);
    for (int i = 0; i < iters; ++i) {
      if (gets)
        ctx.get_nbi(block, dst + part.first, src + part.first, part.count, peer);
      else
        ctx.put_nbi(block, dst + part.first, src + part.first, part.count, peer);
    }
    ctx.quiet(block);
  }
};
// The same by the engine for bulk copies.
struct MoveInBulk {
  Move move;
  unsigned stage_bytes;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(move.handle);
    const dev::Bulk block(dev::Block{}, dev::shared<std::byte>(), stage_bytes);
    const Part part = my_part(move.vectors);
    for (int i = 0; i < move.iters; ++i) {
      if (move.gets)
        ctx.get_nbi(block, move.dst + part.first, move.src + part.first, part.count, move.peer);
      else
        ctx.put_nbi(block, move.dst + part.first, move.src + part.first, part.count, move.peer);
    }
    ctx.quiet(block);
  }
};
struct BareMove {
  Move move;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(move.handle);
    const dev::Block block;
    const Part part = my_part(move.vectors);
    Vector* to = (move.gets ? move.dst : ctx.ptr(move.dst, move.peer)) + part.first;
    const Vector* from = (move.gets ? ctx.ptr(move.src, move.peer) : move.src) + part.first;
    for (int i = 0; i < move.iters; ++i) bare_copy(block, to, from, part.count);
    ctx.quiet(block);
  }
};

// PE 0 and PE 1 take turns: some bytes, then a signal that the other waits for.
template <class Scope>
struct PingPong {
  DeviceContext handle;
  Word *word, first;
  Vector *dst, *src;
  std::size_t vectors;  // 0: the signal alone
  int iters;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    const Scope scope;
    for (Word i = first; i < first + static_cast<Word>(iters); ++i) {
      if (ctx.pe() == 1) ctx.wait_until(scope, word, Cmp::kGe, i);
      if (vectors != 0)
        ctx.put(scope, dst, src, vectors, 1 - ctx.pe(), set(word, i));
      else if (scope.rank() == 0)
        ctx.signal(set(word, i), 1 - ctx.pe());
      if (ctx.pe() == 0) ctx.wait_until(scope, word, Cmp::kGe, i);
    }
  }
};
template <class Scope>
struct BarePingPong {
  PingPong<Scope> game;
  WEFT_DEVICE void wait(Word value) const {
    const Scope scope;
    if (scope.rank() == 0) {
      while (load_relaxed(game.word) < value) {
      }
      if (game.vectors != 0) acquire_seen();
    }
    scope.sync();
  }
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(game.handle);
    const Scope scope;
    const int peer = 1 - ctx.pe();
    Word* const there = ctx.ptr(game.word, peer);
    Vector* const to = ctx.ptr(game.dst, peer);
    for (Word i = game.first; i < game.first + static_cast<Word>(game.iters); ++i) {
      if (ctx.pe() == 1) wait(i);
      for (std::size_t at = static_cast<std::size_t>(scope.rank()); at < game.vectors;
           at += static_cast<std::size_t>(scope.size()))
        to[at] = game.src[at];
      scope.sync();
      if (scope.rank() == 0) {
        if (game.vectors == 0)
          store_relaxed(there, i);
        else
          store_release(there, i);
      }
      if (ctx.pe() == 0) wait(i);
    }
  }
};

// One put after the other, each complete before the next.
template <class Scope>
struct PutLatency {
  DeviceContext handle;
  Vector *dst, *src;
  std::size_t vectors;
  int peer, iters;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    const Scope scope;
    const Part part = my_part(vectors);
    for (int i = 0; i < iters; ++i) {
      ctx.put(scope, dst + part.first, src + part.first, part.count, peer);
      ctx.quiet(scope);
    }
  }
};
template <class Scope>
struct BarePutLatency {
  PutLatency<Scope> put;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(put.handle);
    const Scope scope;
    const Part part = my_part(put.vectors);
    Vector* const to = ctx.ptr(put.dst, put.peer) + part.first;
    const Vector* const from = put.src + part.first;
    for (int i = 0; i < put.iters; ++i) {
      bare_copy(scope, to, from, part.count);
      __threadfence_system();
      scope.sync();
    }
  }
};

// The put that ends a start-up: a word to the next PE.
struct FirstPut {
  DeviceContext handle;
  Word* word;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    ctx.put(dev::Thread{}, word, word + 1, 1, (ctx.pe() + 1) % ctx.npes());
    ctx.quiet(dev::Thread{});
  }
};

struct FetchAdd {
  DeviceContext handle;
  Word* word;
  int peer, iters;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    Word seen = 0;  // each waits for the one before
    for (int i = 0; i < iters; ++i) seen = ctx.atomic_fetch_add(word, Word{1} + (seen >> 63), peer);
  }
};
struct BareFetchAdd {
  FetchAdd add;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(add.handle);
    auto* const there = reinterpret_cast<unsigned long long*>(ctx.ptr(add.word, add.peer));
    unsigned long long seen = 0;  // each waits for the one before
    for (int i = 0; i < add.iters; ++i) seen = atomicAdd_system(there, 1ull + (seen >> 63));
  }
};

template <bool kBarriers>
struct Meet {
  DeviceContext handle;
  Team team;
  int iters;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    const dev::Block block;
    for (int i = 0; i < iters; ++i) {
      if constexpr (kBarriers)
        dev::barrier(ctx, block, team);
      else
        dev::sync(ctx, block, team);
    }
  }
};
// One flag from everybody to everybody, one thread for each peer; a release and an acquire, since a
// barrier without is none.
struct BareMeet {
  DeviceContext handle;
  Word *flags, first;
  int iters;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    const int peer = dev::Block().rank();
    for (Word i = first; i < first + static_cast<Word>(iters); ++i) {
      dev::Block().sync();
      if (peer < ctx.npes() && peer != ctx.pe()) {
        store_release(ctx.ptr(flags + ctx.pe(), peer), i);
        while (load_relaxed(flags + peer) < i) {
        }
        acquire_seen();
      }
      dev::Block().sync();
    }
  }
};

template <bool kReduces>
struct Collective {
  DeviceContext handle;
  Team team;
  Word* dst;
  const Word* src;
  std::size_t count;
  int iters;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    const dev::Block block;
    for (int i = 0; i < iters; ++i) {
      if constexpr (kReduces)
        dev::reduce<ReduceOp::kSum>(ctx, block, team, dst, src, count);
      else
        dev::fcollect(ctx, block, team, dst, src, count);
    }
  }
};
// Each word goes to everybody with a flag in each half, and everybody looks for it; nothing else.
// A thread that has all words of a round knows that all have taken what it sent in the one before:
// two places are enough.
struct BareExchange {
  DeviceContext handle;
  Vector* place;
  Word first;
  Word* dst;
  const Word* src;
  std::size_t count;
  int iters;
  bool sums;
  static std::size_t packets(std::size_t bytes, int npes) {
    return 2 * static_cast<std::size_t>(npes) * (bytes / sizeof(Word));
  }
  WEFT_DEVICE void operator()() const {
    for (Word i = first; i < first + static_cast<Word>(iters); ++i) {
      for (auto at = static_cast<std::size_t>(dev::thread_rank()); at < count;
           at += dev::block_size())
        exchange(at, i);
      dev::Block().sync();
    }
  }

 private:
  WEFT_DEVICE void exchange(std::size_t at, Word round) const {
    const dev::Context ctx(handle);
    const int n = ctx.npes(), me = ctx.pe();
    const Word word = src[at], flag = round << 32;
    Vector* const places = place + (round % 2) * static_cast<Word>(n) * count + at;
    for (int i = 1; i < n; ++i) {
      const int to = me + i < n ? me + i : me + i - n;
      send(ctx.ptr(places + static_cast<std::size_t>(me) * count, to), flag | (word & 0xffffffffu),
           flag | (word >> 32));
    }
    Word sum = 0;
    for (int from = 0; from < n; ++from) {
      const Word its =
          from == me ? word : take(places + static_cast<std::size_t>(from) * count, round);
      sum += its;
      if (!sums) dst[static_cast<std::size_t>(from) * count + at] = its;
    }
    if (sums) dst[at] = sum;
  }
  static WEFT_DEVICE void send(Vector* to, Word low, Word high) {
    asm volatile("st.relaxed.sys.v2.u64 [%0], {%1, %2};"
                 :
                 : "l"(to), "l"(low), "l"(high)
                 : "memory");
  }
  static WEFT_DEVICE Word take(const Vector* from, Word round) {
    const auto flag = static_cast<std::uint32_t>(round);
    Word low, high;
    do {
      asm volatile("ld.relaxed.sys.v2.u64 {%0, %1}, [%2];"
                   : "=l"(low), "=l"(high)
                   : "l"(from)
                   : "memory");
    } while (static_cast<std::uint32_t>(low >> 32) != flag ||
             static_cast<std::uint32_t>(high >> 32) != flag);
    return (low & 0xffffffffu) | high << 32;
  }
};

}  // namespace weft::perf::gpu
