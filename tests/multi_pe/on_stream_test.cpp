// Operations on streams: on streams of host threads, on those of the fake driver of
// tests/support/fake_gpu, and, compiled for CUDA, on those of GPUs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <weft/device.hpp>
#include <weft/weft.hpp>

#include "src/base/status.hpp"
#include "tests/multi_pe/gpu_driver.hpp"
#include "tests/multi_pe/neighbours.hpp"
#include "tests/support/collective_script.hpp"
#include "tests/support/pe_group.hpp"
#include "tests/support/random.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Word = std::uint64_t;

Options gpu_options() {
  Options options;
  library_of(options) = driver().file;
  options.gpu_heap_size = std::uint64_t{256} << 20;
  choose_transports(options);
  return options;
}

std::vector<PeGroup> groups(const std::vector<int>& npes) {
  std::vector<PeGroup> all;
  for (const int n : npes)
    for (const Pes pes : {Pes::kThreads, Pes::kProcesses}) {
      all.push_back({pes, n, gpu_options(), {}});
#ifdef FAKE_CUDA_LIBRARY
      if (n == 2) continue;
      all.push_back({pes, n, Options{}, {}});  // of host threads
      Options late;
      late.fault = late_fault();
      all.push_back({pes, n, late, {}});  // by rings and transports
#endif
    }
  return all;
}
std::string group_name(const ::testing::TestParamInfo<PeGroup>& info) {
  return pe_group_name(info) +
         (info.param.options.cuda_library.empty() && info.param.options.hip_library.empty()
              ? ""
              : "_gpu");
}
std::string said(const Status& status) { return std::string(status.text()); }

// A stream and symmetric memory for it, which host threads reach by put and get.
class Bench {
 public:
  static Result<std::unique_ptr<Bench>> create(Runtime& rt) {
    ASSIGN_OR_RETURN(const Stream stream, platform_of(rt).create_stream());
    return std::unique_ptr<Bench>(new Bench(rt, stream));
  }
  ~Bench() { EXPECT_OK(platform_of(rt_).destroy_stream(queue.stream())); }

  template <class T>
  Result<T*> make(const std::vector<T>& values) {
    ASSIGN_OR_RETURN(T* const memory, rt_.allocate_device<T>(values.size()));
    RETURN_IF_ERROR(rt_.context().put(memory, values.data(), values.size(), rt_.pe()));
    RETURN_IF_ERROR(rt_.context().quiet());
    RETURN_IF_ERROR(rt_.barrier());
    return memory;
  }
  template <class T>
  Status set(T* memory, const std::vector<T>& values) {
    RETURN_IF_ERROR(rt_.context().put(memory, values.data(), values.size(), rt_.pe()));
    return rt_.context().quiet();
  }
  template <class T>
  std::vector<T> read(const T* memory, std::size_t count) {
    std::vector<T> values(count);
    EXPECT_OK(rt_.context().get(values.data(), memory, count, rt_.pe()));
    return values;
  }
  Status finish() { return platform_of(rt_).synchronize(queue.stream()); }

  OnStream queue;

 private:
  Bench(Runtime& rt, Stream stream) : queue(rt.context(), stream), rt_(rt) {}
  Runtime& rt_;
};

class OnStreamTest : public ::testing::TestWithParam<PeGroup> {};

TEST_P(OnStreamTest, PutsSignalsWaitsAndGetsRunInOrder) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    constexpr std::size_t kMany = 3000;
    ASSIGN_OR_RETURN(const auto bench, Bench::create(rt));
    ASSIGN_OR_RETURN(Word* const data, bench->make(marks(rt.pe(), kMany)));
    ASSIGN_OR_RETURN(Word* const landed, bench->make(std::vector<Word>(kMany)));
    ASSIGN_OR_RETURN(Word* const fetched, bench->make(std::vector<Word>(kMany)));
    ASSIGN_OR_RETURN(Word* const words, bench->make(std::vector<Word>(4)));
    OnStream& q = bench->queue;
    for (Word round = 1; round <= 20; ++round) {
      RETURN_IF_ERROR(q.put(landed, data, kMany, next_of(rt), set(words, round)));
      RETURN_IF_ERROR(q.wait_until(words, Cmp::kGe, round));
      RETURN_IF_ERROR(q.get(fetched, landed, kMany, rt.pe()));
      RETURN_IF_ERROR(q.signal(add(words + 1, 3), previous_of(rt)));
      RETURN_IF_ERROR(q.wait_until(words + 1, Cmp::kEq, 3 * round));
    }
    RETURN_IF_ERROR(q.quiet());
    RETURN_IF_ERROR(bench->finish());
    EXPECT_EQ(bench->read(landed, kMany), marks(previous_of(rt), kMany));
    EXPECT_EQ(bench->read(fetched, kMany), marks(previous_of(rt), kMany));
    RETURN_IF_ERROR(rt.health());
    return rt.barrier();
  }));
}

