// AllReduceNorm against its model: every algorithm and type, rows of odd lengths.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kernels/norm_play.hpp"

namespace weft::kernels::test {
namespace {

class NormTest : public ::testing::TestWithParam<int> {};

// A row of an element, short and odd ones, one of several rounds (a channel's slot holds 64 units
// on hosts) and chunks, which blocks share where there are few rows; and one of too many chunks for
// that.
TEST_P(NormTest, EqualsTheModel) {
  EXPECT_OK(run_local(
      GetParam(),
      [](Runtime& rt) -> Status {
        std::mt19937_64 random(test_seed());
        for (const Algorithm algorithm :
             {Algorithm::kAuto, Algorithm::kLL, Algorithm::kTwoShotLL, Algorithm::kLamport,
              Algorithm::kTwoShotLamport, Algorithm::kSimple})
          for (const std::size_t hidden : {1, 5, 64, 250, 4100, 70000}) {
            if (hidden > 9999 && rt.npes() > 2) continue;
            const DType dtype =
                std::array{DType::kFloat32, DType::kFloat16, DType::kBfloat16}[random() % 3];
            CollectiveOptions options;
            options.algorithm = algorithm;
            options.blocks =
                algorithm == Algorithm::kAuto ? 0 : 1 + static_cast<unsigned>(random() % 3);
            options.threads = kThreads + static_cast<unsigned>(random() % 2);
            if (hidden <= 64 && random() % 2 == 0) options.threads = 32;  // one has a pair
            RETURN_IF_ERROR(play_norms(rt, dtype, hidden,
                                       hidden > 9999   ? 1
                                       : hidden > 1000 ? 3
                                                       : 17,
                                       options));
          }
        return Status::ok();
      },
      job_options()));
}
INSTANTIATE_TEST_SUITE_P(Pes, NormTest, ::testing::Values(1, 2, 3, 5, 8),
                         ::testing::PrintToStringParamName());

#if WEFT_TARGET_CPU
TEST(AllReduceNorm, WorksWherePeersAreNotMapped) {
  Options options = job_options();
  options.fault =
      "seed=" + std::to_string(test_seed() & 0xffffffffu) + ",late=1,delay=0.5,delay_calls=64";
  options.ring_capacity = 16;
  EXPECT_OK(run_local(
      3, [](Runtime& rt) { return play_norms(rt, DType::kBfloat16, 1300, 9, {}); }, options));
}
#endif

TEST(AllReduceNorm, RefusesWrongArguments) {
  const auto expect_refused = [](const Status& status, Code code, const std::string& text) {
    EXPECT_CODE(status, code);
    EXPECT_THAT(std::string(status.text()), ::testing::HasSubstr(text));
  };
  EXPECT_OK(run_local(
      2,
      [&](Runtime& rt) -> Status {
        const auto argument = Code::kInvalidArgument;
        const auto create = [&](const AllReduceNormProblem& problem) {
          return AllReduceNorm::create(rt, problem).status();
        };
        expect_refused(create({4, 0}), argument, "hidden is 0");
        expect_refused(create({~std::size_t{0}, 8}), argument, "more than memory has");
        expect_refused(create({4, 8, DType::kInt32}), Code::kUnsupported, "dtype is int32");
        const auto mine = static_cast<std::size_t>(rt.pe());
        expect_refused(create({4, 8 * (1 + mine)}), argument, "all PEs must give the same");
        const float other = rt.pe() == 0 ? 1e-6f : 1e-5f;
        expect_refused(create({4, 8, DType::kFloat32, other}), argument, "epsilon");

        ASSIGN_OR_RETURN(AllReduceNorm norm, AllReduceNorm::create(rt, {4, 8, DType::kFloat32}));
        ASSIGN_OR_RETURN(auto* const m, rt.allocate_device<float>(64));
        expect_refused(norm(nullptr, m, m + 32, m, m + 32, m, 5), argument, "rows is 5");
        expect_refused(norm(nullptr, m, m, m, m + 32, m, 4), argument, "out is residual_out");
        expect_refused(norm(nullptr, m, m + 32, m, nullptr, m, 4), argument, "residual is null");
        expect_refused(norm(nullptr, m, nullptr, m, m, m, 4), argument, "residual_out is null");
        expect_refused(norm(nullptr, m, m + 32, m, m, nullptr, 4), argument, "weight is null");
        EXPECT_OK(norm(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, 0));
        return rt.barrier();
      },
      job_options()));
}

}  // namespace
}  // namespace weft::kernels::test
