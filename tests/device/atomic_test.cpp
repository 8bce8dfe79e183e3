// Atomics against a model, one after the other, and all at once.
#include <algorithm>
#include <cstring>
#include <random>

#include "tests/device/kernels.hpp"
#include "tests/device/world.hpp"

namespace weft::test {
namespace {

class AtomicTest : public ::testing::TestWithParam<Way> {};

template <class T>
T wrapped(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}
template <class T>
std::uint64_t bits_of(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

template <class T>
void apply(const AmoStep<T>& s, T& word, T& old) {
  const std::uint64_t was = bits_of(word), value = bits_of(s.value);
  switch (s.amo) {
    case Amo::kFetch:
    case Amo::kSwap:
    case Amo::kCompareSwap:
    case Amo::kFetchAdd:
    case Amo::kFetchInc:
    case Amo::kFetchAnd:
    case Amo::kFetchOr:
    case Amo::kFetchXor: old = word; break;
    default: break;
  }
  switch (s.amo) {
    case Amo::kFetch: break;
    case Amo::kSet:
    case Amo::kSwap: word = s.value; break;
    case Amo::kCompareSwap:
      if (was == bits_of(s.compare)) word = s.value;
      break;
    case Amo::kAdd:
    case Amo::kFetchAdd: word = wrapped<T>(was + value); break;
    case Amo::kInc:
    case Amo::kFetchInc: word = wrapped<T>(was + 1); break;
    case Amo::kAnd:
    case Amo::kFetchAnd: word = wrapped<T>(was & value); break;
    case Amo::kOr:
    case Amo::kFetchOr: word = wrapped<T>(was | value); break;
    case Amo::kXor:
    case Amo::kFetchXor: word = wrapped<T>(was ^ value); break;
  }
}

template <class T>
void move_one(Pe& pe, Move move, T* dst, const T* src, std::size_t count, int other) {
  const SharedVector<Transfer> all = {{0, 0, count, 1, 1}};
  pe.run(1, 1, MoveAll<dev::Thread, T>{pe.handle(), move, dst, src, all.data(), 1, other, nullptr});
}

template <class T>
void check_script(Way way) {
  const std::uint64_t seed = test_seed();
  on_pes(way, 2, [&](Pe& pe) {
    std::mt19937_64 random(seed + static_cast<std::uint64_t>(pe.pe()));
    T* words = pe.allocate<T>(3);  // neighbours of the one in use stay as they are
    const T guard = wrapped<T>(0x5a5a5a5a5a5a5a5au);
    words[0] = words[1] = words[2] = guard;
    pe.barrier();
    constexpr std::size_t kSteps = 60;
    SharedVector<AmoStep<T>> steps(kSteps);
    SharedVector<T> old(kSteps);
    std::vector<T> expected(kSteps);
    T word = guard;
    const int kinds =
        is_amo_type<T> ? static_cast<int>(Amo::kFetchXor) + 1 : static_cast<int>(Amo::kSwap) + 1;
    for (std::size_t i = 0; i < kSteps; ++i) {
      AmoStep<T>& s = steps[i];
      s.amo = static_cast<Amo>(
          i < static_cast<std::size_t>(kinds) ? i : random() % static_cast<std::uint64_t>(kinds));
      s.value =
          std::is_floating_point_v<T> ? static_cast<T>(random() % 1000) : wrapped<T>(random());
      s.compare = random() % 2 == 0 ? word : s.value;
      apply(s, word, expected[i]);
    }
    pe.run(1, 1, AmoScript<T>{pe.handle(), words + 1, steps.data(), kSteps, old.data(), pe.next()});
    for (std::size_t i = 0; i < kSteps; ++i)
      EXPECT_EQ(bits_of(old[i]), bits_of(expected[i]))
          << "step " << i << ", kind " << static_cast<int>(steps[i].amo);
    pe.barrier();
    EXPECT_EQ(bits_of(words[0]), bits_of(guard));
    EXPECT_EQ(bits_of(words[2]), bits_of(guard));
    // Both PEs' scripts started from the same word and differ; mine is at my neighbour.
    SharedVector<T> there(1);
    move_one(pe, Move::kGet, there.data(), words + 1, 1, pe.next());
    EXPECT_EQ(bits_of(there[0]), bits_of(word));
    pe.barrier();
  });
}

TEST_P(AtomicTest, EveryKindDoesWhatItSays) {
  check_script<int>(GetParam());
  check_script<unsigned>(GetParam());
  check_script<std::int64_t>(GetParam());
  check_script<std::uint64_t>(GetParam());
  check_script<float>(GetParam());
  check_script<double>(GetParam());
}

template <class T>
void check_tickets(Way way) {
  on_pes(way, 3, [&](Pe& pe) {
    constexpr unsigned kBlocks = 2, kThreads = kWarp + 1;
    constexpr int kEach = 8;
    T* counter = pe.allocate<T>(1);
    T* sum = pe.allocate<T>(1);
    T* all = pe.allocate<T>(3 * kBlocks * kThreads * kEach);
    *counter = 0;
    *sum = 0;
    pe.barrier();
    constexpr std::size_t kMine = kBlocks * kThreads * kEach;
    SharedVector<T> drawn(kMine);
    pe.run(kBlocks, kThreads, Tickets<T>{pe.handle(), counter, sum, drawn.data(), kEach, 1});
    move_one(pe, Move::kPut, all + static_cast<std::size_t>(pe.pe()) * kMine, drawn.data(), kMine,
             1);
    pe.barrier();
    if (pe.pe() == 1) {
      std::sort(all, all + 3 * kMine);
      for (std::size_t i = 0; i < 3 * kMine; ++i) EXPECT_EQ(all[i], static_cast<T>(i));
      EXPECT_EQ(*sum, static_cast<T>(3 * kMine * (3 * kMine - 1) / 2));
    }
    pe.barrier();
  });
}

TEST_P(AtomicTest, NothingIsLostBetweenThreads) {
  check_tickets<int>(GetParam());
  check_tickets<std::uint64_t>(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Ways, AtomicTest, ::testing::ValuesIn(kWays), way_name);

}  // namespace
}  // namespace weft::test