TEST_P(OnStreamTest, EmptyPutsAndSignalsAloneAreFine) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(const auto bench, Bench::create(rt));
    ASSIGN_OR_RETURN(Word* const words, bench->make(std::vector<Word>(2)));
    OnStream& q = bench->queue;
    RETURN_IF_ERROR(q.put_bytes(nullptr, nullptr, 0, rt.pe()));
    RETURN_IF_ERROR(q.get_bytes(nullptr, nullptr, 0, rt.pe()));
    RETURN_IF_ERROR(q.put_bytes(nullptr, nullptr, 0, next_of(rt), set(words, 9)));
    RETURN_IF_ERROR(q.wait_until(words, Cmp::kGt, Word{8}));
    RETURN_IF_ERROR(q.wait_until_all(words, 0, nullptr, Cmp::kEq, Word{8}));
    RETURN_IF_ERROR(bench->finish());
    RETURN_IF_ERROR(rt.health());
    return rt.barrier();
  }));
}

TEST_P(OnStreamTest, CollectivesOfNothingTakeNull) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(const auto bench, Bench::create(rt));
    OnStream& q = bench->queue;
    const Team& world = rt.world();
    Word* const none = nullptr;
    const Word* const nothing = nullptr;
    RETURN_IF_ERROR(q.broadcast(world, none, nothing, 0, 0));
    RETURN_IF_ERROR(q.fcollect(world, none, nothing, 0));
    RETURN_IF_ERROR(q.collect(world, none, nothing, 0));
    RETURN_IF_ERROR(q.alltoall(world, none, nothing, 0));
    RETURN_IF_ERROR(q.alltoalls(world, none, nothing, 2, 3, 0));
    RETURN_IF_ERROR(q.reduce(world, none, nothing, 0, ReduceOp::kSum));
    RETURN_IF_ERROR(q.reducescatter(world, none, nothing, 0, ReduceOp::kSum));
    RETURN_IF_ERROR(q.scan_inclusive(world, none, nothing, 0));
    RETURN_IF_ERROR(q.scan_exclusive(world, none, nothing, 0));
    RETURN_IF_ERROR(bench->finish());
    RETURN_IF_ERROR(rt.health());
    return rt.barrier();
  }));
}

// Only those with something to bring can see what is wrong: all end without a wait all the same.
TEST_P(OnStreamTest, ACollectThatIsWrongForSomeFailsOnAll) {
  PeGroup group = GetParam();
  group.options.wait_timeout = 20;
  EXPECT_OK(run_pes(group, [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(const auto bench, Bench::create(rt));
    ASSIGN_OR_RETURN(Word* const words, bench->make(std::vector<Word>(8)));
    Word own = 0;
    const bool brings = rt.pe() == 0;
    const Status queued = bench->queue.collect(rt.world(), words, &own, brings ? 1 : 0);
    EXPECT_EQ(queued.is_ok(), !brings);
    RETURN_IF_ERROR(bench->finish());
    const Status health = rt.health();
    EXPECT_CODE(health, Code::kOutOfRange);
    EXPECT_THAT(std::string(health.text()), HasSubstr("collect"));
    return rt.barrier();
  }));
}

