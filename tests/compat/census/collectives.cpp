// 9.9: collectives over a team and over an active set, reductions and scans.
#include <cstring>

#include <fmt/format.h>

#include "tests/compat/census/census.hpp"

namespace census {
namespace {

// A collective of all PEs: what it does is in the closure.
using Collective = std::function<int(void* dst, const void* src, std::size_t count)>;

std::vector<std::byte> elements(const Subject& s, int pe, std::size_t count, std::size_t index) {
  std::vector<std::byte> out((count + 1) * s.element.size, kPoison);
  auto random = data(pe);
  random.discard(500 * index);
  s.element.fill(out.data(), count, random);
  return out;
}
std::size_t bytes_of(const Subject& s, std::size_t count) { return count * s.element.size; }

// One symmetric pSync and work array for each call of a round, so that none is in use twice.
struct Work {
  long* sync;
  void* space;
};
Work work(std::size_t index) {
  static long* const sync = [] {
    auto* words =
        static_cast<long*>(shmem_malloc(std::size(kCounts) * SHMEM_SYNC_SIZE * sizeof(long)));
    for (std::size_t i = 0; i < std::size(kCounts) * SHMEM_SYNC_SIZE; ++i)
      words[i] = SHMEM_SYNC_VALUE;
    shmem_barrier_all();
    return words;
  }();
  static void* const space = shmem_malloc(16 * (64 + SHMEM_REDUCE_MIN_WRKDATA_SIZE));
  return {sync + index * SHMEM_SYNC_SIZE, space};
}

std::size_t index_of_call = 0;  // 0, 1, ... in a round: a routine's own counter

// Counts small enough that a block for every PE fits an arena.
constexpr std::size_t kSmall[] = {0, 1, 7, 33};
constexpr std::size_t kWidest = 16, kMostPes = 16;
static_assert(33 * 3 * kWidest * kMostPes <= kArena);

// `wanted(me, count)` is what my dst must be; `src_count(count)` how many elements I give.
struct Model {
  std::function<std::size_t(std::size_t count, int pe)> gives;
  std::function<std::vector<std::byte>(std::size_t count, std::size_t index)> wanted;
  bool in_place = false;  // allowed
};

void check(const Subject& s, const Collective& collective, const Model& model) {
  for (index_of_call = 0; index_of_call < std::size(kSmall); ++index_of_call) {
    const std::size_t count = kSmall[index_of_call];
    begin();
    const std::size_t given = model.gives(count, me());
    std::memcpy(source(), elements(s, me(), given, index_of_call).data(), bytes_of(s, given));
    const bool in_place = model.in_place && round() % 2 == 0;
    std::byte* const dst = in_place ? source() : target();
    expect(s, collective(dst, source(), count) == 0, "returned a failure");
    const auto wanted = model.wanted(count, index_of_call);
    expect_elements(s, dst, wanted.data(), wanted.size() / s.element.size - 1,
                    in_place ? "in place" : "result");
    if (!in_place)
      expect_elements(s, source(), elements(s, me(), given, index_of_call).data(), given, "source");
  }
}

std::size_t same(std::size_t count, int) { return count; }
std::size_t block_each(std::size_t count, int) { return count * static_cast<std::size_t>(npes()); }

int root() { return static_cast<int>(round()) % npes(); }

// Blocks of all PEs, one behind the other, and an untouched element.
template <class Block>
std::vector<std::byte> all_blocks(const Subject& s, Block block) {
  std::vector<std::byte> out;
  for (int pe = 0; pe < npes(); ++pe) {
    const std::vector<std::byte> one = block(pe);
    out.insert(out.end(), one.begin(), one.end());
  }
  out.resize(out.size() + s.element.size, kPoison);
  return out;
}
std::vector<std::byte> first(std::vector<std::byte> bytes, std::size_t count) {
  bytes.resize(count);
  return bytes;
}

void check_broadcast(const Subject& s, const Collective& call, bool root_is_written) {
  check(s, call, {same, [&s, root_is_written](std::size_t count, std::size_t index) {
                    if (me() == root() && !root_is_written)
                      return std::vector<std::byte>(bytes_of(s, count + 1), kPoison);
                    return elements(s, root(), count, index);
                  }});
}
void check_fcollect(const Subject& s, const Collective& call) {
  check(s, call, {same, [&s](std::size_t count, std::size_t index) {
                    return all_blocks(s, [&](int pe) {
                      return first(elements(s, pe, count, index), bytes_of(s, count));
                    });
                  }});
}
// PE i gives count + i elements, and every third one none.
std::size_t own_count(std::size_t count, int pe) {
  return pe % 3 == 1 ? 0 : count + static_cast<std::size_t>(pe);
}
void check_collect(const Subject& s, const Collective& call) {
  check(s, call, {own_count, [&s](std::size_t count, std::size_t index) {
                    return all_blocks(s, [&](int pe) {
                      const std::size_t given = own_count(count, pe);
                      return first(elements(s, pe, given, index), bytes_of(s, given));
                    });
                  }});
}
void check_alltoall(const Subject& s, const Collective& call) {
  check(s, call, {block_each, [&s](std::size_t count, std::size_t index) {
                    return all_blocks(s, [&](int pe) {
                      const auto all = elements(s, pe, block_each(count, pe), index);
                      const std::size_t at = bytes_of(s, count * static_cast<std::size_t>(me()));
                      return std::vector<std::byte>(all.data() + at,
                                                    all.data() + at + bytes_of(s, count));
                    });
                  }});
}

// Strides of a round: 1 to 3.
std::size_t dst_stride() { return 1 + round() % 3; }
std::size_t src_stride() { return 1 + round() / 3 % 3; }

void check_alltoalls(const Subject& s, const Collective& call) {
  for (index_of_call = 0; index_of_call < std::size(kSmall); ++index_of_call) {
    const std::size_t count = kSmall[index_of_call];
    begin();
    const std::size_t to = dst_stride(), from = src_stride(), size = s.element.size;
    const auto all = static_cast<std::size_t>(npes()) * count;
    std::memcpy(source(), elements(s, me(), all * from, index_of_call).data(),
                bytes_of(s, all * from));
    expect(s, call(target(), source(), count) == 0, "returned a failure");
    for (int pe = 0; pe < npes(); ++pe) {
      const auto given = elements(s, pe, all * from, index_of_call);
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t mine_at = (static_cast<std::size_t>(me()) * count + i) * from;
        const std::size_t at = (static_cast<std::size_t>(pe) * count + i) * to;
        if (!s.element.equal(target() + at * size, &given[mine_at * size]))
          return fail(
              s, fmt::format("element {} from PE {} is wrong; strides {} and {}", i, pe, to, from));
        if (to > 1 && !is_poison(target() + (at + 1) * size, size))
          return fail(s, fmt::format("it wrote between elements, stride {}", to));
      }
    }
  }
}

// The elements of PEs first..last, combined in this order.
std::vector<std::byte> folded(const Subject& s, Operator op, int last, std::size_t count,
                              std::size_t index) {
  auto sum = elements(s, 0, count, index);
  for (int pe = 1; pe <= last; ++pe) {
    const auto next = elements(s, pe, count, index);
    for (std::size_t i = 0; i < count; ++i)
      s.element.combine(&sum[i * s.element.size], &next[i * s.element.size], op);
  }
  return sum;
}
void check_reduce(const Subject& s, const Collective& call, Operator op) {
  check(s, call,
        {same,
         [&s, op](std::size_t count, std::size_t index) {
           return folded(s, op, npes() - 1, count, index);
         },
         true});
}
void check_scan(const Subject& s, const Collective& call, bool inclusive) {
  check(s, call,
        {same,
         [&s, inclusive](std::size_t count, std::size_t index) {
           const int last = inclusive ? me() : me() - 1;
           if (last >= 0) return folded(s, Operator::kSum, last, count, index);
           std::vector<std::byte> zeros(bytes_of(s, count + 1));  // all types: 0
           poison(&zeros[bytes_of(s, count)], s.element.size);
           return zeros;
         },
         true});
}

// --- routines as calls on bytes -----------------------------------------------------------------
// f(team, dst, src, count)
template <class T, class F>
Collective over_team(F f) {
  return [f](void* dst, const void* src, std::size_t count) {
    return f(SHMEM_TEAM_WORLD, static_cast<T*>(dst), static_cast<const T*>(src), count);
  };
}
// f(dst, src, count, start, log2 of the stride, size, pSync)
template <class F>
Collective over_set(F f) {
  return [f](void* dst, const void* src, std::size_t count) {
    f(dst, src, count, 0, 0, npes(), work(index_of_call).sync);
    return 0;
  };
}

template <class T, class F>
void broadcast(const Subject& s, F f) {
  check_broadcast(
      s,
      [f](void* dst, const void* src, std::size_t count) {
        return f(SHMEM_TEAM_WORLD, static_cast<T*>(dst), static_cast<const T*>(src), count, root());
      },
      true);
}
template <class T, class F>
void set_broadcast(const Subject& s, F f) {
  check_broadcast(
      s,
      [f](void* dst, const void* src, std::size_t count) {
        f(dst, src, count, root(), 0, 0, npes(), work(index_of_call).sync);
        return 0;
      },
      false);
}
template <class T, class F>
void fcollect(const Subject& s, F f) {
  check_fcollect(s, over_team<T>(f));
}
template <class T, class F>
void set_fcollect(const Subject& s, F f) {
  check_fcollect(s, over_set(f));
}
Collective with_own_count(const Collective& call) {
  return [call](void* dst, const void* src, std::size_t count) {
    return call(dst, src, own_count(count, me()));
  };
}
template <class T, class F>
void collect(const Subject& s, F f) {
  check_collect(s, with_own_count(over_team<T>(f)));
}
template <class T, class F>
void set_collect(const Subject& s, F f) {
  check_collect(s, with_own_count(over_set(f)));
}
template <class T, class F>
void alltoall(const Subject& s, F f) {
  check_alltoall(s, over_team<T>(f));
}
template <class T, class F>
void set_alltoall(const Subject& s, F f) {
  check_alltoall(s, over_set(f));
}
template <class T, class F>
void alltoalls(const Subject& s, F f) {
  check_alltoalls(s, [f](void* dst, const void* src, std::size_t count) {
    return f(SHMEM_TEAM_WORLD, static_cast<T*>(dst), static_cast<const T*>(src),
             static_cast<std::ptrdiff_t>(dst_stride()), static_cast<std::ptrdiff_t>(src_stride()),
             count);
  });
}
template <class T, class F>
void set_alltoalls(const Subject& s, F f) {
  check_alltoalls(s, [f](void* dst, const void* src, std::size_t count) {
    f(dst, src, static_cast<std::ptrdiff_t>(dst_stride()),
      static_cast<std::ptrdiff_t>(src_stride()), count, 0, 0, npes(), work(index_of_call).sync);
    return 0;
  });
}

#define REDUCTION(name, op)                                                                      \
  template <class T, class F>                                                                    \
  void name##_reduce(const Subject& s, F f) {                                                    \
    check_reduce(s, over_team<T>(f), Operator::op);                                              \
  }                                                                                              \
  template <class T, class F>                                                                    \
  void name##_to_all(const Subject& s, F f) {                                                    \
    const auto call = [f](void* dst, const void* src, std::size_t count) {                       \
      const Work with = work(index_of_call);                                                     \
      f(static_cast<T*>(dst), static_cast<const T*>(src), static_cast<int>(count), 0, 0, npes(), \
        static_cast<T*>(with.space), with.sync);                                                 \
      return 0;                                                                                  \
    };                                                                                           \
    check_reduce(s, call, Operator::op);                                                         \
  }
REDUCTION(sum, kSum)
REDUCTION(prod, kProd)
REDUCTION(min, kMin)
REDUCTION(max, kMax)
REDUCTION(and, kAnd)
REDUCTION(or, kOr)
REDUCTION(xor, kXor)
#undef REDUCTION

template <class T, class F>
void sum_inscan(const Subject& s, F f) {
  check_scan(s, over_team<T>(f), true);
}
template <class T, class F>
void sum_exscan(const Subject& s, F f) {
  check_scan(s, over_team<T>(f), false);
}

}  // namespace

void check_collectives() {
#define SHMEM_ROUTINE(family, type, bytes, context, name) \
  family<type>(Subject{#name, element_of<type, bytes>()}, context(name));
#include <collectives.inc>
#undef SHMEM_ROUTINE
}

}  // namespace census
