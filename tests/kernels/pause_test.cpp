// The same kernels with threads held up at random places: before data is sent, before waits, before
// a block's end. So the orders come about that a quick machine rarely takes.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "kernels/core/pause.hpp"
#include "tests/kernels/ag_gemm_play.hpp"
#include "tests/kernels/all_to_all_v_play.hpp"
#include "tests/kernels/collective_play.hpp"
#include "tests/kernels/gemm_ar_play.hpp"
#include "tests/kernels/gemm_rs_play.hpp"
#include "tests/kernels/norm_play.hpp"

namespace weft::kernels {
namespace {
std::atomic<std::uint64_t> pauses{0};
}  // namespace

// In the place of cpu::pause() (CMakeLists.txt).
void wrap_pause(Point) __asm__("__wrap__ZN4weft7kernels3cpu5pauseENS0_5PointE");
void wrap_pause(Point) {
  static thread_local std::mt19937_64 random(test_seed() + pauses.fetch_add(1));
  pauses.fetch_add(1, std::memory_order_relaxed);
  if (random() % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
}

namespace test {
namespace {

class PausedTest : public ::testing::TestWithParam<Algorithm> {};

TEST_P(PausedTest, CallsEqualTheModel) {
  EXPECT_OK(run_local(
      4,
      [](Runtime& rt) -> Status {
        std::mt19937_64 random(test_seed());
        for (const Collective what :
             {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
              Collective::kAllToAll, Collective::kBroadcast}) {
          CollectiveOptions options;
          options.algorithm = GetParam();
          options.blocks = 2;
          options.threads = kThreads;
          options.first_round = ~std::uint32_t{0} - (1u << 20) - 12;
          options.symmetric = GetParam() == Algorithm::kZeroCopy;
          const bool may_alias = !options.symmetric || what != Collective::kAllToAll;
          if (GetParam() == Algorithm::kTwoShotLL && what != Collective::kAllReduce) continue;
          if (GetParam() == Algorithm::kTwoShotLamport && what != Collective::kAllReduce) continue;
          if (GetParam() == Algorithm::kScatteredSimple && what != Collective::kBroadcast) continue;
          ASSIGN_OR_RETURN(AnyOperator call,
                           AnyOperator::create(rt, rt.world(), what,
                                               {900, DType::kFloat32, ReduceOp::kSum}, options));
          std::vector<Buffers> buffers;
          std::vector<Step> steps;
          for (int i = 0; i < 16; ++i) {
            ASSIGN_OR_RETURN(Buffers made, Buffers::create(rt, 4096 * 4));
            buffers.push_back(std::move(made));
            Step step{what, DType::kFloat32, ReduceOp::kSum, 1 + random() % (i % 3 == 0 ? 900 : 5)};
            step.in_place = may_alias && random() % 2 == 0;
            step.seed = random() >> 32;
            step.root = static_cast<int>(random() % 4);
            steps.push_back(step);
          }
          for (std::size_t i = 0; i < steps.size(); ++i)
            RETURN_IF_ERROR(buffers[i].prepare(steps[i], rt.pe(), rt.npes()));
          for (std::size_t i = 0; i < steps.size(); ++i)
            RETURN_IF_ERROR(
                call(nullptr, buffers[i].out, buffers[i].in, steps[i].count, steps[i].root));
          RETURN_IF_ERROR(dev::synchronize());
          for (std::size_t i = 0; i < steps.size(); ++i)
            RETURN_IF_ERROR(buffers[i].check(steps[i], rt.pe(), rt.npes()));
          RETURN_IF_ERROR(rt.barrier());
        }
        EXPECT_GT(pauses.load(), 100u) << "the kernels do not call the test's pause()";
        return rt.health();
      },
      job_options()));
}

INSTANTIATE_TEST_SUITE_P(Algorithms, PausedTest,
                         ::testing::Values(Algorithm::kLL, Algorithm::kTwoShotLL,
                                           Algorithm::kSimple, Algorithm::kScatteredSimple,
                                           Algorithm::kLamport, Algorithm::kTwoShotLamport,
                                           Algorithm::kZeroCopy),
                         [](const auto& info) {
                           std::string name = to_string(info.param);
                           std::erase(name, '-');
                           return name;
                         });

class PausedNormTest : public ::testing::TestWithParam<Algorithm> {};

TEST_P(PausedNormTest, CallsEqualTheModel) {
  CollectiveOptions options;
  options.algorithm = GetParam();
  options.blocks = 2;
  options.threads = kThreads;
  options.first_round = ~std::uint32_t{0} - (1u << 20) - 12;
  EXPECT_OK(run_local(
      4, [&](Runtime& rt) { return play_norms(rt, DType::kBfloat16, 1300, 3, options); },
      job_options()));
}

INSTANTIATE_TEST_SUITE_P(Algorithms, PausedNormTest,
                         ::testing::Values(Algorithm::kLL, Algorithm::kTwoShotLL,
                                           Algorithm::kLamport, Algorithm::kTwoShotLamport,
                                           Algorithm::kSimple),
                         [](const auto& info) {
                           std::string name = to_string(info.param);
                           std::erase(name, '-');
                           return name;
                         });

class PausedAllToAllVTest : public ::testing::TestWithParam<Algorithm> {};

TEST_P(PausedAllToAllVTest, BringsWhatEachHasForEach) {
  CollectiveOptions options;
  options.algorithm = GetParam();
  options.blocks = 2;
  options.threads = kThreads;
  options.first_round = ~std::uint32_t{0} - (1u << 20) - 12;
  EXPECT_OK(run_local(
      4,
      [&](Runtime& rt) -> Status {
        ASSIGN_OR_RETURN(Exchange exchange, Exchange::create(rt, rt.world(), 90, options));
        std::mt19937_64 random(test_seed());
        for (int i = 0; i < 60; ++i) RETURN_IF_ERROR(exchange.play(random() >> 40));
        RETURN_IF_ERROR(rt.barrier());
        return rt.health();
      },
      job_options()));
}

INSTANTIATE_TEST_SUITE_P(Algorithms, PausedAllToAllVTest,
                         ::testing::Values(Algorithm::kLL, Algorithm::kSimple),
                         [](const auto& info) { return std::string(to_string(info.param)); });

// Tiles that are sent as they come, of several calls.
TEST(PausedGemmRs, CallsEqualTheModel) {
  EXPECT_OK(run_local(
      4,
      [](Runtime& rt) -> Status {
        for (int iteration = 0; iteration < 3; ++iteration)
          RETURN_IF_ERROR(play<GemmRsModel>(
              rt, rt.world(), {4 * 130, 136, 24, DType::kBfloat16},
              GemmRsModel::options(GemmRsAlgorithm::kOverlapped), {520, 4, 520, 260, 520, 8, 520},
              test_seed() % 1000 + static_cast<std::uint64_t>(100 * iteration)));
        EXPECT_GT(pauses.load(), 100u) << "the kernels do not call the test's pause()";
        return Status::ok();
      },
      job_options()));
}

// Few rows, in one shot where there are fewer tiles than members, else in two.
TEST(PausedGemmAr, CallsEqualTheModel) {
  EXPECT_OK(run_local(
      4,
      [](Runtime& rt) -> Status {
        for (const std::int64_t n : {136, 264})
          RETURN_IF_ERROR(play<OneKernelGemmArModel>(
              rt, rt.world(), {100, n, 24, DType::kBfloat16},
              OneKernelGemmArModel::options(GemmArAlgorithm::kOverlapped),
              {100, 4, 100, 64, 100, 65, 1, 100}, test_seed() % 1000));
        return Status::ok();
      },
      job_options()));
}

// To the owners of rows, some of whom may have none.
TEST(PausedOneKernelGemmRs, CallsEqualTheModel) {
  EXPECT_OK(run_local(
      4,
      [](Runtime& rt) -> Status {
        std::vector<std::int64_t> rows = {100, 3, 100, 64, 1, 1, 1, 1, 9, 2, 100};
        for (int call = 0; call < 40; ++call) rows.push_back(1 + call % 7);
        for (const std::int64_t n : {24, 264})
          RETURN_IF_ERROR(play<OneKernelGemmRsModel>(
              rt, rt.world(), {100, n, 24, DType::kBfloat16},
              OneKernelGemmRsModel::options(GemmRsAlgorithm::kOverlapped), rows,
              test_seed() % 1000));
        return Status::ok();
      },
      job_options()));
}

TEST(PausedAgGemm, CallsEqualAllGatherAndGemm) {
  const std::uint64_t before = pauses.load();
  EXPECT_OK(run_local(
      4,
      [](Runtime& rt) -> Status {
        std::mt19937_64 random(test_seed());
        for (const AgGemmAlgorithm algorithm :
             {AgGemmAlgorithm::kOverlapped, AgGemmAlgorithm::kAuto}) {
          std::vector<std::int64_t> rows;
          for (int i = 0; i < 30; ++i)
            rows.push_back(1 + static_cast<std::int64_t>(random() % (i % 3 == 0 ? 200 : 9)));
          RETURN_IF_ERROR(play<AgGemmModel>(rt, rt.world(), {200, 24, 40, DType::kBfloat16},
                                            AgGemmModel::options(algorithm), rows,
                                            random() % 10000));
        }
        return Status::ok();
      },
      job_options()));
  EXPECT_GT(pauses.load(), before + 100) << "the kernels do not call the test's pause()";
}

}  // namespace
}  // namespace test
}  // namespace weft::kernels