template <class T>
Status wait_in_all_ways(Runtime& rt, Bench& bench) {
  ASSIGN_OR_RETURN(T* const words, bench.make(std::vector<T>(4)));
  ASSIGN_OR_RETURN(int* const status, bench.make(std::vector<int>{0, 1, 0, 0}));
  ASSIGN_OR_RETURN(T* const values, bench.make(std::vector<T>{3, 77, 3, 3}));
  OnStream& q = bench.queue;
  RETURN_IF_ERROR(q.wait_until(words, Cmp::kNe, T{0}));
  RETURN_IF_ERROR(q.wait_until(words, Cmp::kEq, T{3}));
  RETURN_IF_ERROR(q.wait_until(words, Cmp::kGe, T{3}));
  RETURN_IF_ERROR(q.wait_until(words, Cmp::kGt, T{2}));
  RETURN_IF_ERROR(q.wait_until(words, Cmp::kLe, T{3}));
  RETURN_IF_ERROR(q.wait_until(words, Cmp::kLt, T{4}));
  RETURN_IF_ERROR(q.wait_until_all(words, 4, status, Cmp::kEq, T{3}));
  RETURN_IF_ERROR(q.wait_until_all_vector(words, 4, status, Cmp::kEq, values));
  const T three = 3;
  for (const int i : {3, 2, 0})
    RETURN_IF_ERROR(rt.context().put(words + i, &three, 1, next_of(rt)));
  RETURN_IF_ERROR(rt.context().quiet());
  RETURN_IF_ERROR(bench.finish());
  RETURN_IF_ERROR(rt.barrier());
  return rt.health();
}

TEST_P(OnStreamTest, WaitsTakeAllTypesAndComparisons) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(const auto bench, Bench::create(rt));
    RETURN_IF_ERROR(wait_in_all_ways<std::uint64_t>(rt, *bench));
    RETURN_IF_ERROR(wait_in_all_ways<std::int64_t>(rt, *bench));
    RETURN_IF_ERROR(wait_in_all_ways<std::uint32_t>(rt, *bench));
    RETURN_IF_ERROR(wait_in_all_ways<std::int32_t>(rt, *bench));
    RETURN_IF_ERROR(wait_in_all_ways<std::int16_t>(rt, *bench));
    RETURN_IF_ERROR(wait_in_all_ways<std::uint8_t>(rt, *bench));
    RETURN_IF_ERROR(wait_in_all_ways<float>(rt, *bench));
    return wait_in_all_ways<double>(rt, *bench);
  }));
}

TEST_P(OnStreamTest, ABarrierCompletesWhatWasQueuedBeforeOnAllPes) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    constexpr std::size_t kMany = 1000;
    const auto n = static_cast<std::size_t>(rt.npes());
    ASSIGN_OR_RETURN(const auto bench, Bench::create(rt));
    ASSIGN_OR_RETURN(Word* const data, bench->make(std::vector<Word>(kMany)));
    ASSIGN_OR_RETURN(Word* const table, bench->make(std::vector<Word>(n * kMany)));
    ASSIGN_OR_RETURN(Word* const seen, bench->make(std::vector<Word>(n * kMany)));
    OnStream& q = bench->queue;
    for (int round = 0; round < 10; ++round) {
      const std::vector<Word> mine = marks(rt.pe() + 100 * round, kMany);
      RETURN_IF_ERROR(bench->set(data, mine));
      for (int pe = 0; pe < rt.npes(); ++pe)
        RETURN_IF_ERROR(q.put(table + static_cast<std::size_t>(rt.pe()) * kMany, data, kMany, pe));
      RETURN_IF_ERROR(q.barrier(rt.world()));
      RETURN_IF_ERROR(q.get(seen, table, n * kMany, rt.pe()));
      RETURN_IF_ERROR(q.sync(rt.world()));
      RETURN_IF_ERROR(bench->finish());
      const auto got = bench->read(seen, n * kMany);
      for (std::size_t pe = 0; pe < n; ++pe) {
        const std::vector<Word> block(got.begin() + static_cast<std::ptrdiff_t>(pe * kMany),
                                      got.begin() + static_cast<std::ptrdiff_t>((pe + 1) * kMany));
        EXPECT_EQ(block, marks(static_cast<int>(pe) + 100 * round, kMany));
      }
    }
    RETURN_IF_ERROR(rt.health());
    return rt.barrier();
  }));
}

