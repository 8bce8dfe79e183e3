// The duties of every operator that moves rows beside a GEMM, whichever it is: two suites over
// its model (tests/kernels/fused_play.hpp), on host threads; compiled for CUDA, on GPUs.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "tests/kernels/absence.hpp"
#include "tests/kernels/fused_play.hpp"
#include "tests/support/sanitizer.hpp"

namespace weft::kernels::test {

// --- every algorithm with every number of PEs ---------------------------------------------------

template <class Model>
class ModelTest
    : public ::testing::TestWithParam<std::tuple<typename Model::Algorithm, int /* PEs */>> {
 public:
  using Algorithm = typename Model::Algorithm;

  // Operands of none, one, odd; as many rows as planned, few, none, and what members cannot share
  // evenly.
  void equals_the_model() const {
    const auto [algorithm, npes] = this->GetParam();
    EXPECT_OK(run_local(
        npes, [algorithm = algorithm](Runtime& rt) { return all_problems(rt, algorithm); },
        job_options()));
  }

  static auto cases() {
    return ::testing::Combine(
        ::testing::Values(Algorithm::kAuto, Algorithm::kSequential, Algorithm::kOverlapped),
        ::testing::Range(1, 9));
  }
  static std::string name(const ::testing::TestParamInfo<std::tuple<Algorithm, int>>& info) {
    const auto [algorithm, npes] = info.param;
    return fmt::format("{}_{}",
                       algorithm == Algorithm::kAuto         ? "auto"
                       : algorithm == Algorithm::kSequential ? "sequential"
                                                             : "overlapped",
                       npes);
  }

 private:
  static Status all_problems(Runtime& rt, Algorithm algorithm) {
    const int n = rt.npes();
    std::uint64_t seed = test_seed() % 1000;
    for (const GemmProblem& p : Model::problems(n, algorithm)) {
      const std::int64_t one = std::min<std::int64_t>(p.m, 1),
                         few = std::min<std::int64_t>(p.m, n - 1);
      SCOPED_TRACE(fmt::format("{} x {} x {}", p.m, p.n, p.k));
      RETURN_IF_ERROR(play<Model>(rt, rt.world(), p, Model::options(algorithm),
                                  {p.m, one, p.m / 2 / n * n, p.m, 0, few, p.m, p.m / 3},
                                  seed += 100));
    }
    return Status::ok();
  }
};

// --- one by one ---------------------------------------------------------------------------------

template <class Model>
class FusedTest : public ::testing::Test {};
TYPED_TEST_SUITE_P(FusedTest);

struct NameOfModel {
  template <class Model>
  static std::string GetName(int) {
    return Model::kName;
  }
};

// More tiles than a grid has at a time, calls of all sizes by turns.
TYPED_TEST_P(FusedTest, ManyCallsFollowOneAnother) {
  using Model = TypeParam;
  EXPECT_OK(run_local(
      3,
      [](Runtime& rt) -> Status {
        std::mt19937_64 random(test_seed());
        for (int i = 0; i < (kTsan ? 2 : 4); ++i) {
          std::vector<std::int64_t> rows;
          for (int call = 0; call < 12; ++call)
            rows.push_back(call % 3 == 2 ? static_cast<std::int64_t>(random() % 20)
                                         : Model::rows(call % 3 == 1 ? random() % 301 : 300, 3));
          const auto algorithm =
              i % 2 == 0 ? Model::Algorithm::kOverlapped : Model::Algorithm::kAuto;
          RETURN_IF_ERROR(play<Model>(rt, rt.world(),
                                      {Model::rows(300, 3), 136, 16, DType::kBfloat16},
                                      Model::options(algorithm), rows, random() % 10000));
        }
        return Status::ok();
      },
      job_options()));
}

// Each PE comes late now and then.
TYPED_TEST_P(FusedTest, StragglersAreWaitedFor) {
  using Model = TypeParam;
  EXPECT_OK(run_local(
      4,
      [](Runtime& rt) -> Status {
        std::mt19937_64 random(test_seed() + static_cast<std::uint64_t>(rt.pe()));
        const auto pause = [&] {
          if (random() % 3 == 0)
            std::this_thread::sleep_for(std::chrono::microseconds(random() % 5000));
        };
        const std::int64_t m = Model::rows(70, 4);
        return play<Model>(rt, rt.world(), {m, 40, 32, DType::kBfloat16},
                           Model::options(Model::Algorithm::kOverlapped),
                           std::vector<std::int64_t>(24, m), 5, pause);
      },
      job_options()));
}

// Odd and even PEs are teams of their own, listed backwards.
TYPED_TEST_P(FusedTest, WorksOnTeams) {
  using Model = TypeParam;
  EXPECT_OK(run_local(
      6,
      [](Runtime& rt) -> Status {
        ASSIGN_OR_RETURN(const Team odd, rt.team_from_list(rt.world(), {5, 3, 1}));
        ASSIGN_OR_RETURN(const Team even, rt.team_from_list(rt.world(), {4, 2, 0}));
        const Team& mine = odd.is_member() ? odd : even;
        const std::int64_t m = Model::rows(70, 3);
        for (const auto algorithm : {Model::Algorithm::kSequential, Model::Algorithm::kOverlapped})
          RETURN_IF_ERROR(play<Model>(rt, mine, {m, 24, 40, DType::kFloat16},
                                      Model::options(algorithm), {m, 3, m}, 11));
        return Status::ok();
      },
      job_options()));
}

// In another order on the other PE: they do not wait for each other.
TYPED_TEST_P(FusedTest, TwoRunAtOnce) {
  using Model = TypeParam;
  EXPECT_OK(run_local(
      2,
      [](Runtime& rt) -> Status {
        struct Lane {
          Play<Model> play;
          Stream stream = nullptr;
        };
        const std::int64_t m = Model::rows(140, 2);
        std::vector<Lane> lanes;
        for (const std::uint64_t seed : {1, 2}) {
          auto made = Play<Model>::create(rt, rt.world(), {m, 40, 32, DType::kBfloat16},
                                          Model::options(Model::Algorithm::kOverlapped));
          if (!made) return std::move(made).status();
          lanes.push_back({std::move(*made)});
          RETURN_IF_ERROR(lanes.back().play.prepare(m, seed));
          RETURN_IF_ERROR(dev::create_stream(&lanes.back().stream));
          // A stream's first kernel may wait for others.
          RETURN_IF_ERROR(dev::launch({1, 1, 0}, Nothing{}, lanes.back().stream));
          RETURN_IF_ERROR(dev::synchronize(lanes.back().stream));
        }
        RETURN_IF_ERROR(rt.barrier());
        for (int i = 0; i < 10; ++i)
          for (int k = 0; k < 2; ++k) {
            Lane& lane = lanes[static_cast<std::size_t>((k + rt.pe()) % 2)];
            RETURN_IF_ERROR(lane.play.queue(lane.stream, 0));
          }
        for (Lane& lane : lanes) {
          RETURN_IF_ERROR(dev::synchronize(lane.stream));
          RETURN_IF_ERROR(lane.play.check(0));
          RETURN_IF_ERROR(dev::destroy_stream(lane.stream));
        }
        RETURN_IF_ERROR(rt.barrier());
        return rt.health();
      },
      job_options()));
}

// PE 1 does not come: the others report it, end, and leave c as it is from then on, even if it
// comes at last.
TYPED_TEST_P(FusedTest, MissingMemberIsReported) {
  using Model = TypeParam;
  Options options = job_options();
  options.wait_timeout = 0.2;
  Absence absence(2);
  const Status status = run_local(
      3,
      [&](Runtime& rt) -> Status {
        const std::int64_t m = Model::rows(100, 3);
        auto made = Play<Model>::create(rt, rt.world(), {m, 16, 16, DType::kBfloat16},
                                        Model::options(Model::Algorithm::kOverlapped));
        if (!made) return std::move(made).status();
        for (const std::uint64_t seed : {1, 2}) RETURN_IF_ERROR(made->prepare(m, seed));
        if (rt.pe() == 1) absence.outlast();
        for (const std::size_t call : {0, 1, 1}) RETURN_IF_ERROR(made->queue(nullptr, call));
        RETURN_IF_ERROR(dev::synchronize());
        if (rt.pe() != 1) absence.expect_report(rt, Model::kReport);
        RETURN_IF_ERROR(made->queue(nullptr, 1));
        RETURN_IF_ERROR(dev::synchronize());
        if (rt.pe() == 1) return Status::ok();
        const auto later = made->read(1);
        if (later) EXPECT_EQ(*later, Bits(later->size(), kPoison));
        return Status::ok();
      },
      options);
  (void)status;  // the job has failed; how it ends is not the operator's
}

inline void expect_refused(const Status& status, Code code, const std::string& text) {
  EXPECT_CODE(status, code);
  EXPECT_THAT(std::string(status.text()), ::testing::HasSubstr(text));
}

TYPED_TEST_P(FusedTest, RefusesWrongProblems) {
  using Model = TypeParam;
  EXPECT_OK(run_local(
      2,
      [](Runtime& rt) -> Status {
        const auto refused = [&](GemmProblem bad, const std::string& text) {
          const auto made =
              Model::Operator::create(rt, bad, Model::options(Model::Algorithm::kAuto));
          expect_refused(made.status(), Code::kInvalidArgument, text);
        };
        const std::string name = Model::kName;
        const std::int64_t differs = 16 + 8 * rt.pe();
        refused({-1, 16, 16, DType::kBfloat16}, name + ": m is -1");
        refused({16, 16, -1, DType::kBfloat16}, name + ": k is -1");
        refused({16, 16, 16, DType::kFloat32}, "dtype is float32");
        refused({16, 16, 16, DType::kBfloat16, 12}, "lda is 12");
        refused({differs, 16, 16, DType::kBfloat16}, "m is 16 on PE 0, but 24 on PE 1");
        refused({16, differs, 16, DType::kBfloat16}, "n is 16 on PE 0, but 24 on PE 1");
        return rt.barrier();
      },
      job_options()));
}

TYPED_TEST_P(FusedTest, RefusesWrongCalls) {
  using Model = TypeParam;
  EXPECT_OK(run_local(
      2,
      [](Runtime& rt) -> Status {
        const GemmProblem problem{16, 16, 16, DType::kBfloat16};
        const auto options = Model::options(Model::Algorithm::kAuto);
        const auto argument = Code::kInvalidArgument;
        auto op = Model::Operator::create(rt, problem, options);
        if (!op) return std::move(op).status();
        ASSIGN_OR_RETURN(const Memory memory, Memory::create(rt, Bits(4096, kPoison)));
        std::uint16_t* const at = memory.data();
        expect_refused((*op)(nullptr, at, at, at, 17), argument, "m is 17");
        expect_refused((*op)(nullptr, at, at, at, -1), argument, "m is -1");
        expect_refused((*op)(nullptr, nullptr, at, at), argument, "c is");
        expect_refused((*op)(nullptr, at, at + 1, at), argument, "a is");
        expect_refused((*op)(nullptr, at, at, at + 4), argument, "b is");
        EXPECT_OK((*op)(nullptr, nullptr, nullptr, nullptr, 0));
        ASSIGN_OR_RETURN(const Team first, rt.split_strided(rt.world(), 0, 1, 1));
        auto alone = Model::Operator::create(rt, first, problem, options);
        if (!alone) return std::move(alone).status();
        if (rt.pe() == 1) expect_refused((*alone)(nullptr, at, at, at), argument, "no member");
        return rt.barrier();
      },
      job_options()));
}

// Nobody is mapped: what is asked to overlap cannot, the rest goes by the collective's puts.
TYPED_TEST_P(FusedTest, WorksWherePeersAreNotMapped) {
  using Model = TypeParam;
#if !WEFT_TARGET_CPU
  GTEST_SKIP() << "faults are those of host threads";
#endif
  Options options = job_options();
  options.fault = fmt::format("seed={},late=1,delay=0.5,delay_calls=64", test_seed() & 0xffffffffu);
  options.ring_capacity = 16;
  EXPECT_OK(run_local(
      3,
      [](Runtime& rt) -> Status {
        const std::int64_t m = Model::rows(70, 3);
        const GemmProblem problem{m, 24, 40, DType::kFloat16};
        const auto overlapped =
            Model::Operator::create(rt, problem, Model::options(Model::Algorithm::kOverlapped));
        expect_refused(overlapped.status(), Code::kUnsupported, "members that map each other");
        return play<Model>(rt, rt.world(), problem, Model::options(Model::Algorithm::kAuto),
                           {m, 4, m}, 3);
      },
      options));
}

REGISTER_TYPED_TEST_SUITE_P(FusedTest, ManyCallsFollowOneAnother, StragglersAreWaitedFor,
                            WorksOnTeams, TwoRunAtOnce, MissingMemberIsReported,
                            RefusesWrongProblems, RefusesWrongCalls, WorksWherePeersAreNotMapped);

}  // namespace weft::kernels::test
