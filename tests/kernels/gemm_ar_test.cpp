// GemmAr against the members' products and their sum, on host threads; compiled for CUDA, on GPUs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <weft/kernels/gemm_ar.hpp>

#include "tests/kernels/gemm_rs_play.hpp"

namespace weft::kernels::test {
namespace {

using ::testing::HasSubstr;
using enum GemmArAlgorithm;

std::string to_string(GemmArAlgorithm algorithm) {
  return algorithm == kAuto ? "auto" : algorithm == kSequential ? "sequential" : "overlapped";
}

GemmArOptions small_options(GemmArAlgorithm algorithm) {
  GemmArOptions options;
  options.algorithm = algorithm;
  options.gemm = test::small_options(GemmRsAlgorithm::kAuto).gemm;
  return options;
}

// Calls behind one another with fresh operands, none waited for, into outputs full of NaNs.
Status play(Runtime& rt, const Team& team, const GemmProblem& problem, const GemmArOptions& options,
            const std::vector<std::int64_t>& rows, std::uint64_t seed) {
  const PartialSums sums(rt, problem, team.size, options.gemm);
  auto op = GemmAr::create(rt, team, sums.problem(), options);
  if (!op) return std::move(op).status();
  ASSIGN_OR_RETURN(const Memory b, Memory::create(rt, sums.b_of(team.rank)));
  std::vector<GemmRsCall> calls;
  for (const std::int64_t m : rows) {
    GemmRsCall call;
    call.m = m;
    ASSIGN_OR_RETURN(call.want, sums.sum(m, ++seed));
    ASSIGN_OR_RETURN(call.a, Memory::create(rt, sums.a_of(team.rank, m, seed)));
    ASSIGN_OR_RETURN(call.c, Memory::create(rt, Bits(call.want.size(), kPoison)));
    calls.push_back(std::move(call));
  }
  RETURN_IF_ERROR(rt.barrier());
  for (const GemmRsCall& call : calls)
    RETURN_IF_ERROR((*op)(nullptr, call.c.data(), call.a.data(), b.data(), call.m));
  RETURN_IF_ERROR(dev::synchronize());
  for (const GemmRsCall& call : calls) {
    ASSIGN_OR_RETURN(const Bits c, call.c.read());
    expect_same(c, call.want, sums.problem().ldc,
                fmt::format("{}\n  rank {}, {} rows", op->describe(), team.rank, call.m));
  }
  RETURN_IF_ERROR(rt.health());
  return rt.barrier();
}

class GemmArTest : public ::testing::TestWithParam<std::tuple<GemmArAlgorithm, int>> {};

// None, one, odd, edges of tiles; with room between rows and without; team size divides m or not.
TEST_P(GemmArTest, EqualsGemmThenAllReduce) {
  const auto [algorithm, npes] = GetParam();
  EXPECT_OK(run_local(
      npes,
      [&, algorithm = algorithm](Runtime& rt) -> Status {
        const int n = rt.npes();
        std::vector<GemmProblem> problems = {{64 * n, 64, 64, DType::kBfloat16},
                                             {65 * n + 3, 32, 40, DType::kFloat16, 56},
                                             {40 * n, 24, 16, DType::kBfloat16, 0, 0, 40},
                                             {0, 8, 8, DType::kBfloat16},
                                             {9, 0, 8, DType::kBfloat16},
                                             {9, 8, 0, DType::kBfloat16}};
        // What cannot overlap is tried with the other algorithms alone.
        if (algorithm != kOverlapped) {
          problems.push_back({1, 1, 1, DType::kBfloat16});
          problems.push_back({70, 33, 40, DType::kFloat16});
        }
        std::uint64_t seed = test_seed() % 1000;
        for (const GemmProblem& p : problems) {
          const std::vector<std::int64_t> rows = {
              p.m, std::min<std::int64_t>(p.m, 1), p.m / 2 / n * n, 0, p.m, p.m / 3};
          SCOPED_TRACE(fmt::format("{} x {} x {}", p.m, p.n, p.k));
          RETURN_IF_ERROR(play(rt, rt.world(), p, small_options(algorithm), rows, seed += 100));
        }
        return Status::ok();
      },
      job_options()));
}

INSTANTIATE_TEST_SUITE_P(Algorithms, GemmArTest,
                         ::testing::Combine(::testing::Values(kAuto, kSequential, kOverlapped),
                                            ::testing::Values(1, 2, 3, 5, 8)),
                         [](const auto& info) {
                           return to_string(std::get<0>(info.param)) + "_" +
                                  std::to_string(std::get<1>(info.param));
                         });

TEST(GemmAr, WorksOnTeams) {
  EXPECT_OK(run_local(
      6,
      [](Runtime& rt) -> Status {
        ASSIGN_OR_RETURN(const Team odd, rt.team_from_list(rt.world(), {5, 3, 1}));
        ASSIGN_OR_RETURN(const Team even, rt.team_from_list(rt.world(), {4, 2, 0}));
        const Team& mine = odd.is_member() ? odd : even;
        for (const GemmArAlgorithm algorithm : {kSequential, kOverlapped})
          RETURN_IF_ERROR(play(rt, mine, {210, 24, 40, DType::kFloat16}, small_options(algorithm),
                               {210, 3, 210}, 11));
        return Status::ok();
      },
      job_options()));
}

void expect_refused(const Status& status, Code code, const std::string& text) {
  EXPECT_CODE(status, code);
  EXPECT_THAT(std::string(status.text()), HasSubstr(text));
}

TEST(GemmAr, RefusesWrongArguments) {
  EXPECT_OK(run_local(
      2,
      [](Runtime& rt) -> Status {
        const GemmProblem good{16, 16, 16, DType::kBfloat16};
        const auto argument = Code::kInvalidArgument;
        const auto refused = [&](const GemmProblem& problem, const std::string& text) {
          expect_refused(GemmAr::create(rt, problem, small_options(kAuto)).status(), argument,
                         text);
        };
        GemmProblem bad = good;
        bad.k = -1;
        refused(bad, "GemmAr: k is -1");
        bad = good;
        bad.m += 8 * rt.pe();
        refused(bad, "m is 16 on PE 0, but 24 on PE 1");
        bad = good;
        bad.m = 1;  // less than one for each
        expect_refused(GemmAr::create(rt, bad, small_options(kOverlapped)).status(),
                       Code::kUnsupported, "a row for each member");
        auto op = GemmAr::create(rt, good, small_options(kAuto));
        if (!op) return std::move(op).status();
        ASSIGN_OR_RETURN(const Memory memory, Memory::create(rt, Bits(4096, kPoison)));
        std::uint16_t* const at = memory.data();
        expect_refused((*op)(nullptr, at, at, at, 17), argument, "m is 17");
        expect_refused((*op)(nullptr, nullptr, at, at), argument, "c is");
        expect_refused((*op)(nullptr, at, at + 1, at), argument, "a is");
        EXPECT_OK((*op)(nullptr, nullptr, nullptr, nullptr, 0));
        ASSIGN_OR_RETURN(const Team first, rt.split_strided(rt.world(), 0, 1, 1));
        auto alone = GemmAr::create(rt, first, good, small_options(kAuto));
        if (!alone) return std::move(alone).status();
        if (rt.pe() == 1) expect_refused((*alone)(nullptr, at, at, at), argument, "no member");
        return rt.barrier();
      },
      job_options()));
}

#if WEFT_TARGET_CPU

// Nobody is mapped: what is asked to overlap cannot, the rest goes by AllReduce's puts.
TEST(GemmAr, WorksWherePeersAreNotMapped) {
  Options options = job_options();
  options.fault = "seed=" + std::to_string(test_seed() & 0xffffffffu) + ",late=1";
  options.ring_capacity = 16;
  EXPECT_OK(run_local(
      3,
      [](Runtime& rt) -> Status {
        const GemmProblem problem{210, 24, 40, DType::kFloat16};
        expect_refused(GemmAr::create(rt, problem, small_options(kOverlapped)).status(),
                       Code::kUnsupported, "members that map each other");
        return play(rt, rt.world(), problem, small_options(kAuto), {210, 4, 210}, 3);
      },
      options));
}

#endif

}  // namespace
}  // namespace weft::kernels::test