// From nothing to more than one block moves.
const std::size_t kCounts[] = {0, 1, 3, 127, 1000, 20011};

TEST_P(OnStreamTest, BlocksAreCollectedExchangedAndBroadcast) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    const Team& world = rt.world();
    const auto n = static_cast<std::size_t>(rt.npes());
    ASSIGN_OR_RETURN(const auto bench, Bench::create(rt));
    OnStream& q = bench->queue;
    for (const std::size_t count : kCounts) {
      const std::vector<Word> poison(n * count + 1, ~Word{0});
      ASSIGN_OR_RETURN(Word* const src, bench->make(marks(rt.pe(), n * count + 1)));
      ASSIGN_OR_RETURN(Word* const all, bench->make(poison));
      ASSIGN_OR_RETURN(Word* const swapped, bench->make(poison));
      ASSIGN_OR_RETURN(Word* const told, bench->make(poison));
      const int root = rt.npes() - 1;
      RETURN_IF_ERROR(q.fcollect(world, all, src, count));
      RETURN_IF_ERROR(q.alltoall(world, swapped, src, count));
      RETURN_IF_ERROR(q.broadcast(world, told, src, count, root));
      RETURN_IF_ERROR(bench->finish());
      std::vector<Word> want_all = poison, want_swapped = poison, want_told = poison;
      for (std::size_t pe = 0; pe < n; ++pe)
        for (std::size_t i = 0; i < count; ++i) {
          const auto mine = static_cast<std::size_t>(rt.pe()) * count;
          want_all[pe * count + i] = mark(static_cast<int>(pe), i);
          want_swapped[pe * count + i] = mark(static_cast<int>(pe), mine + i);
        }
      for (std::size_t i = 0; i < count; ++i) want_told[i] = mark(root, i);
      EXPECT_EQ(bench->read(all, poison.size()), want_all) << count;
      EXPECT_EQ(bench->read(swapped, poison.size()), want_swapped) << count;
      EXPECT_EQ(bench->read(told, poison.size()), want_told) << count;
      RETURN_IF_ERROR(rt.barrier());
      for (Word* const memory : {src, all, swapped, told}) RETURN_IF_ERROR(rt.free(memory));
    }
    return rt.health();
  }));
}

// The values that PE `pe` gives: small, so that no product overflows; signed where T is.
template <class T>
std::vector<T> given(int pe, std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed + static_cast<std::uint64_t>(pe));
  std::vector<T> values(count);
  for (T& value : values) {
    const int drawn = static_cast<int>(random() % 5) - (std::is_unsigned_v<T> ? 0 : 2);
    if constexpr (SmallFloat<T>::value)
      value = T(static_cast<float>(drawn) / 7.0f);
    else if constexpr (std::is_floating_point_v<T>)
      value = static_cast<T>(drawn) + static_cast<T>(drawn) / T{7};
    else
      value = static_cast<T>(drawn);
  }
  return values;
}

// As EXPECT_EQ compares and prints them.
template <class T>
std::vector<T> comparable(const std::vector<T>& values) {
  return values;
}
std::vector<std::uint16_t> bits_of(const void* values, std::size_t count) {
  std::vector<std::uint16_t> bits(count);
  std::memcpy(bits.data(), values, count * sizeof(bits[0]));
  return bits;
}
std::vector<std::uint16_t> comparable(const std::vector<Half>& values) {
  return bits_of(values.data(), values.size());
}
std::vector<std::uint16_t> comparable(const std::vector<Bfloat16>& values) {
  return bits_of(values.data(), values.size());
}

