// Tiles of random shape, strides and place, compared with what a loop over all elements does; what
// lies between and around the elements must stay as it was.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "tests/device/world.hpp"
#include "tests/support/random.hpp"

namespace weft::test {
namespace {

constexpr int kPes = 3;
constexpr std::int64_t kMostElements = 6000;
constexpr std::size_t kRoom = 60000;  // elements of a buffer, with gaps
constexpr int kRounds = 12;

template <int kDims>
struct Tile {
  dev::TileShape<kDims> shape;
  std::int64_t dst_at, src_at;  // of the first element
};

std::int64_t any(std::mt19937_64& random, std::int64_t below) {
  return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(below));
}

// Strides in the order of `dims`, each at least as large as what the dimensions before it span.
template <int kDims>
void stride_up(std::mt19937_64& random, const std::array<int, kDims>& dims,
               const std::int64_t (&extent)[kDims], std::int64_t (&stride)[kDims]) {
  std::int64_t span = random() % 3 == 0 ? 2 : 1;
  for (int d : dims) {
    stride[d] = span;
    span = span * std::max<std::int64_t>(extent[d], 1);
    if (span < kMostElements && random() % 2 == 0) span += any(random, 4);
  }
}

template <int kDims>
Tile<kDims> random_tile(std::mt19937_64& random) {
  constexpr std::int64_t kExtents[] = {1, 1, 2, 3, 5, 8, 16, 17, 40, 100, 1024};
  Tile<kDims> tile;
  std::int64_t all = 1;
  for (std::int64_t& extent : tile.shape.extent) {
    extent = kExtents[random() % std::size(kExtents)];
    if (all * extent > kMostElements / (kDims > 2 ? 4 : 1)) extent = 1;
    all *= extent;
  }
  if (random() % 16 == 0) tile.shape.extent[random() % kDims] = 0;
  std::array<int, kDims> dims;
  std::iota(dims.begin(), dims.end(), 0);
  std::shuffle(dims.begin(), dims.end(), random);
  stride_up<kDims>(random, dims, tile.shape.extent, tile.shape.dst_stride);
  if (random() % 3 == 0) std::shuffle(dims.begin(), dims.end(), random);
  stride_up<kDims>(random, dims, tile.shape.extent, tile.shape.src_stride);
  if (random() % 8 == 0) tile.shape.src_stride[random() % kDims] = 0;
  tile.dst_at = random() % 2 == 0 ? 0 : any(random, 9);
  tile.src_at = random() % 2 == 0 ? 0 : any(random, 9);
  return tile;
}

// Rows that the engine for bulk copies takes, and some that it does not: too short, too long, of
// an odd number of bytes, or at no multiple of 16.
Tile<2> random_rows(std::mt19937_64& random) {
  constexpr std::int64_t kColumns[] = {248, 256, 264, 300, 304, 320}, kRows[] = {1, 2, 3, 9, 40};
  const std::int64_t columns = kColumns[random() % std::size(kColumns)];
  const auto stride = [&] { return (columns + 7) / 8 * 8 + 8 * any(random, 3); };
  return {{{columns, kRows[random() % std::size(kRows)]}, {1, stride()}, {1, stride()}},
          random() % 8 == 0 ? any(random, 9) : 8 * any(random, 9),
          8 * any(random, 9)};
}

// body(dst index, src index) of each element.
template <int kDims, class Body>
void for_elements(const Tile<kDims>& tile, Body body) {
  const auto& s = tile.shape;
  std::int64_t total = 1;
  for (std::int64_t extent : s.extent) total *= extent;
  for (std::int64_t i = 0; i < total; ++i) {
    std::int64_t rest = i, dst = tile.dst_at, src = tile.src_at;
    for (int d = 0; d < kDims; ++d) {
      dst += rest % s.extent[d] * s.dst_stride[d];
      src += rest % s.extent[d] * s.src_stride[d];
      rest /= s.extent[d];
    }
    ASSERT_LT(static_cast<std::size_t>(std::max(dst, src)), kRoom);
    body(static_cast<std::size_t>(dst), static_cast<std::size_t>(src));
  }
}

template <class Call>
WEFT_DEVICE void at_scope(int scope, Call call) {
  if (scope == 2) return call(dev::Block{});
  if (scope == 1 && dev::thread_rank() < dev::warp_size()) return call(dev::Warp{});
  if (scope == 0 && dev::thread_rank() == 0) return call(dev::Thread{});
}

constexpr int kInBulk = 3;  // a scope
constexpr unsigned kStageBytes = 6128;

template <class T, int kDims>
struct MoveTile {
  DeviceContext handle;
  Tile<kDims> tile;
  T *dst, *src;
  int pe, scope;
  bool is_put;

  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    const auto move = [&](auto who) {
      T* const to = dst + tile.dst_at;
      const T* const from = src + tile.src_at;
      if (is_put)
        dev::put_tile_nbi(ctx, who, to, from, tile.shape, pe);
      else
        dev::get_tile_nbi(ctx, who, to, from, tile.shape, pe);
      ctx.quiet(who);
    };
    if (scope == kInBulk)
      return move(dev::Bulk<dev::Block>(dev::Block{}, dev::shared<std::byte>(), kStageBytes));
    at_scope(scope, move);
  }
};

