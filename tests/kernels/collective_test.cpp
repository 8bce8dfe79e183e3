// Collective operators against a model: every algorithm, type, operator and size.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include <weft/kernels/all_reduce_norm.hpp>

#include "kernels/collectives/algorithm.hpp"
#include "kernels/collectives/limits.hpp"
#include "tests/kernels/absence.hpp"
#include "tests/kernels/collective_play.hpp"
#if WEFT_TARGET_CPU
#include "tests/support/pe_group.hpp"
#endif

namespace weft::kernels::test {
namespace {

const std::vector<Collective> kAll = {Collective::kAllReduce, Collective::kAllGather,
                                      Collective::kReduceScatter, Collective::kAllToAll,
                                      Collective::kBroadcast};

std::vector<Algorithm> algorithms_of(Collective what) {
  if (what == Collective::kAllReduce)
    return {Algorithm::kLL,      Algorithm::kTwoShotLL,      Algorithm::kSimple,
            Algorithm::kLamport, Algorithm::kTwoShotLamport, Algorithm::kZeroCopy};
  if (what == Collective::kReduceScatter)
    return {Algorithm::kLL, Algorithm::kSimple, Algorithm::kLamport, Algorithm::kZeroCopy};
  if (what == Collective::kBroadcast)
    return {Algorithm::kLL, Algorithm::kSimple, Algorithm::kScatteredSimple, Algorithm::kLamport,
            Algorithm::kZeroCopy};
  return {Algorithm::kLL, Algorithm::kSimple, Algorithm::kLamport, Algorithm::kZeroCopy};
}

// Bytes of a message: nothing, a unit and its neighbours, edges of a line, of a channel's slot for
// LL (64 units on hosts) and of a piece, and several of them.
std::vector<std::size_t> sizes_of(std::size_t element) {
  std::vector<std::size_t> counts;
  for (const std::size_t bytes : {0, 1, 3, 8, 24, 120, 136, 512, 1016, 1040, 4104, 9000, 40000})
    counts.push_back((bytes + element - 1) / element);
  return counts;
}

std::size_t most_bytes(std::size_t message, int npes) {
  return (message + 64) * static_cast<std::size_t>(npes);
}

// All, or of jobs of many threads, for which sanitizers take their time, one of them.
std::vector<DType> dtypes_for(int npes, std::mt19937_64& random) {
  const std::vector<DType> all = {DType::kFloat32, DType::kFloat16, DType::kBfloat16, DType::kInt32,
                                  DType::kUint8};
  if (npes <= 3) return all;
  return {all[random() % all.size()]};
}

class CollectiveTest : public ::testing::TestWithParam<std::tuple<Collective, int>> {};

// Chance takes dtype, operator, alignment and whether in place; all sizes are tried with each
// algorithm, so a few runs try everything.
TEST_P(CollectiveTest, EqualsTheModel) {
  const auto [what, npes] = GetParam();
  EXPECT_OK(run_local(
      npes,
      [what = what](Runtime& rt) -> Status {
        ASSIGN_OR_RETURN(Buffers buffers, Buffers::create(rt, most_bytes(40000, rt.npes())));
        std::mt19937_64 random(test_seed());
        for (const Algorithm algorithm : algorithms_of(what))
          for (const DType dtype : dtypes_for(rt.npes(), random)) {
            const bool is_lamport = is_by(what, algorithm, Protocol::kLamport);
            if (is_lamport && reduces(what) && (dtype == DType::kInt32 || dtype == DType::kUint8))
              continue;
            const ReduceOp op = is_lamport ? ReduceOp::kSum
                                           : std::array{ReduceOp::kSum, ReduceOp::kMin,
                                                        ReduceOp::kMax}[random() % 3];
            const std::vector<std::size_t> counts = sizes_of(bytes_of(dtype));
            CollectiveOptions options;
            options.algorithm = algorithm;
            options.symmetric = algorithm == Algorithm::kZeroCopy;
            options.blocks = 1 + static_cast<unsigned>(random() % 3);
            options.threads = kThreads + static_cast<unsigned>(random() % 2);
            ASSIGN_OR_RETURN(
                AnyOperator call,
                AnyOperator::create(rt, rt.world(), what, {counts.back(), dtype, op}, options));
            for (const std::size_t count : counts) {
              const bool may_alias = !options.symmetric || what != Collective::kAllToAll;
              Step step{what, dtype,         op, count, may_alias && random() % 2 == 0, 0,
                        0,    random() >> 32};
              step.shift = random() % 3 == 0 ? random() % 8 : 0;
              step.root = static_cast<int>(random() % static_cast<std::uint64_t>(rt.npes()));
              RETURN_IF_ERROR(play(call, buffers, step, rt.pe(), rt.npes()));
            }
            RETURN_IF_ERROR(rt.barrier());
          }
        return rt.health();
      },
      job_options()));
}

INSTANTIATE_TEST_SUITE_P(Pes, CollectiveTest,
                         ::testing::Combine(::testing::ValuesIn(kAll),
                                            ::testing::Values(1, 2, 3, 5, 8)),
                         [](const auto& info) {
                           return std::string(to_string(std::get<0>(info.param))) + "_" +
                                  std::to_string(std::get<1>(info.param));
                         });

// Calls behind one another, none waited for, of sizes for which the table has other algorithms.
Status play_many(Runtime& rt, Collective what, int calls, const CollectiveOptions& options) {
  constexpr std::size_t kMost = 3000;
  ASSIGN_OR_RETURN(
      AnyOperator call,
      AnyOperator::create(rt, rt.world(), what, {kMost, DType::kFloat32, ReduceOp::kSum}, options));
  std::mt19937_64 random(test_seed() + static_cast<std::uint64_t>(what));
  std::vector<Step> steps;
  std::vector<Buffers> buffers;
  constexpr int kAtOnce = 8;
  for (int i = 0; i < kAtOnce; ++i) {
    ASSIGN_OR_RETURN(Buffers made, Buffers::create(rt, most_bytes(kMost * 4, rt.npes())));
    buffers.push_back(std::move(made));
  }
  for (int done = 0; done < calls; done += kAtOnce) {
    steps.clear();
    for (int i = 0; i < kAtOnce; ++i) {
      Step step{what, DType::kFloat32, ReduceOp::kSum};
      const std::uint64_t kind = random() % 8;
      step.count = kind < 5 ? 1 + random() % 4 : kind < 7 ? random() % 600 : random() % kMost;
      step.in_place = random() % 2 == 0 && (!options.symmetric || what != Collective::kAllToAll);
      step.root = static_cast<int>(random() % static_cast<std::uint64_t>(rt.npes()));
      step.seed = random() >> 32;
      steps.push_back(step);
    }
    for (std::size_t i = 0; i < kAtOnce; ++i)
      RETURN_IF_ERROR(buffers[i].prepare(steps[i], rt.pe(), rt.npes()));
    for (std::size_t i = 0; i < kAtOnce; ++i)
      RETURN_IF_ERROR(call(nullptr, buffers[i].out, buffers[i].in, steps[i].count, steps[i].root));
    RETURN_IF_ERROR(dev::synchronize());
    for (std::size_t i = 0; i < kAtOnce; ++i)
      RETURN_IF_ERROR(buffers[i].check(steps[i], rt.pe(), rt.npes()));
  }
  RETURN_IF_ERROR(rt.barrier());
  return rt.health();
}

class ManyCalls : public ::testing::TestWithParam<Collective> {};

CollectiveOptions few_blocks() {
  CollectiveOptions options;
  options.blocks = 2;
  options.threads = kThreads;
  return options;
}

TEST_P(ManyCalls, FollowOneAnother) {
  EXPECT_OK(run_local(
      3, [](Runtime& rt) { return play_many(rt, GetParam(), 240, few_blocks()); }, job_options()));
}

// Some calls on symmetric buffers go straight there.
TEST_P(ManyCalls, FollowOneAnotherInSymmetricBuffers) {
  CollectiveOptions options = few_blocks();
  options.symmetric = true;
  options.table = {{GetParam(), 0, 1000, Algorithm::kLL, 2, kThreads},
                   {GetParam(), 0, 4000, Algorithm::kZeroCopy, 2, kThreads},
                   {GetParam(), 0, 8000, Algorithm::kSimple, 2, kThreads},
                   {GetParam(), 0, 12000, Algorithm::kZeroCopy, 2, kThreads}};
  EXPECT_OK(run_local(
      3, [&](Runtime& rt) { return play_many(rt, GetParam(), 120, options); }, job_options()));
}

// The number at which they begin anew comes after a few calls.
TEST_P(ManyCalls, GoOnWhereRoundsBeginAnew) {
  CollectiveOptions options = few_blocks();
  options.first_round = ~std::uint32_t{0} - (1u << 20) - 20;
  EXPECT_OK(run_local(
      3, [&](Runtime& rt) { return play_many(rt, GetParam(), 120, options); }, job_options()));
}

INSTANTIATE_TEST_SUITE_P(Collectives, ManyCalls, ::testing::ValuesIn(kAll),
                         [](const auto& info) { return std::string(to_string(info.param)); });

TEST(CollectiveOperators, TwoRunAtOnceOnStreamsOfTheirOwn) {
  EXPECT_OK(run_local(
      3,
      [](Runtime& rt) -> Status {
        struct Lane {
          std::optional<AnyOperator> call;
          std::optional<Buffers> buffers;
          Stream stream = nullptr;
          Step step;
        };
        std::array<Lane, 2> lanes;
        std::mt19937_64 random(test_seed());
        for (Lane& lane : lanes) {
          ASSIGN_OR_RETURN(
              AnyOperator call,
              AnyOperator::create(rt, rt.world(), Collective::kAllReduce,
                                  {5000, DType::kBfloat16, ReduceOp::kSum}, few_blocks()));
          lane.call.emplace(std::move(call));
          ASSIGN_OR_RETURN(Buffers buffers, Buffers::create(rt, 16384));
          lane.buffers.emplace(std::move(buffers));
          RETURN_IF_ERROR(dev::create_stream(&lane.stream));
          RETURN_IF_ERROR(dev::launch({1, 1, 0}, Nothing{}, lane.stream));  // may wait for others
          RETURN_IF_ERROR(dev::synchronize(lane.stream));
        }
        for (int i = 0; i < 20; ++i) {
          for (Lane& lane : lanes) {
            lane.step =
                Step{Collective::kAllReduce, DType::kBfloat16, ReduceOp::kSum, 1 + random() % 5000};
            lane.step.seed = random() >> 32;
            RETURN_IF_ERROR(lane.buffers->prepare(lane.step, rt.pe(), rt.npes()));
          }
          // In another order on every other PE: they do not wait for each other.
          for (int k = 0; k < 2; ++k) {
            Lane& lane = lanes[static_cast<std::size_t>((k + rt.pe()) % 2)];
            RETURN_IF_ERROR(
                (*lane.call)(lane.stream, lane.buffers->out, lane.buffers->in, lane.step.count, 0));
          }
          for (Lane& lane : lanes) {
            RETURN_IF_ERROR(dev::synchronize(lane.stream));
            RETURN_IF_ERROR(lane.buffers->check(lane.step, rt.pe(), rt.npes()));
          }
        }
        for (Lane& lane : lanes) RETURN_IF_ERROR(dev::destroy_stream(lane.stream));
        return rt.barrier();
      },
      job_options()));
}

// Odd and even PEs are teams of their own, listed backwards.
TEST(CollectiveOperators, WorkOnTeams) {
  EXPECT_OK(run_local(
      6,
      [](Runtime& rt) -> Status {
        ASSIGN_OR_RETURN(const Team odd, rt.team_from_list(rt.world(), {5, 3, 1}));
        ASSIGN_OR_RETURN(const Team even, rt.team_from_list(rt.world(), {4, 2, 0}));
        const Team& mine = odd.is_member() ? odd : even;
        std::mt19937_64 random(test_seed());
        for (const Collective what : kAll) {
          ASSIGN_OR_RETURN(
              AnyOperator call,
              AnyOperator::create(rt, mine, what, {2000, DType::kFloat16, ReduceOp::kSum},
                                  few_blocks()));
          ASSIGN_OR_RETURN(Buffers buffers, Buffers::create(rt, most_bytes(4000, 3)));
          for (const std::size_t count : {5, 2000}) {
            Step step{what, DType::kFloat16, ReduceOp::kSum, count};
            step.seed = random() >> 32;
            step.root = 1;
            RETURN_IF_ERROR(play(call, buffers, step, mine.rank, mine.size));
          }
          RETURN_IF_ERROR(rt.barrier());
        }
        return rt.health();
      },
      job_options()));
}

#if WEFT_TARGET_CPU
// Nobody is mapped: all goes by the ring, and later puts overtake earlier ones.
TEST(CollectiveOperators, WorkWherePeersAreNotMapped) {
  Options options = job_options();
  options.fault =
      "seed=" + std::to_string(test_seed() & 0xffffffffu) + ",late=1,delay=0.5,delay_calls=64";
  options.ring_capacity = 16;
  EXPECT_OK(run_local(
      3,
      [](Runtime& rt) -> Status {
        CollectiveOptions chosen = few_blocks();
        for (const Collective what : kAll) {
          chosen.symmetric = !chosen.symmetric;  // what is not mapped goes by Simple all the same
          chosen.algorithm = chosen.symmetric ? Algorithm::kZeroCopy : Algorithm::kAuto;
          RETURN_IF_ERROR(play_many(rt, what, 24, chosen));
        }
        return Status::ok();
      },
      options));
}

TEST(CollectiveOperators, TakePesThatAreProcesses) {
  PeGroup group;
  group.pes = Pes::kProcesses;
  group.npes = 3;
  group.options = job_options();
  EXPECT_OK(run_pes(group, [](Runtime& rt) -> Status {
    CollectiveOptions chosen = few_blocks();
    for (const Collective what : kAll) RETURN_IF_ERROR(play_many(rt, what, 16, chosen));
    chosen.symmetric = true;
    chosen.algorithm = Algorithm::kZeroCopy;
    for (const Collective what : kAll) RETURN_IF_ERROR(play_many(rt, what, 16, chosen));
    return Status::ok();
  }));
}

// In and out are memory of the program's own.
TEST(CollectiveOperators, TakeAnyMemory) {
  EXPECT_OK(run_local(
      3,
      [](Runtime& rt) -> Status {
        ASSIGN_OR_RETURN(AllReduce sum, AllReduce::create(rt, {.max_count = 1000}));
        for (const std::size_t count : {1, 1000}) {
          std::vector<float> in(count, static_cast<float>(rt.pe() + 1)), out(count);
          RETURN_IF_ERROR(sum(nullptr, out.data(), in.data(), count));
          RETURN_IF_ERROR(dev::synchronize());
          EXPECT_EQ(out, std::vector<float>(count, 6));
        }
        return rt.barrier();
      },
      job_options()));
}
#endif

class Missing : public ::testing::TestWithParam<Algorithm> {};

// PE 1 does not come: the others report whom they waited for, end, and stay failed.
TEST_P(Missing, MemberIsReported) {
  Options options = job_options();
  options.wait_timeout = 0.2;
  Absence absence(2);
  const Status status = run_local(
      3,
      [&](Runtime& rt) -> Status {
        CollectiveOptions chosen = few_blocks();
        chosen.algorithm = GetParam();
        chosen.symmetric = chosen.algorithm == Algorithm::kZeroCopy;
        ASSIGN_OR_RETURN(AnyOperator call,
                         AnyOperator::create(rt, rt.world(), Collective::kAllReduce,
                                             {1000, DType::kFloat32, ReduceOp::kSum}, chosen));
        ASSIGN_OR_RETURN(Buffers buffers, Buffers::create(rt, 4096));
        Step step{Collective::kAllReduce, DType::kFloat32, ReduceOp::kSum, 1000};
        RETURN_IF_ERROR(buffers.prepare(step, rt.pe(), rt.npes()));
        if (rt.pe() != 1) {
          for (int i = 0; i < 3; ++i)
            RETURN_IF_ERROR(call(nullptr, buffers.out, buffers.in, step.count, 0));
          RETURN_IF_ERROR(dev::synchronize());
          absence.expect_report(rt, "AllReduce");
        } else {
          absence.outlast();
        }
        return Status::ok();
      },
      options);
  (void)status;  // the job has failed; how it ends is not the operator's
}

INSTANTIATE_TEST_SUITE_P(Algorithms, Missing,
                         ::testing::Values(Algorithm::kLL, Algorithm::kTwoShotLL,
                                           Algorithm::kSimple, Algorithm::kLamport,
                                           Algorithm::kTwoShotLamport, Algorithm::kZeroCopy),
                         [](const auto& info) {
                           std::string name = to_string(info.param);
                           std::erase(name, '-');
                           return name;
                         });

void expect_refused(const Status& status, Code code, const std::string& text) {
  EXPECT_CODE(status, code);
  EXPECT_THAT(std::string(status.text()), ::testing::HasSubstr(text));
}

// Members' NaNs differ in sign and payload, and one of infinity less infinity comes on the way: the
// sum is one NaN with the same bits on all.
TEST(CollectiveOperators, SumsOfNansAreTheSameBitsOnAllMembers) {
  constexpr std::size_t kCount = 1003, kKinds = 5;
  EXPECT_OK(run_local(
      3,
      [](Runtime& rt) -> Status {
        const auto n = static_cast<std::size_t>(rt.npes());
        ASSIGN_OR_RETURN(auto* const data, rt.allocate_device<std::uint32_t>(2 * kCount));
        ASSIGN_OR_RETURN(auto* const all, rt.allocate_device<std::uint32_t>(n * kCount));
        ASSIGN_OR_RETURN(AllGather gather, AllGather::create(rt, {.max_count = kCount}));
        // Element i is a NaN on the members whose bit is set in its kind; kind 0: infinities.
        std::vector<std::uint32_t> in(kCount);
        const auto me = static_cast<std::uint32_t>(rt.pe());
        for (std::size_t i = 0; i < kCount; ++i) {
          const std::size_t kind = i % kKinds;
          const std::uint32_t nan = 0x7fc00000u | (me & 1) << 31 | (me + 1) << 8 | (i & 0xff);
          const std::uint32_t infinity = 0x7f800000u | (me & 1) << 31;
          const std::size_t has_one = kind + 2;  // 3: PE 0 and 1; 4: 2; 5: 0 and 2; 6: 1 and 2
          in[i] = kind == 0 ? infinity : (has_one >> me & 1) != 0 ? nan : 0x3f800000u;
        }
        for (const Algorithm algorithm : algorithms_of(Collective::kAllReduce)) {
          CollectiveOptions options = few_blocks();
          options.algorithm = algorithm;
          options.symmetric = algorithm == Algorithm::kZeroCopy;
          ASSIGN_OR_RETURN(AllReduce sum, AllReduce::create(rt, {.max_count = kCount}, options));
          RETURN_IF_ERROR(rt.context().put(data, in.data(), kCount, rt.pe()));
          RETURN_IF_ERROR(rt.barrier());
          RETURN_IF_ERROR(sum(nullptr, data + kCount, data, kCount));
          RETURN_IF_ERROR(gather(nullptr, all, data + kCount, kCount));
          RETURN_IF_ERROR(dev::synchronize());
          std::vector<std::uint32_t> seen(n * kCount);
          RETURN_IF_ERROR(rt.context().get(seen.data(), all, seen.size(), rt.pe()));
          for (std::size_t i = 0; i < kCount; ++i) {
            EXPECT_GT(seen[i] & 0x7fffffffu, 0x7f800000u) << "element " << i << " is no NaN";
            for (std::size_t pe = 1; pe < n; ++pe)
              EXPECT_EQ(seen[pe * kCount + i], seen[i])
                  << "element " << i << " of PE " << pe << ", " << to_string(algorithm);
          }
          RETURN_IF_ERROR(rt.barrier());
        }
        return rt.health();
      },
      job_options()));
}

TEST(CollectiveOperators, RefuseWrongArguments) {
  EXPECT_OK(run_local(
      2,
      [](Runtime& rt) -> Status {
        ASSIGN_OR_RETURN(AllReduce sum, AllReduce::create(rt, {.max_count = 10}, few_blocks()));
        ASSIGN_OR_RETURN(Broadcast cast, Broadcast::create(rt, {.max_count = 10}, few_blocks()));
        ASSIGN_OR_RETURN(auto* const memory, rt.allocate_device<float>(16));
        auto* const odd = reinterpret_cast<std::byte*>(memory) + 2;
        const auto argument = Code::kInvalidArgument;
        expect_refused(sum(nullptr, memory, memory, 11), argument, "count is 11");
        expect_refused(sum(nullptr, nullptr, memory, 10), argument, "out is null");
        expect_refused(sum(nullptr, memory, nullptr, 10), argument, "in is null");
        expect_refused(sum(nullptr, odd, memory, 10), argument, "no multiple of 4");
        expect_refused(cast(nullptr, memory, memory, 10, 2), Code::kOutOfRange, "root is 2");
        EXPECT_OK(sum(nullptr, nullptr, nullptr, 0));

        expect_refused(AllReduce::create(rt, {10, DType::kFloat32, ReduceOp::kProd}).status(),
                       Code::kUnsupported, "kSum, kMin or kMax");
        expect_refused(AllReduce::create(rt, {10, static_cast<DType>(77)}).status(), argument,
                       "dtype is 77");
        CollectiveOptions options;
        options.threads = 1024;
        expect_refused(AllGather::create(rt, {.max_count = 10}, options).status(), argument,
                       "of 1024 threads");
        options.threads = 0;
        options.algorithm = Algorithm::kTwoShotLL;
        expect_refused(AllGather::create(rt, {.max_count = 10}, options).status(),
                       Code::kUnsupported, "no algorithm 'two-shot-ll'");
        options.algorithm = Algorithm::kLamport;
        expect_refused(
            AllReduce::create(rt, {10, DType::kFloat32, ReduceOp::kMin}, options).status(),
            Code::kUnsupported, "which of sums is for kSum of floats");
        options.algorithm = Algorithm::kZeroCopy;
        expect_refused(AllReduce::create(rt, {.max_count = 10}, options).status(), argument,
                       "options.symmetric does not say");
        options.symmetric = true;
        expect_refused(AllReduceNorm::create(rt, {1, 8, DType::kFloat32, 0}, options).status(),
                       Code::kUnsupported, "always go through its workspace");
        ASSIGN_OR_RETURN(AllReduce there, AllReduce::create(rt, {.max_count = 10}, options));
        ASSIGN_OR_RETURN(AllToAll swap, AllToAll::create(rt, {.max_count = 4}, options));
        alignas(16) static float elsewhere[16];
        expect_refused(there(nullptr, memory, elsewhere, 10), Code::kNotSymmetric,
                       "in, 40 bytes from");
        expect_refused(there(nullptr, elsewhere, memory, 10), Code::kNotSymmetric,
                       "is not symmetric memory that PE 0 maps");
        expect_refused(swap(nullptr, memory, memory, 4), argument, "it takes two buffers");
        // A difference between PEs is refused on all.
        const auto mine = static_cast<std::size_t>(rt.pe());
        expect_refused(AllReduce::create(rt, {.max_count = 10 + mine}).status(), argument,
                       "max_count is 10 on PE 0, but 11 on PE 1");
        ASSIGN_OR_RETURN(const Team first, rt.split_strided(rt.world(), 0, 1, 1));
        ASSIGN_OR_RETURN(AllReduce alone, AllReduce::create(rt, first, {.max_count = 10}));
        if (rt.pe() == 1) expect_refused(alone(nullptr, memory, memory, 1), argument, "no member");
        return rt.barrier();
      },
      job_options()));
}

}  // namespace
}  // namespace weft::kernels::test