template <class T>
Status reduce_in_all_ways(Runtime& rt, Bench& bench, std::size_t count) {
  const auto n = static_cast<std::size_t>(rt.npes());
  const auto me = static_cast<std::size_t>(rt.pe());
  const Element element = element_of<T>();
  std::vector<ReduceOp> ops{ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kMin, ReduceOp::kMax};
  const std::vector<T> poison(count + 1, static_cast<T>(99));
  if (std::is_integral_v<T>) ops.insert(ops.end(), {ReduceOp::kAnd, ReduceOp::kOr, ReduceOp::kXor});
  ASSIGN_OR_RETURN(T* const src, bench.make(std::vector<T>(n * count + 1)));
  ASSIGN_OR_RETURN(T* const dst, bench.make(std::vector<T>(count + 1)));
  ASSIGN_OR_RETURN(T* const part, bench.make(std::vector<T>(count + 1)));
  OnStream& q = bench.queue;
  for (const ReduceOp op : ops) {
    std::vector<std::vector<T>> all;
    for (std::size_t pe = 0; pe < n; ++pe)
      all.push_back(given<T>(static_cast<int>(pe), n * count + 1, 17 * static_cast<Word>(op)));
    RETURN_IF_ERROR(bench.set(src, all[me]));
    RETURN_IF_ERROR(bench.set(dst, poison));
    RETURN_IF_ERROR(bench.set(part, poison));
    RETURN_IF_ERROR(rt.barrier());
    RETURN_IF_ERROR(q.reduce_elements(rt.world(), dst, src, count, element, op));
    RETURN_IF_ERROR(q.reducescatter_elements(rt.world(), part, src, count, element, op));
    RETURN_IF_ERROR(q.reduce_elements(rt.world(), src, src, count, element, op));  // in place
    RETURN_IF_ERROR(bench.finish());
    std::vector<T> want = poison, want_part = poison;
    for (std::size_t i = 0; i < count; ++i) {
      want[i] = all[0][i];
      want_part[i] = all[0][me * count + i];
      for (std::size_t pe = 1; pe < n; ++pe) {
        want[i] = script::apply(op, want[i], all[pe][i]);
        want_part[i] = script::apply(op, want_part[i], all[pe][me * count + i]);
      }
    }
    EXPECT_EQ(comparable(bench.read(dst, count + 1)), comparable(want))
        << static_cast<int>(op) << ", " << count;
    EXPECT_EQ(comparable(bench.read(part, count + 1)), comparable(want_part))
        << static_cast<int>(op) << ", " << count;
    want.back() = all[me][count];
    EXPECT_EQ(comparable(bench.read(src, count + 1)), comparable(want))
        << "in place " << static_cast<int>(op);
    RETURN_IF_ERROR(bench.set(src, all[me]));
    RETURN_IF_ERROR(rt.barrier());
    RETURN_IF_ERROR(q.reducescatter_elements(rt.world(), src, src, count, element, op));
    RETURN_IF_ERROR(bench.finish());
    want = all[me];  // behind the result lies what was there
    std::copy_n(want_part.begin(), count, want.begin());
    EXPECT_EQ(comparable(bench.read(src, want.size())), comparable(want))
        << "scattered in place " << static_cast<int>(op);
    RETURN_IF_ERROR(rt.barrier());
  }
  for (T* const memory : {src, dst, part}) RETURN_IF_ERROR(rt.free(memory));
  return rt.health();
}

TEST_P(OnStreamTest, ReductionsFoldInRankOrder) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(const auto bench, Bench::create(rt));
    for (const std::size_t count :
         {std::size_t{0}, std::size_t{1}, std::size_t{101}, std::size_t{40007}}) {
      RETURN_IF_ERROR(reduce_in_all_ways<float>(rt, *bench, count));
      RETURN_IF_ERROR(reduce_in_all_ways<std::int32_t>(rt, *bench, count));
    }
    for (const std::size_t count : {std::size_t{5}, std::size_t{40007}}) {
      RETURN_IF_ERROR(reduce_in_all_ways<Half>(rt, *bench, count));
      RETURN_IF_ERROR(reduce_in_all_ways<Bfloat16>(rt, *bench, count));
    }
    RETURN_IF_ERROR(reduce_in_all_ways<std::int8_t>(rt, *bench, 70001));
    RETURN_IF_ERROR(reduce_in_all_ways<std::uint16_t>(rt, *bench, 40003));
    RETURN_IF_ERROR(reduce_in_all_ways<std::int64_t>(rt, *bench, 10007));
    RETURN_IF_ERROR(reduce_in_all_ways<std::uint64_t>(rt, *bench, 9));
    return reduce_in_all_ways<double>(rt, *bench, 10007);
  }));
}