template <class T>
void fill(T* data, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto bytes = random_bytes(random, kRoom * sizeof(T));
  std::memcpy(static_cast<void*>(data), bytes.data(), bytes.size());
}

template <class T, int kDims>
void move_tiles(Pe& pe, int me_next, Tile<kDims> (&make)(std::mt19937_64&) = random_tile<kDims>,
                bool in_bulk = false) {
  T* const dst = pe.allocate<T>(kRoom);
  T* const src = pe.allocate<T>(kRoom);
  std::mt19937_64 random(test_seed() + sizeof(T) * 8 + kDims);  // the same on all
  std::vector<T> wanted(kRoom), theirs(kRoom);
  for (int round = 0; round < kRounds; ++round) {
    const Tile<kDims> tile = make(random);
    const bool is_put = random() % 2 == 0;
    const int scope = in_bulk ? kInBulk : static_cast<int>(random() % kInBulk);
    const std::uint64_t seed = random();
    fill(dst, seed);
    fill(src, seed + 1 + static_cast<std::uint64_t>(pe.pe()));
    pe.barrier();
    pe.run(1, 2 * 64, MoveTile<T, kDims>{pe.handle(), tile, dst, src, me_next, scope, is_put},
           kStageBytes);
    pe.barrier();
    const int from = is_put ? (pe.pe() + kPes - 1) % kPes : me_next;
    fill(wanted.data(), seed);
    fill(theirs.data(), seed + 1 + static_cast<std::uint64_t>(from));
    for_elements(tile, [&](std::size_t to, std::size_t at) { wanted[to] = theirs[at]; });
    ASSERT_EQ(0, std::memcmp(wanted.data(), dst, kRoom * sizeof(T)))
        << "round " << round << ", scope " << scope << (is_put ? ", put" : ", get");
    pe.barrier();
  }
}

struct Triple {
  std::uint32_t word[3];
};

class TileTest : public ::testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Ways, TileTest, ::testing::ValuesIn(kWays), way_name);

TEST_P(TileTest, OneDimensionMoves) {
  on_pes(GetParam(), kPes, [](Pe& pe) { move_tiles<std::uint8_t, 1>(pe, pe.next()); });
}
TEST_P(TileTest, TwoDimensionsMove) {
  on_pes(GetParam(), kPes, [](Pe& pe) {
    move_tiles<std::uint16_t, 2>(pe, pe.next());
    move_tiles<float, 2>(pe, pe.next());
  });
}
TEST_P(TileTest, ThreeDimensionsMove) {
  on_pes(GetParam(), kPes, [](Pe& pe) { move_tiles<Triple, 3>(pe, pe.next()); });
}
TEST_P(TileTest, RowsMoveInBulk) {
  on_pes(GetParam(), kPes,
         [](Pe& pe) { move_tiles<std::uint16_t, 2>(pe, pe.next(), random_rows, true); });
}
TEST_P(TileTest, FiveDimensionsMove) {
  on_pes(GetParam(), kPes, [](Pe& pe) { move_tiles<double, 5>(pe, pe.next()); });
}

// --- reductions ----------------------------------------------------------------------------------

template <ReduceOp kOp, class T, int kDims>
struct ReduceTile {
  DeviceContext handle;
  Team team;
  Tile<kDims> tile;
  T *dst, *src;
  int root, scope;
  int* result;

  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    at_scope(scope, [&](auto who) {
      const bool ok = dev::reduce_tile<kOp>(ctx, who, team, dst + tile.dst_at, src + tile.src_at,
                                            tile.shape, root);
      const bool read = dev::sync(ctx, who, team);  // all have read my src
      if (who.rank() == 0) *result = ok && read ? 1 : 0;
    });
  }
};

// Not whole numbers, so that another order of the sum has another result.
template <class T>
T made(std::mt19937_64& random) {
  if constexpr (SmallFloat<T>::value)
    return T(static_cast<float>(any(random, 2000) - 1000) / 7);
  else if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(any(random, 2000000) - 1000000) / 7;
  else
    return static_cast<T>(random());
}
template <class T>
void fill_numbers(T* data, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::size_t i = 0; i < kRoom; ++i) data[i] = made<T>(random);
}

