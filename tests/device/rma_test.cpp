// put, get, strided and single values: every scope, way, size and alignment, on poisoned memory.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "tests/device/kernels.hpp"
#include "tests/device/world.hpp"

namespace weft::test {
namespace {

constexpr unsigned char kPoison = 0xa5;

struct Triple {
  std::uint8_t byte[3];
};
struct alignas(16) Wide {
  std::uint64_t word[2];
};

struct Plan {
  SharedVector<Transfer> list;
  std::size_t dst_extent = 0, src_extent = 0;  // elements
};

// Transfers that lie one behind the other with gaps, so that every relative alignment comes up.
Plan plan_of(std::mt19937_64& random, bool strided) {
  static constexpr std::size_t kCounts[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 63, 64, 65, 331};
  Plan plan;
  for (std::size_t count : kCounts) {
    Transfer t{};
    t.count = count;
    t.dst_stride = strided ? static_cast<std::ptrdiff_t>(random() % 4 + 1) : 1;
    t.src_stride = strided ? static_cast<std::ptrdiff_t>(random() % 4 + 1) : 1;
    t.dst_at = plan.dst_extent + random() % 19;
    t.src_at = plan.src_extent + random() % 19;
    plan.dst_extent = t.dst_at + count * static_cast<std::size_t>(t.dst_stride);
    plan.src_extent = t.src_at + count * static_cast<std::size_t>(t.src_stride);
    plan.list.push_back(t);
  }
  std::shuffle(plan.list.begin(), plan.list.end(), random);
  plan.dst_extent += 20;
  return plan;
}

template <class T>
void do_transfers(const Plan& plan, T* dst, const T* src) {
  for (const Transfer& t : plan.list)
    for (std::size_t i = 0; i < t.count; ++i)
      std::memcpy(dst + t.dst_at + i * static_cast<std::size_t>(t.dst_stride),
                  src + t.src_at + i * static_cast<std::size_t>(t.src_stride), sizeof(T));
}

template <class T>
void fill_random(std::mt19937_64& random, T* data, std::size_t count) {
  auto* bytes = reinterpret_cast<unsigned char*>(data);
  for (std::size_t i = 0; i < count * sizeof(T); ++i)
    bytes[i] = static_cast<unsigned char>(random());
}

class RmaTest : public ::testing::TestWithParam<Way> {};

// One move in one shape of grid: what lands at my right neighbour (put) or here (get), compared
// byte by byte with what the host would have copied, gaps included.
template <class Scope, class T>
void check_move(Pe& pe, Move move, unsigned blocks, unsigned threads, std::uint64_t seed) {
  const bool is_get = move == Move::kGet || move == Move::kGetNbi || move == Move::kIget;
  const bool strided = move == Move::kIput || move == Move::kIget;
  const bool notifies = move == Move::kPutSet || move == Move::kPutNbiAdd;
  std::mt19937_64 random(seed);  // the same plan and the same data on all
  const Plan plan = plan_of(random, strided);
  const std::size_t transfers = plan.list.size();
  T* src = pe.allocate<T>(plan.src_extent);
  T* dst = pe.allocate<T>(plan.dst_extent);
  auto* arrived = pe.allocate<std::uint64_t>(transfers);
  // Everybody's source is the same, so what arrives does not depend on who sent it.
  fill_random(random, src, plan.src_extent);
  std::memset(static_cast<void*>(dst), kPoison, plan.dst_extent * sizeof(T));
  std::fill_n(arrived, transfers, 0);
  std::vector<T> expected(plan.dst_extent);
  std::memset(static_cast<void*>(expected.data()), kPoison, plan.dst_extent * sizeof(T));
  do_transfers(plan, expected.data(), src);
  pe.barrier();

  const MoveAll<Scope, T> kernel{pe.handle(),      move,      dst,       src,
                                 plan.list.data(), transfers, pe.next(), arrived};
  pe.run(blocks, threads, kernel);
  if (notifies) {
    SharedVector<std::uint64_t> wanted(transfers);
    std::iota(wanted.begin(), wanted.end(), 1);
    SharedVector<int> timeouts(std::size_t{blocks} * threads, -1);
    pe.run(blocks, threads,
           AwaitAll<Scope>{pe.handle(), arrived, wanted.data(), transfers, timeouts.data()});
    for (int timeout : timeouts) EXPECT_EQ(timeout, 0);
  } else if (!is_get) {
    pe.barrier();
  }
  EXPECT_EQ(std::memcmp(dst, expected.data(), plan.dst_extent * sizeof(T)), 0)
      << "PE " << pe.pe() << ", move " << static_cast<int>(move) << ", " << blocks << " blocks of "
      << threads << " threads, elements of " << sizeof(T) << " bytes";
  pe.barrier();
}

template <class Scope>
void check_moves(Way way) {
  const std::uint64_t seed = test_seed();
  on_pes(way, 3, [&](Pe& pe) {
    std::mt19937_64 random(seed);
    static constexpr unsigned kShapes[][2] = {
        {1, 1}, {1, kWarp}, {1, kWarp + kWarp / 2}, {2, 2 * kWarp + 1}};
    for (const auto& [blocks, threads] : kShapes) {
      check_move<Scope, std::uint8_t>(pe, Move::kPut, blocks, threads, random());
      check_move<Scope, std::uint16_t>(pe, Move::kPutNbi, blocks, threads, random());
      check_move<Scope, float>(pe, Move::kPutSet, blocks, threads, random());
      check_move<Scope, double>(pe, Move::kPutNbiAdd, blocks, threads, random());
      check_move<Scope, Triple>(pe, Move::kPutSet, blocks, threads, random());
      check_move<Scope, Wide>(pe, Move::kPut, blocks, threads, random());
      check_move<Scope, std::uint8_t>(pe, Move::kGet, blocks, threads, random());
      check_move<Scope, std::uint64_t>(pe, Move::kGetNbi, blocks, threads, random());
      check_move<Scope, std::uint16_t>(pe, Move::kIput, blocks, threads, random());
      check_move<Scope, Triple>(pe, Move::kIget, blocks, threads, random());
    }
  });
}

TEST_P(RmaTest, ThreadsMoveAnything) { check_moves<dev::Thread>(GetParam()); }
TEST_P(RmaTest, WarpsMoveAnything) { check_moves<dev::Warp>(GetParam()); }
TEST_P(RmaTest, BlocksMoveAnything) { check_moves<dev::Block>(GetParam()); }

template <class T>
void check_single_values(Way way) {
  const std::uint64_t seed = test_seed();
  on_pes(way, 2, [&](Pe& pe) {
    constexpr std::size_t kThreads = 14;
    std::mt19937_64 random(seed + static_cast<std::uint64_t>(pe.pe()));
    T* there = pe.allocate<T>(kThreads);
    SharedVector<T> values(kThreads), back(kThreads);
    fill_random(random, values.data(), kThreads);
    pe.barrier();
    pe.run(2, kThreads / 2,
           SingleValues<T>{pe.handle(), there, values.data(), back.data(), pe.next()});
    EXPECT_EQ(std::memcmp(back.data(), values.data(), kThreads * sizeof(T)), 0) << sizeof(T);
    pe.barrier();
  });
}

TEST_P(RmaTest, SingleValuesOfEverySize) {
  check_single_values<std::uint8_t>(GetParam());
  check_single_values<std::uint16_t>(GetParam());
  check_single_values<std::uint32_t>(GetParam());
  check_single_values<std::uint64_t>(GetParam());
  check_single_values<Triple>(GetParam());
  check_single_values<Wide>(GetParam());
}

TEST_P(RmaTest, LargeBlocksArriveWhole) {
  const std::uint64_t seed = test_seed();
  on_pes(GetParam(), 2, [&](Pe& pe) {
    constexpr std::size_t kBytes = 700'001;
    std::mt19937_64 random(seed);
    auto* src = pe.allocate<std::uint8_t>(kBytes + 3);
    auto* dst = pe.allocate<std::uint8_t>(kBytes + 8);
    auto* arrived = pe.allocate<std::uint64_t>(1);
    fill_random(random, src, kBytes + 3);
    std::memset(dst, kPoison, kBytes + 8);
    *arrived = 0;
    pe.barrier();
    const SharedVector<Transfer> all = {{5, 3, kBytes, 1, 1}};
    constexpr unsigned kThreads = 2 * kWarp + 3;
    pe.run(1, kThreads,
           MoveAll<dev::Block, std::uint8_t>{pe.handle(), Move::kPutSet, dst, src, all.data(), 1,
                                             pe.next(), arrived});
    const SharedVector<std::uint64_t> one = {1};
    SharedVector<int> timeouts(kThreads, -1);
    pe.run(1, kThreads, AwaitAll<dev::Block>{pe.handle(), arrived, one.data(), 1, timeouts.data()});
    EXPECT_EQ(std::memcmp(dst + 5, src + 3, kBytes), 0);
    EXPECT_EQ(dst[4], kPoison);
    EXPECT_EQ(dst[kBytes + 5], kPoison);
    pe.barrier();
  });
}

// By the engine of those GPUs that have one: whole pieces and parts of one, around the least that
// it takes and the number of its slots, and what it does not take. Several groups have theirs at
// once.
template <class Scope>
void check_bulk(Pe& pe, unsigned threads, std::uint64_t seed) {
  constexpr std::size_t kGroups = 3;  // of a block, at most
  static constexpr std::size_t kBytes[] = {4096,    4080,     4112,  4097,    16 * 257,
                                           384 * 4, 384 * 40, 65536, 100'000, 4096 + 384};
  std::mt19937_64 random(seed);
  SharedVector<Transfer> list;
  std::size_t extent = 0;
  for (std::size_t bytes : kBytes)
    for (std::size_t shift : {std::size_t{0}, std::size_t{random() % 16}}) {
      list.push_back({extent + shift, extent, bytes, 1, 1});
      extent += (bytes + 63) / 16 * 16;
    }
  auto* src = pe.allocate<std::uint8_t>(extent);
  auto* dst = pe.allocate<std::uint8_t>(extent);
  auto* arrived = pe.allocate<std::uint64_t>(list.size());
  fill_random(random, src, extent);
  std::vector<std::uint8_t> expected(extent, kPoison);
  for (const Transfer& t : list) std::memcpy(&expected[t.dst_at], src + t.src_at, t.count);
  for (const Move move : {Move::kPut, Move::kPutSet, Move::kPutNbiAdd, Move::kGet, Move::kGetNbi}) {
    std::memset(dst, kPoison, extent);
    std::fill_n(arrived, list.size(), 0);
    pe.barrier();
    pe.run(2, threads,
           MoveAll<Scope, std::uint8_t>{pe.handle(), move, dst, src, list.data(), list.size(),
                                        pe.next(), arrived},
           std::size_t{kStage} * kGroups);
    pe.barrier();
    EXPECT_EQ(std::memcmp(dst, expected.data(), extent), 0)
        << "PE " << pe.pe() << ", move " << static_cast<int>(move) << ", " << threads << " threads";
    pe.barrier();
  }
}

TEST_P(RmaTest, BulkCopiesArriveWhole) {
  const std::uint64_t seed = test_seed();
  on_pes(GetParam(), 2, [&](Pe& pe) {
    check_bulk<dev::Bulk<dev::Block>>(pe, 2 * kWarp + 1, seed);
    check_bulk<dev::Bulk<dev::Warp>>(pe, 2 * kWarp + 1, seed + 1);
    check_bulk<dev::Bulk<dev::Thread>>(pe, 3, seed + 2);
  });
}

TEST_P(RmaTest, DataTravelsRoundTheRing) {
  on_pes(GetParam(), 4, [&](Pe& pe) {
    constexpr std::size_t kCount = 77;
    constexpr std::uint64_t kLaps = 8;
    auto* data = pe.allocate<std::uint64_t>(kCount);
    auto* signal = pe.allocate<std::uint64_t>(1);
    std::fill_n(data, kCount, 0);
    *signal = 0;
    pe.barrier();
    pe.run(1, kWarp + 2, RoundTrip<dev::Block>{pe.handle(), data, signal, kCount, kLaps});
    pe.barrier();
    const std::uint64_t total = kLaps * static_cast<std::uint64_t>(pe.npes());
    for (std::size_t i = 0; pe.pe() == 0 && i < kCount; ++i) EXPECT_EQ(data[i], total);
    pe.barrier();
  });
}

INSTANTIATE_TEST_SUITE_P(Ways, RmaTest, ::testing::ValuesIn(kWays), way_name);

}  // namespace
}  // namespace weft::test