TEST_P(OnStreamTest, TeamsMeetByThemselves) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(const auto bench, Bench::create(rt));
    const int parity = rt.pe() % 2;
    const int size = (rt.npes() + 1 - parity) / 2;
    ASSIGN_OR_RETURN(Team evens, rt.split_strided(rt.world(), 0, 2, (rt.npes() + 1) / 2));
    ASSIGN_OR_RETURN(Team odds, rt.npes() < 2 ? Result<Team>(Team{})
                                              : rt.split_strided(rt.world(), 1, 2, rt.npes() / 2));
    const Team& mine = parity == 0 ? evens : odds;
    ASSIGN_OR_RETURN(Word* const src, bench->make(marks(rt.pe(), 50000)));
    ASSIGN_OR_RETURN(Word* const dst, bench->make(std::vector<Word>(50000)));
    RETURN_IF_ERROR(bench->queue.reduce(mine, dst, src, 50000, ReduceOp::kMax));
    RETURN_IF_ERROR(bench->queue.broadcast(mine, src, dst, 7, size - 1));
    RETURN_IF_ERROR(bench->finish());
    EXPECT_EQ(bench->read(dst, 50000), marks(parity + 2 * (size - 1), 50000));
    EXPECT_EQ(bench->read(src, 7), marks(parity + 2 * (size - 1), 7));
    RETURN_IF_ERROR(rt.barrier());
    if (rt.npes() > 1) {
      const Team& other = parity == 0 ? odds : evens;
      EXPECT_CODE(bench->queue.barrier(other), Code::kInvalidArgument);
    }
    return rt.barrier();
  }));
}

TEST_P(OnStreamTest, WrongArgumentsAreRefusedBeforeAnythingIsQueued) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(const auto bench, Bench::create(rt));
    ASSIGN_OR_RETURN(Word* const words, bench->make(std::vector<Word>(8)));
    OnStream& q = bench->queue;
    Word own = 0;
    EXPECT_CODE(q.put(words, words, 1, rt.npes()), Code::kOutOfRange);
    EXPECT_CODE(q.put(&own, words, 1, rt.pe()), Code::kNotSymmetric);
    EXPECT_CODE(q.put<Word>(words, nullptr, 1, rt.pe()), Code::kInvalidArgument);
    EXPECT_FALSE(q.get(&own, words, std::size_t{1} << 40, rt.pe()).is_ok());
    auto* const odd = reinterpret_cast<Word*>(reinterpret_cast<char*>(words) + 4);
    EXPECT_CODE(q.signal(set(odd, 1), rt.pe()), Code::kInvalidArgument);
    EXPECT_CODE(q.wait_until(odd, Cmp::kEq, Word{1}), Code::kInvalidArgument);
    EXPECT_CODE(q.amo_bytes(Amo::kFetchAdd, words, 8, 1, rt.pe()), Code::kInvalidArgument);
    EXPECT_CODE(q.broadcast(rt.world(), words, words + 4, 1, rt.npes()), Code::kOutOfRange);
    EXPECT_CODE(q.broadcast(rt.world(), words, &own, 1, 0), Code::kNotSymmetric);
    EXPECT_FALSE(q.fcollect(rt.world(), words, words, std::size_t{1} << 62).is_ok());
    EXPECT_CODE(q.reduce(rt.world(), reinterpret_cast<float*>(words),
                         reinterpret_cast<float*>(words), 1, ReduceOp::kXor),
                Code::kInvalidArgument);
    if (rt.gpu() >= 0) {
      ASSIGN_OR_RETURN(Word* const on_host, rt.allocate<Word>(1));
      const Status refused = q.put(on_host, words, 1, rt.pe());
      EXPECT_EQ(refused.code(), Code::kInvalidArgument);
      EXPECT_THAT(said(refused), AllOf(HasSubstr("dst"), HasSubstr("allocate_device")));
    }
    RETURN_IF_ERROR(bench->finish());
    EXPECT_EQ(bench->read(words, 8), std::vector<Word>(8));
    RETURN_IF_ERROR(rt.health());
    return rt.barrier();
  }));
}