template <ReduceOp kOp, class T>
T folded(T a, T b) {
  if constexpr (SmallFloat<T>::value)
    return T(folded<kOp>(static_cast<float>(a), static_cast<float>(b)));
  else if constexpr (kOp == ReduceOp::kMin)
    return std::min(a, b);
  else if constexpr (kOp == ReduceOp::kMax)
    return std::max(a, b);
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  else
    return a + b;
}

template <ReduceOp kOp, class T, int kDims>
void reduce_tiles(Pe& pe) {
  T* const dst = pe.allocate<T>(kRoom);
  T* const src = pe.allocate<T>(kRoom);
  int* const result = pe.allocate<int>(1);
  const Team teams[] = {pe.world(), pe.team({2, 0})};
  std::mt19937_64 random(test_seed() + sizeof(T) * 8 + kDims);
  std::vector<T> wanted(kRoom);
  std::vector<std::vector<T> > given(kPes, std::vector<T>(kRoom));
  for (int round = 0; round < kRounds; ++round) {
    const Tile<kDims> tile = random_tile<kDims>(random);
    const Team& team = teams[random() % 2];
    const int root = static_cast<int>(random() % static_cast<std::uint64_t>(team.size + 1)) - 1;
    const int scope = static_cast<int>(random() % 3);
    const std::uint64_t seed = random();
    const auto of = [&](int member) { return seed + 1 + static_cast<std::uint64_t>(member); };
    fill_numbers(dst, seed);
    fill_numbers(src, of(pe.pe()));
    *result = 1;
    pe.barrier();
    if (team.is_member())
      pe.run(1, 2 * 64,
             ReduceTile<kOp, T, kDims>{pe.handle(), team, tile, dst, src, root, scope, result});
    EXPECT_EQ(1, *result);
    fill_numbers(wanted.data(), seed);
    for (int member = 0; member < kPes; ++member) fill_numbers(given[member].data(), of(member));
    const bool folds = root == dev::kEachMember || root == team.rank;
    if (team.is_member() && folds)
      for_elements(tile, [&](std::size_t to, std::size_t at) {
        T sum = given[team.pe_of(0)][at];
        for (int r = 1; r < team.size; ++r) sum = folded<kOp>(sum, given[team.pe_of(r)][at]);
        wanted[to] = sum;
      });
    ASSERT_EQ(0, std::memcmp(wanted.data(), dst, kRoom * sizeof(T)))
        << "round " << round << ", scope " << scope << ", root " << root;
    pe.barrier();
  }
}

TEST_P(TileTest, FloatsAdd) {
  on_pes(GetParam(), kPes, [](Pe& pe) { reduce_tiles<ReduceOp::kSum, float, 2>(pe); });
}
TEST_P(TileTest, SmallFloatsReduce) {
  on_pes(GetParam(), kPes, [](Pe& pe) {
    reduce_tiles<ReduceOp::kSum, Bfloat16, 2>(pe);
    reduce_tiles<ReduceOp::kMax, Half, 3>(pe);
  });
}
TEST_P(TileTest, IntegersReduce) {
  on_pes(GetParam(), kPes, [](Pe& pe) {
    reduce_tiles<ReduceOp::kSum, std::uint64_t, 5>(pe);
    reduce_tiles<ReduceOp::kMin, std::int8_t, 1>(pe);
  });
}

// The root may fold into its own source: an element is read before it is written.
TEST_P(TileTest, RootReducesInPlace) {
  on_pes(GetParam(), kPes, [](Pe& pe) {
    constexpr std::int64_t kRows = 9, kColumns = 14, kPitch = 17;
    float* const data = pe.allocate<float>(kRoom);
    int* const result = pe.allocate<int>(1);
    std::fill_n(data, kRoom, static_cast<float>(pe.pe() + 1));
    const Tile<2> tile{{{kRows, kColumns}, {kPitch, 1}, {kPitch, 1}}, 0, 0};
    const Team world = pe.world();
    pe.barrier();
    pe.run(
        1, 64,
        ReduceTile<ReduceOp::kSum, float, 2>{pe.handle(), world, tile, data, data, 1, 2, result});
    EXPECT_EQ(1, *result);
    for (std::size_t i = 0; i < kRows * kPitch; ++i)
      ASSERT_EQ(pe.pe() == 1 && i % kPitch < kColumns ? 6 : pe.pe() + 1, data[i]) << i;
  });
}

}  // namespace
}  // namespace weft::test
