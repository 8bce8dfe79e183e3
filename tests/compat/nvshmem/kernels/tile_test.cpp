// Tiles at every scope, each element compared with what the tensors say; what lies between and
// around them must stay.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <nvshmem/tile.hpp>

#include "tests/compat/nvshmem/kernels/calls.hpp"
#include "tests/support/random.hpp"

namespace weft::test {
namespace {

using namespace nvshmem::kernels;
using namespace nvshmem::kernels::nvshmemx;

class NvshmemTileTest : public ::testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Ways, NvshmemTileTest, ::testing::ValuesIn(kWays), way_name);

constexpr int kPes = 4;
constexpr unsigned kTileThreads = 20;  // a warpgroup and a short one
constexpr int kTileScopes = 4;
constexpr std::size_t kRoom = 16384;
constexpr float kPoison = -77;

#define WEFT_UNPACKED(...) __VA_ARGS__
// 0: thread, 1: warp, 2: warpgroup, 3: block.
#define WEFT_TILE(scope, stem, types, ...)                             \
  ((scope) == 0   ? stem<WEFT_UNPACKED types>(__VA_ARGS__)             \
   : (scope) == 1 ? stem##_warp<WEFT_UNPACKED types>(__VA_ARGS__)      \
   : (scope) == 2 ? stem##_warpgroup<WEFT_UNPACKED types>(__VA_ARGS__) \
                  : stem##_block<WEFT_UNPACKED types>(__VA_ARGS__))

// The first thread, warp or warpgroup of a block, or all of it.
bool calls_tile(int scope) {
  const unsigned sizes[] = {1, cpu::kWarpSize, cpu::kWarpgroupSize, kTileThreads};
  return dev::thread_rank() < sizes[scope];
}

// Two dimensions, all known at run time only.
using Form = Layout<shape<int, int>, stride<std::int64_t, std::int64_t>>;
using Bound = shape<int, int>;

Form form_of(int rows, int columns, std::int64_t down, std::int64_t across) {
  return make_layout(make_shape(rows, columns), make_stride(down, across));
}
int rows_of(const Form& form) { return std::get<0>(form.shape()); }
int columns_of(const Form& form) { return std::get<1>(form.shape()); }
std::size_t at(const Form& form, int row, int column) {
  return static_cast<std::size_t>(row * std::get<0>(form.stride()) +
                                  column * std::get<1>(form.stride()));
}

// One random call: a tile at `at` of the buffers, its boundary, and who makes the call.
struct Play {
  Form src, dst;
  std::size_t src_at, dst_at;
  Bound start, boundary;
  int scope;
  bool holds(int row, int column) const {
    return std::get<0>(start) + row < std::get<0>(boundary) &&
           std::get<1>(start) + column < std::get<1>(boundary);
  }
};

int any(std::mt19937_64& random, int below) { return static_cast<int>(random() % below); }

Form random_form(std::mt19937_64& random, int rows, int columns, int way) {
  const int gap = any(random, 2) * any(random, 9);
  if (way == 0) return form_of(rows, columns, columns + gap, 1);
  if (way == 1) return form_of(rows, columns, 1, rows + gap);
  return form_of(rows, columns, 2 * columns + gap, 2);
}

Play random_play(std::mt19937_64& random) {
  constexpr int kExtents[] = {0, 1, 2, 3, 7, 8, 16, 33, 64};
  const int rows = kExtents[random() % std::size(kExtents)];
  const int columns = kExtents[random() % std::size(kExtents)];
  const int way = any(random, 3);
  Play play{random_form(random, rows, columns, way),
            random_form(random, rows, columns, any(random, 4) == 0 ? any(random, 3) : way),
            random() % 9,
            random() % 9,
            make_shape(any(random, 5), any(random, 5)),
            make_shape(1000, 1000),
            any(random, kTileScopes)};
  if (any(random, 2) == 0)  // cuts off some of it, or all
    play.boundary = make_shape(std::get<0>(play.start) + any(random, rows + 2),
                               std::get<1>(play.start) + any(random, columns + 2));
  return play;
}

template <class T>
T made(float value) {
  return static_cast<T>(value);
}
template <>
__nv_bfloat16 made(float value) {
  return as_bfloat16(value);
}
template <class T>
float shown(T value) {
  return static_cast<float>(value);
}
template <>
float shown(__nv_bfloat16 value) {
  return as_float(value);
}

// The elements that a PE gives; not whole numbers, so that the order of a sum shows.
template <class T>
T given(int pe, std::size_t i) {
  const auto mixed = (i * 2654435761u + static_cast<std::size_t>(pe) * 40503u) % 1009;
  return made<T>((static_cast<float>(mixed) - 500) / 7);
}

// Buffers of a PE, and the expected contents of dst.
template <class T>
struct Buffers {
  T *dst, *src;
  int* code;
  std::vector<T> wanted;
  explicit Buffers(Pe& pe)
      : dst(pe.allocate<T>(kRoom)), src(pe.allocate<T>(kRoom)), code(pe.allocate<int>(1)) {}
  void prepare(Pe& pe) {
    for (std::size_t i = 0; i < kRoom; ++i) {
      dst[i] = made<T>(kPoison);
      src[i] = given<T>(pe.pe(), i);
    }
    wanted.assign(kRoom, made<T>(kPoison));
    *code = -1;
    pe.barrier();
  }
  void check(Pe& pe, const Play& play) {
    pe.barrier();
    EXPECT_EQ(0, *code);
    for (std::size_t i = 0; i < kRoom; ++i)
      ASSERT_EQ(shown(wanted[i]), shown(dst[i]))
          << "element " << i << " of PE " << pe.pe() << ", " << rows_of(play.src) << " x "
          << columns_of(play.src) << ", scope " << play.scope;
    pe.barrier();
  }
};

template <class Body>
void for_elements(const Play& play, Body body) {
  for (int row = 0; row < rows_of(play.src); ++row)
    for (int column = 0; column < columns_of(play.src); ++column)
      if (play.holds(row, column)) body(row, column);
}

// call(play, src, dst) in a kernel of each PE for which `takes_part`; then wanted(play, buffers).
template <class T, class Call, class Wanted>
void rounds(Way way, int many, std::vector<int> members, Call call, Wanted wanted) {
  on_pes_with_module_state(way, kPes, [&](Pe& pe, WithModuleState& pictured) {
    Buffers<T> buffers(pe);
    std::mt19937_64 random(test_seed());
    for (int round = 0; round < many; ++round) {
      const Play play = random_play(random);
      buffers.prepare(pe);
      const bool takes_part = std::count(members.begin(), members.end(), pe.pe()) != 0;
      T* const src = buffers.src + play.src_at;
      T* const dst = buffers.dst + play.dst_at;
      int* const code = buffers.code;
      if (takes_part)
        pictured.run(kTileThreads, [=] {
          if (!calls_tile(play.scope)) return;
          const int got = call(play, Tensor(src, play.src), Tensor(dst, play.dst));
          __atomic_store_n(code, got, __ATOMIC_RELAXED);
        });
      else
        *code = 0;
      if (takes_part) wanted(pe.pe(), play, buffers);
      buffers.check(pe, play);
    }
  });
}

const std::vector<int> kAll = {0, 1, 2, 3}, kEvenPes = {0, 2};

template <class T>
auto from_pe(int distance) {
  return [=](int pe, const Play& play, Buffers<T>& buffers) {
    const int from = (pe + distance + kPes) % kPes;
    for_elements(play, [&](int row, int column) {
      buffers.wanted[play.dst_at + at(play.dst, row, column)] =
          given<T>(from, play.src_at + at(play.src, row, column));
    });
  };
}

TEST_P(NvshmemTileTest, Puts) {
  const auto put = [](const Play& play, auto src, auto dst) {
    const int pe = (nvshmem_my_pe() + 1) % nvshmem_n_pes();
    const int code =
        WEFT_TILE(play.scope, tile_put, (decltype(src), decltype(dst), Bound, PEER_PUSH_NBI), src,
                  dst, play.start, play.boundary, pe, 0);
    nvshmem_quiet();
    return code;
  };
  rounds<float>(GetParam(), 16, kAll, put, from_pe<float>(-1));
  rounds<__nv_bfloat16>(GetParam(), 8, kAll, put, from_pe<__nv_bfloat16>(-1));
}

TEST_P(NvshmemTileTest, Gets) {
  const auto get = [](const Play& play, auto src, auto dst) {
    const int pe = (nvshmem_my_pe() + 1) % nvshmem_n_pes();
    const int code =
        WEFT_TILE(play.scope, tile_get, (decltype(src), decltype(dst), Bound, REMOTE_PULL_NBI), src,
                  dst, play.start, play.boundary, pe, 0);
    nvshmem_quiet();
    return code;
  };
  rounds<float>(GetParam(), 16, kAll, get, from_pe<float>(1));
  rounds<std::int8_t>(GetParam(), 8, kAll, get, from_pe<std::int8_t>(1));
}

// In rank order, rounded to T after each step.
template <class T, class Fold>
auto folded(const std::vector<int>& members, Fold fold, int root = -1) {
  return [=](int pe, const Play& play, Buffers<T>& buffers) {
    if (root >= 0 && members[static_cast<std::size_t>(root)] != pe) return;
    for_elements(play, [&](int row, int column) {
      const std::size_t from = play.src_at + at(play.src, row, column);
      T sum = given<T>(members[0], from);
      for (std::size_t i = 1; i < members.size(); ++i)
        sum = made<T>(fold(shown(sum), shown(given<T>(members[i], from))));
      buffers.wanted[play.dst_at + at(play.dst, row, column)] = sum;
    });
  };
}
float sum(float a, float b) { return a + b; }
float least(float a, float b) { return std::min(a, b); }
float most(float a, float b) { return std::max(a, b); }

#define WEFT_REDUCE(stem, algorithm, team, ...)                                                    \
  [](const Play& play, auto src, auto dst) {                                                       \
    const int code = WEFT_TILE(play.scope, stem, (decltype(src), decltype(dst), Bound, algorithm), \
                               team, src, dst, play.start, play.boundary, __VA_ARGS__);            \
    const int done = WEFT_TILE(play.scope, tile_collective_wait, (algorithm), team, 0);            \
    return code != 0 ? code : done;                                                                \
  }

TEST_P(NvshmemTileTest, OneShotAllreduces) {
  rounds<float>(GetParam(), 12, kAll,
                WEFT_REDUCE(tile_sum_reduce, NVLS_ONE_SHOT_PULL_NBI, NVSHMEM_TEAM_WORLD, 0),
                folded<float>(kAll, sum));
  rounds<__nv_bfloat16>(GetParam(), 8, kEvenPes,
                        WEFT_REDUCE(tile_min_allreduce, NVLS_ONE_SHOT_PULL_NBI, kEven, 0),
                        folded<__nv_bfloat16>(kEvenPes, least));
  rounds<int>(GetParam(), 4, kAll,
              WEFT_REDUCE(tile_max_reduce, NVLS_ONE_SHOT_PUSH_NBI, NVSHMEM_TEAM_WORLD, 3, 0),
              folded<int>(kAll, most));
}

TEST_P(NvshmemTileTest, TwoShotAllreduces) {
  rounds<float>(GetParam(), 12, kAll,
                WEFT_REDUCE(tile_sum_reduce, NVLS_TWO_SHOT_PUSH_NBI, NVSHMEM_TEAM_WORLD, 2, 0),
                folded<float>(kAll, sum));
  rounds<__nv_bfloat16>(GetParam(), 8, kEvenPes,
                        WEFT_REDUCE(tile_sum_allreduce, NVLS_TWO_SHOT_PULL_NBI, kEven, 1, 0),
                        folded<__nv_bfloat16>(kEvenPes, sum));
}

TEST_P(NvshmemTileTest, RootedReduces) {
  rounds<float>(
      GetParam(), 8, kAll,
      WEFT_REDUCE(tile_sum_rooted_reduce, NVLS_ONE_SHOT_PULL_NBI, NVSHMEM_TEAM_WORLD, 3, 0),
      folded<float>(kAll, sum, 3));
  rounds<__nv_bfloat16>(GetParam(), 8, kEvenPes,
                        WEFT_REDUCE(tile_max_rooted_reduce, NVLS_ONE_SHOT_PULL_NBI, kEven, 1, 0),
                        folded<__nv_bfloat16>(kEvenPes, most, 1));
}

TEST_P(NvshmemTileTest, Broadcasts) {
  rounds<float>(
      GetParam(), 12, kAll,
      [](const Play& play, auto src, auto dst) {
        constexpr auto kPush = NVLS_ONE_SHOT_PUSH_NBI;
        int code = 0;
        if (nvshmem_my_pe() == 1)
          code = WEFT_TILE(play.scope, tile_broadcast, (decltype(src), decltype(dst), Bound, kPush),
                           NVSHMEM_TEAM_WORLD, src, dst, play.start, play.boundary, 0);
        const int done =
            WEFT_TILE(play.scope, tile_collective_wait, (kPush), NVSHMEM_TEAM_WORLD, 0);
        return code != 0 ? code : done;
      },
      [](int, const Play& play, Buffers<float>& buffers) { from_pe<float>(0)(1, play, buffers); });
}

// The members' tiles fill dst along its contiguous dimension first.
template <class T, tile_coll_algo_t kAlgorithm>
void gather(Way way, int down, bool by_rows) {
  on_pes_with_module_state(way, kPes, [&](Pe& pe, WithModuleState& pictured) {
    Buffers<T> buffers(pe);
    std::mt19937_64 random(test_seed());
    for (int round = 0; round < 6; ++round) {
      Play play = random_play(random);
      const int rows = rows_of(play.src), columns = columns_of(play.src), across = kPes / down;
      play.dst = random_form(random, rows * down, columns * across, by_rows ? 0 : 1);
      if (at(play.dst, rows * down, columns * across) + play.dst_at >= kRoom) continue;
      buffers.prepare(pe);
      T* const src = buffers.src + play.src_at;
      T* const dst = buffers.dst + play.dst_at;
      int* const code = buffers.code;
      pictured.run(kTileThreads, [=] {
        if (!calls_tile(play.scope)) return;
        const Tensor from(src, play.src), to(dst, play.dst);
        const int got = WEFT_TILE(play.scope, tile_allgather,
                                  (Tensor<T, Form>, Tensor<T, Form>, Bound, kAlgorithm),
                                  NVSHMEM_TEAM_WORLD, from, to, play.start, play.boundary, 0);
        WEFT_TILE(play.scope, tile_collective_wait, (kAlgorithm), NVSHMEM_TEAM_WORLD, 0);
        __atomic_store_n(code, got, __ATOMIC_RELAXED);
      });
      for (int rank = 0; rank < kPes; ++rank) {
        const int top = (by_rows ? rank / across : rank % down) * rows;
        const int left = (by_rows ? rank % across : rank / down) * columns;
        for_elements(play, [&](int row, int column) {
          buffers.wanted[play.dst_at + at(play.dst, top + row, left + column)] =
              given<T>(rank, play.src_at + at(play.src, row, column));
        });
      }
      buffers.check(pe, play);
    }
  });
}

TEST_P(NvshmemTileTest, AllgathersAside) {
  gather<float, NVLS_ONE_SHOT_PUSH_NBI>(GetParam(), 1, true);
  gather<__nv_bfloat16, NVLS_ONE_SHOT_PUSH_NBI>(GetParam(), 4, true);
}
TEST_P(NvshmemTileTest, AllgathersInASquare) {
  gather<float, NVLS_ONE_SHOT_PULL_NBI>(GetParam(), 2, true);
  gather<float, NVLS_ONE_SHOT_PUSH_NBI>(GetParam(), 2, false);
}

// Sizes that the compiler knows; five dimensions, one, none; coordinates that say nothing.
TEST_P(NvshmemTileTest, ShapesOfEveryRank) {
  on_pes_with_module_state(GetParam(), kPes, [](Pe& pe, WithModuleState& pictured) {
    Buffers<float> buffers(pe);
    buffers.prepare(pe);
    float *const src = buffers.src, *const dst = buffers.dst;
    int* const code = buffers.code;
    pictured.run(1, [=] {
      const int pe = (nvshmem_my_pe() + 1) % nvshmem_n_pes();
      const auto put = [&](auto layout, std::size_t place, auto start, auto boundary) {
        using Tile = Tensor<float, decltype(layout)>;
        return tile_put<Tile, Tile, decltype(start), REMOTE_PUSH_NBI>(
            Tile(src + place, layout), Tile(dst + place, layout), start, boundary, pe, 0);
      };
      struct Nothing {};
      const auto block = make_layout(
          make_shape(ConstInt<2>{}, 3, ConstInt<2>{}, std::int64_t{2}, ConstInt<3>{}),
          make_stride(ConstInt<100>{}, 20, ConstInt<10>{}, std::int64_t{4}, ConstInt<1>{}));
      int got = put(block, 0, make_shape(), make_shape());
      got |= put(make_layout(make_shape(ConstInt<9>{}), make_stride(ConstInt<1>{})), 301, Nothing{},
                 Nothing{});
      got |= put(make_layout(make_shape(), make_stride()), 330, Nothing{}, Nothing{});
      // One coordinate of two; all known to the compiler, which makes the types empty.
      got |=
          put(make_layout(make_shape(3, 4), make_stride(10, 1)), 400, make_shape(5), make_shape(7));
      using Block = Tensor<float, decltype(block)>;
      got |= tile_put<Block, Block, shape<ConstInt<1>>, PEER_PUSH_NBI>(
          Block(src + 500, block), Block(dst + 500, block), {}, {}, pe, 0);
      nvshmem_quiet();
      *code = got;
    });
    const auto wants = [&](std::size_t i) {
      buffers.wanted[i] = given<float>((pe.pe() + kPes - 1) % kPes, i);
    };
    for (std::size_t i = 0; i < 2 * 3 * 2 * 2 * 3; ++i)
      wants(i / 36 * 100 + i / 12 % 3 * 20 + i / 6 % 2 * 10 + i / 3 % 2 * 4 + i % 3);
    for (std::size_t i = 301; i < 310; ++i) wants(i);
    wants(330);
    for (std::size_t i = 0; i < 8; ++i) wants(400 + i / 4 * 10 + i % 4);
    buffers.check(pe, Play{});
  });
}

TEST(NvshmemTileErrorTest, WhatDoesNotGoTogetherMovesNothing) {
  on_pes_with_module_state(Way::kMapped, 2, [](Pe& pe, WithModuleState& pictured) {
    Buffers<float> buffers(pe);
    buffers.prepare(pe);
    float *const src = buffers.src, *const dst = buffers.dst;
    int* const code = buffers.code;
    pictured.run(1, [=] {
      using Tile = Tensor<float, Form>;
      const Tile from(src, form_of(2, 3, 3, 1)), to(dst, form_of(2, 3, 3, 1));
      const Tile other(dst, form_of(3, 2, 2, 1)), null(nullptr, form_of(2, 3, 3, 1));
      const Bound none = make_shape(0, 0), end = make_shape(9, 9);
      constexpr auto kPush = NVLS_ONE_SHOT_PUSH_NBI;
      constexpr auto kTwo = NVLS_TWO_SHOT_PUSH_NBI;
      constexpr int kBad = NVSHMEMX_ERROR_INVALID_VALUE;
      const auto put = [&](const Tile& src, const Tile& dst, int flag) {
        return tile_put<Tile, Tile, Bound, PEER_PUSH_NBI>(src, dst, none, end, 0, flag);
      };
      const auto gathered = [&](nvshmem_team_t team, const Tile& dst) {
        return tile_allgather<Tile, Tile, Bound, kPush>(team, from, dst, none, end, 0);
      };
      int right = 0;
      right += put(null, to, 0) == kBad;
      right += put(from, null, 0) == kBad;
      right += put(from, other, 0) == kBad;
      right += put(from, to, 1) == kBad;
      right += gathered(NVSHMEM_TEAM_WORLD, to) == kBad;
      right += gathered(NVSHMEM_TEAM_INVALID, to) == kBad;
      right += tile_sum_reduce<Tile, Tile, Bound, kTwo>(NVSHMEM_TEAM_WORLD, from, to, none, end,
                                                        0) == kBad;
      right += tile_sum_rooted_reduce<Tile, Tile, Bound, kPush>(NVSHMEM_TEAM_WORLD, from, to, none,
                                                                end, 2, 0) == kBad;
      right += tile_collective_wait<kPush>(NVSHMEM_TEAM_WORLD, 1) == kBad;
      *code = right - 9;
    });
    buffers.check(pe, Play{});
  });
}

// A value that a PE put before the barrier is there after it.
TEST_P(NvshmemTileTest, WarpgroupsMeet) {
  on_pes_with_module_state(GetParam(), kPes, [](Pe& pe, WithModuleState& pictured) {
    int* word = pe.allocate<int>(1);
    int* seen = pe.allocate<int>(1);
    *word = -1;
    pe.barrier();
    const int mine = pe.pe(), next = pe.next();
    pictured.run(kTileThreads, [=] {
      if (!calls_tile(2)) return;
      if (dev::thread_rank() == cpu::kWarpgroupSize - 1) nvshmem_int_p(word, mine, next);
      const int code = nvshmemx_barrier_warpgroup(NVSHMEM_TEAM_WORLD);
      if (dev::thread_rank() == 0) *seen = code == 0 ? *word : -2;
    });
    EXPECT_EQ((mine + kPes - 1) % kPes, *seen);
  });
}

}  // namespace
}  // namespace weft::test