TEST_P(OnStreamTest, AWaitThatNobodyEndsIsReported) {
  PeGroup group = GetParam();
  group.options.wait_timeout = 2;  // of barriers, too, beside whatever else this machine does
  EXPECT_OK(run_pes(group, [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(const auto bench, Bench::create(rt));
    ASSIGN_OR_RETURN(Word* const words, bench->make(std::vector<Word>(2, 5)));
    RETURN_IF_ERROR(bench->queue.wait_until(words + 1, Cmp::kGe, Word{7}));
    Status health;
    while (health.is_ok()) health = rt.health();
    EXPECT_EQ(health.code(), Code::kTimeout);
    EXPECT_THAT(said(health), AllOf(HasSubstr("offset"), HasSubstr("5"), HasSubstr(">= 7")));
    const Word seven = 7;
    RETURN_IF_ERROR(rt.context().put(words + 1, &seven, 1, rt.pe()));
    return bench->finish();
  }));
}

// --- host threads on the same memory
// ---------------------------------------------------------------

TEST_P(OnStreamTest, HostThreadsUpdateAndAwaitTheSameMemory) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(const auto bench, Bench::create(rt));
    ASSIGN_OR_RETURN(Word* const words, bench->make(std::vector<Word>(8)));
    ASSIGN_OR_RETURN(auto* const narrow, bench->make(std::vector<std::int32_t>(8)));
    Context& c = rt.context();
    for (int pe = 0; pe < rt.npes(); ++pe) {
      RETURN_IF_ERROR(c.atomic_add(words, Word{1}, pe));
      RETURN_IF_ERROR(c.atomic_fetch_add(narrow, 2, pe).status());
      RETURN_IF_ERROR(c.signal(add(words + 1, 10), pe));
    }
    const auto n = static_cast<Word>(rt.npes());
    RETURN_IF_ERROR(c.quiet());
    RETURN_IF_ERROR(wait_until(c, words, Cmp::kEq, n));
    RETURN_IF_ERROR(wait_until(c, words + 1, Cmp::kEq, 10 * n));
    RETURN_IF_ERROR(wait_until(c, narrow, Cmp::kEq, 2 * rt.npes()));
    RETURN_IF_ERROR(rt.barrier());
    ASSIGN_OR_RETURN(const Word old, c.atomic_compare_swap(words + 2, Word{0}, Word{7}, rt.pe()));
    EXPECT_EQ(old, 0u);
    ASSIGN_OR_RETURN(const Word kept, c.atomic_compare_swap(words + 2, Word{0}, Word{8}, rt.pe()));
    EXPECT_EQ(kept, 7u);
    ASSIGN_OR_RETURN(const Word swapped, c.atomic_swap(words + 2, Word{12}, rt.pe()));
    EXPECT_EQ(swapped, 7u);
    ASSIGN_OR_RETURN(const Word anded, c.atomic_fetch_and(words + 2, Word{4}, rt.pe()));
    EXPECT_EQ(anded, 12u);
    RETURN_IF_ERROR(c.atomic_or(words + 2, Word{3}, rt.pe()));
    RETURN_IF_ERROR(c.quiet());
    RETURN_IF_ERROR(c.atomic_xor(words + 2, Word{1}, rt.pe()));
    RETURN_IF_ERROR(c.quiet());
    ASSIGN_OR_RETURN(const Word fetched, c.atomic_fetch(words + 2, rt.pe()));
    EXPECT_EQ(fetched, 6u);
    RETURN_IF_ERROR(c.atomic_set(words + 2, Word{20}, rt.pe()));
    RETURN_IF_ERROR(c.quiet());
    ASSIGN_OR_RETURN(const std::size_t first,
                     wait_until_any(c, words + 2, 3, nullptr, Cmp::kEq, Word{20}));
    EXPECT_EQ(first, 0u);
    return rt.barrier();
  }));
}

