// AllToAllV: counts that differ from pair to pair and from call to call, and lie where kernels are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "tests/kernels/absence.hpp"
#include "tests/kernels/all_to_all_v_play.hpp"
#include "tests/kernels/collective_play.hpp"

namespace weft::kernels::test {
namespace {

constexpr std::size_t kMost = 1000;

CollectiveOptions options_of(Algorithm algorithm) {
  CollectiveOptions options;
  options.algorithm = algorithm;
  options.symmetric = algorithm == Algorithm::kZeroCopy;
  options.blocks = 1 + static_cast<unsigned>(test_seed() % 3);
  options.threads = kThreads;
  options.first_round = ~std::uint32_t{0} - (1u << 20) - 5;  // numbers begin anew on the way
  return options;
}

Status play_calls(Runtime& rt, std::size_t most, const CollectiveOptions& options, int calls) {
  ASSIGN_OR_RETURN(Exchange exchange, Exchange::create(rt, rt.world(), most, options));
  std::mt19937_64 random(test_seed());
  const Status refused = exchange.play_without_offsets();
  EXPECT_CODE(refused, Code::kInvalidArgument);
  EXPECT_THAT(std::string(refused.text()), ::testing::HasSubstr("sizes.send_offsets"));
  for (int i = 0; i < calls; ++i) RETURN_IF_ERROR(exchange.play(random() >> 40));
  RETURN_IF_ERROR(rt.barrier());
  return rt.health();
}

class AllToAllVTest : public ::testing::TestWithParam<std::tuple<Algorithm, int>> {
 protected:
  Algorithm algorithm() const { return std::get<0>(GetParam()); }
  int npes() const { return std::get<1>(GetParam()); }
};

TEST_P(AllToAllVTest, BringsWhatEachHasForEach) {
  EXPECT_OK(run_local(
      npes(), [&](Runtime& rt) { return play_calls(rt, kMost, options_of(algorithm()), 12); },
      job_options()));
}
// So few that one round of LL holds most messages whole.
TEST_P(AllToAllVTest, BringsAFewElements) {
  EXPECT_OK(run_local(
      npes(), [&](Runtime& rt) { return play_calls(rt, 100, options_of(algorithm()), 12); },
      job_options()));
}
INSTANTIATE_TEST_SUITE_P(Pes, AllToAllVTest,
                         ::testing::Combine(::testing::Values(Algorithm::kLL, Algorithm::kSimple,
                                                              Algorithm::kZeroCopy),
                                            ::testing::Values(1, 2, 3, 5, 8)),
                         [](const auto& info) {
                           std::string name = to_string(std::get<0>(info.param));
                           std::erase(name, '-');
                           return name + "_" + std::to_string(std::get<1>(info.param));
                         });

TEST(AllToAllV, TakesPacketsWhereOneRoundHoldsTheLargest) {
  EXPECT_OK(run_local(
      2,
      [](Runtime& rt) -> Status {
        for (const auto& [most, algorithm] :
             {std::pair(std::size_t{1}, Algorithm::kLL),
              std::pair(std::size_t{300}, Algorithm::kLL),
              std::pair(std::size_t{1} << 20, Algorithm::kSimple)}) {
          ASSIGN_OR_RETURN(AllToAllV op,
                           AllToAllV::create(rt, {most, DType::kFloat16, ReduceOp::kSum}));
          ASSIGN_OR_RETURN(const Plan plan, op.plan(most));
          EXPECT_EQ(plan.algorithm, algorithm) << to_string(plan) << " of " << most;
        }
        return rt.barrier();
      },
      job_options()));
}

// Ranks that are not PEs, and PEs that are no members.
TEST(AllToAllV, WorksOnATeam) {
  EXPECT_OK(run_local(
      5,
      [](Runtime& rt) -> Status {
        ASSIGN_OR_RETURN(const Team team, rt.split_strided(rt.world(), 1, 2, 2));
        ASSIGN_OR_RETURN(Exchange exchange,
                         Exchange::create(rt, team, 100, options_of(Algorithm::kLL)));
        if (team.is_member())
          for (std::uint64_t seed = 1; seed <= 10; ++seed)
            RETURN_IF_ERROR(exchange.play(test_seed() % 1000 + seed));
        else
          EXPECT_CODE(exchange.play_without_offsets(), Code::kInvalidArgument);
        RETURN_IF_ERROR(rt.barrier());
        return rt.health();
      },
      job_options()));
}

// PE 1 does not come: the others report whom they waited for, and end.
TEST(AllToAllV, ReportsAMemberThatIsMissing) {
  Options options = job_options();
  options.wait_timeout = 0.2;
  Absence absence(2);
  const Status status = run_local(
      3,
      [&](Runtime& rt) -> Status {
        ASSIGN_OR_RETURN(Exchange exchange,
                         Exchange::create(rt, rt.world(), kMost, options_of(Algorithm::kLL)));
        RETURN_IF_ERROR(exchange.prepare(test_seed() % 1000));
        if (rt.pe() == 1) {
          absence.outlast();
          return Status::ok();
        }
        for (int i = 0; i < 3; ++i) RETURN_IF_ERROR(exchange.call());
        RETURN_IF_ERROR(dev::synchronize());
        absence.expect_report(rt, "AllToAllV");
        return Status::ok();
      },
      options);
  (void)status;  // the job has failed; how it ends is not the operator's
}

// PEs that only send, only receive, or do neither, have null buffers where there are no elements.
TEST(AllToAllV, TakesNullWhereNothingComesOrGoes) {
  EXPECT_OK(run_local(
      3,
      [](Runtime& rt) -> Status {
        const auto n = static_cast<std::size_t>(rt.npes());
        ASSIGN_OR_RETURN(auto* const data, rt.allocate_device<std::uint16_t>(n * kMost));
        ASSIGN_OR_RETURN(auto* const words, rt.allocate_device<std::uint64_t>(4 * n));
        std::vector<std::uint64_t> sizes(4 * n, 0);
        if (rt.pe() == 2) sizes[0] = kMost;  // for PE 0
        Context& ctx = rt.context();
        for (const Algorithm algorithm : {Algorithm::kLL, Algorithm::kSimple}) {
          ASSIGN_OR_RETURN(AllToAllV op,
                           AllToAllV::create(rt, {kMost, DType::kFloat16, ReduceOp::kSum},
                                             options_of(algorithm)));
          const std::vector<std::uint16_t> mine(n * kMost, static_cast<std::uint16_t>(rt.pe()));
          RETURN_IF_ERROR(ctx.put(data, mine.data(), mine.size(), rt.pe()));
          RETURN_IF_ERROR(ctx.put(words, sizes.data(), sizes.size(), rt.pe()));
          RETURN_IF_ERROR(op(nullptr, rt.pe() == 0 ? data : nullptr, rt.pe() == 2 ? data : nullptr,
                             {words, words + n, words + 2 * n, words + 3 * n}));
          RETURN_IF_ERROR(dev::synchronize());
          std::vector<std::uint16_t> came(kMost);
          std::vector<std::uint64_t> counts(n);
          RETURN_IF_ERROR(ctx.get(came.data(), data, kMost, rt.pe()));
          RETURN_IF_ERROR(ctx.get(counts.data(), words + 3 * n, n, rt.pe()));
          if (rt.pe() == 0)
            EXPECT_EQ(std::count(came.begin(), came.end(), 2), static_cast<long>(kMost));
          EXPECT_EQ(counts[2], rt.pe() == 0 ? kMost : 0);
          EXPECT_EQ(counts[0] + counts[1], 0u);
          RETURN_IF_ERROR(rt.barrier());
        }
        return rt.health();
      },
      job_options()));
}

#if WEFT_TARGET_CPU
TEST(AllToAllV, WorksWherePeersAreNotMapped) {
  Options options = job_options();
  options.fault =
      "seed=" + std::to_string(test_seed() & 0xffffffffu) + ",late=1,delay=0.5,delay_calls=64";
  options.ring_capacity = 16;
  EXPECT_OK(run_local(
      3, [](Runtime& rt) { return play_calls(rt, kMost, options_of(Algorithm::kLL), 12); },
      options));
}
#endif

}  // namespace
}  // namespace weft::kernels::test