TEST_P(OnStreamTest, HostThreadsCallCollectivesOnTheSameMemory) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(const auto bench, Bench::create(rt));
    const auto n = static_cast<std::size_t>(rt.npes());
    Context& c = rt.context();
    for (const std::size_t count : {std::size_t{5}, std::size_t{30011}}) {
      ASSIGN_OR_RETURN(Word* const src, bench->make(marks(rt.pe(), n * count)));
      ASSIGN_OR_RETURN(Word* const dst, bench->make(std::vector<Word>(n * count)));
      RETURN_IF_ERROR(reduce(c, rt.world(), dst, src, count, ReduceOp::kMin));
      EXPECT_EQ(bench->read(dst, count), marks(0, count));
      RETURN_IF_ERROR(broadcast(c, rt.world(), dst, src, count, rt.npes() - 1));
      EXPECT_EQ(bench->read(dst, count), marks(rt.npes() - 1, count));
      RETURN_IF_ERROR(fcollect(c, rt.world(), dst, src, count));
      EXPECT_EQ(bench->read(dst, n * count).back(), mark(rt.npes() - 1, count - 1));
      RETURN_IF_ERROR(alltoall(c, rt.world(), dst, src, count));
      EXPECT_EQ(bench->read(dst, 1)[0], mark(0, static_cast<std::size_t>(rt.pe()) * count));
      RETURN_IF_ERROR(reducescatter(c, rt.world(), dst, src, count, ReduceOp::kMax));
      EXPECT_EQ(bench->read(dst, 1)[0],
                mark(rt.npes() - 1, static_cast<std::size_t>(rt.pe()) * count));
      RETURN_IF_ERROR(rt.barrier());
    }
    return rt.health();
  }));
}

INSTANTIATE_TEST_SUITE_P(Pes, OnStreamTest, ::testing::ValuesIn(groups({1, 2, 3})), group_name);

#ifdef FAKE_CUDA_LIBRARY
// More than can have run when the runtimes go, and nobody waits for it: the end completes all.
TEST(QueuedOnHostThreads, RunsBeforeTheRuntimeGoes) {
  constexpr std::size_t kCount = 5000;
  for (const int npes : {1, 3}) {
    std::vector<Stream> streams(static_cast<std::size_t>(npes));
    std::vector<Word> last(streams.size());
    for (Stream& stream : streams) ASSERT_TRUE(cpu::create_stream(&stream).is_ok());
    EXPECT_OK(run_local(npes, [&](Runtime& rt) -> Status {
      ASSIGN_OR_RETURN(Word* const src, rt.allocate<Word>(kCount));
      ASSIGN_OR_RETURN(Word* const dst, rt.allocate<Word>(kCount));
      std::fill_n(src, kCount, Word{7});
      RETURN_IF_ERROR(rt.barrier());
      const auto me = static_cast<std::size_t>(rt.pe());
      OnStream queue(rt.context(), streams[me]);
      for (int i = 0; i < 50; ++i)
        RETURN_IF_ERROR(queue.reduce(rt.world(), dst, src, kCount, ReduceOp::kSum));
      return queue.get_bytes(&last[me], dst + kCount - 1, sizeof(Word), rt.pe());
    }));
    EXPECT_EQ(last, std::vector<Word>(last.size(), 7 * static_cast<Word>(npes)));
    for (const Stream stream : streams) EXPECT_OK(cpu::destroy_stream(stream));
  }
}

// A job that has failed does not wait for what is queued; its memory stays until that has run.
TEST(QueuedOnHostThreads, KeepsTheMemoryOfAJobThatFailed) {
  Options options;
  options.wait_timeout = 1;
  Stream stream = nullptr;
  ASSERT_TRUE(cpu::create_stream(&stream).is_ok());
  const Status status = run_local(
      2,
      [&](Runtime& rt) -> Status {
        ASSIGN_OR_RETURN(Word* const words, rt.callocate<Word>(1000));
        if (rt.pe() == 1) return Status::error(Code::kIo, "this PE ends");
        OnStream queue(rt.context(), stream);
        RETURN_IF_ERROR(queue.wait_until(words, Cmp::kEq, Word{1}));  // for nobody
        RETURN_IF_ERROR(queue.put(words + 500, words, 500, 0));
        RETURN_IF_ERROR(queue.put(words + 500, words, 500, 1));
        while (rt.health().is_ok()) std::this_thread::yield();
        return rt.health();
      },
      options);
  EXPECT_FALSE(status.is_ok());
  EXPECT_OK(cpu::destroy_stream(stream));  // which waits for all of it
}
#endif

}  // namespace
}  // namespace weft
