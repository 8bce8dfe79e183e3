// GemmRs against the members' products and their sum, on host threads; compiled for CUDA, on GPUs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "kernels/gemm_rs/plan.hpp"
#include "tests/kernels/absence.hpp"
#include "tests/kernels/gemm_rs_play.hpp"

namespace weft::kernels::test {
namespace {

using ::testing::HasSubstr;
using enum GemmRsAlgorithm;

std::string to_string(GemmRsAlgorithm algorithm) {
  return algorithm == kAuto ? "auto" : algorithm == kSequential ? "sequential" : "overlapped";
}

class GemmRsTest : public ::testing::TestWithParam<std::tuple<GemmRsAlgorithm, int>> {};

// None, one, odd, edges of tiles; with room between rows and without; team size divides m or not.
TEST_P(GemmRsTest, EqualsGemmThenReduceScatter) {
  const auto [algorithm, npes] = GetParam();
  EXPECT_OK(run_local(
      npes,
      [&, algorithm = algorithm](Runtime& rt) -> Status {
        const int n = rt.npes();
        // What cannot overlap is tried with the other algorithms alone.
        std::vector<GemmProblem> problems = {{64 * n, 64, 64, DType::kBfloat16},
                                             {130 * n, 72, 24, DType::kFloat16},
                                             {65 * n + 3, 32, 40, DType::kBfloat16, 56},
                                             {200 * n, 8, 16, DType::kBfloat16, 16, 24, 16},
                                             {20 * n, 136, 130, DType::kBfloat16},
                                             {0, 8, 8, DType::kBfloat16},
                                             {9, 0, 8, DType::kBfloat16},
                                             {9, 8, 0, DType::kBfloat16}};
        if (algorithm != kOverlapped) {
          problems.push_back({1, 1, 1, DType::kBfloat16});
          problems.push_back({3, 5, 7, DType::kFloat16});
          problems.push_back({70, 33, 40, DType::kBfloat16});
        }
        std::uint64_t seed = test_seed() % 1000;
        for (const GemmProblem& p : problems) {
          const std::vector<std::int64_t> rows = {
              p.m, std::min<std::int64_t>(p.m, 1),     p.m, p.m / 2 / n * n,
              0,   std::min<std::int64_t>(p.m, n - 1), p.m, p.m / 3};
          SCOPED_TRACE(fmt::format("{} x {} x {}", p.m, p.n, p.k));
          RETURN_IF_ERROR(
              GemmRsPlay(rt, rt.world(), p, small_options(algorithm)).run(rows, seed += 100));
        }
        return Status::ok();
      },
      job_options()));
}

INSTANTIATE_TEST_SUITE_P(Algorithms, GemmRsTest,
                         ::testing::Combine(::testing::Values(kAuto, kSequential, kOverlapped),
                                            ::testing::Values(1, 2, 3, 4, 5, 6, 7, 8)),
                         [](const auto& info) {
                           return to_string(std::get<0>(info.param)) + "_" +
                                  std::to_string(std::get<1>(info.param));
                         });

// Against sums in double: what is rounded is each product, and the sum.
TEST(GemmRs, IsNearTheExactSum) {
  EXPECT_OK(run_local(
      3,
      [](Runtime& rt) -> Status {
        const GemmProblem p = with_strides({3 * 70, 40, 300, DType::kBfloat16});
        const PartialSums sums(rt, p, 3, {});
        for (const GemmRsAlgorithm algorithm : {kSequential, kOverlapped}) {
          auto op = GemmRs::create(rt, p, small_options(algorithm));
          if (!op) return std::move(op).status();
          ASSIGN_OR_RETURN(const Memory a, Memory::create(rt, sums.a_of(rt.pe(), p.m, 5)));
          ASSIGN_OR_RETURN(const Memory b, Memory::create(rt, sums.b_of(rt.pe())));
          ASSIGN_OR_RETURN(const Memory c, Memory::create(rt, Bits(70 * 40, kPoison)));
          RETURN_IF_ERROR((*op)(nullptr, c.data(), a.data(), b.data()));
          RETURN_IF_ERROR(dev::synchronize());
          ASSIGN_OR_RETURN(const Bits is, c.read());
          std::vector<Bits> as, bs;
          for (int rank = 0; rank < 3; ++rank) {
            as.push_back(sums.a_of(rank, p.m, 5));
            bs.push_back(sums.b_of(rank));
          }
          for (std::int64_t r = 0; r < 70; ++r)
            for (std::int64_t j = 0; j < 40; ++j) {
              double sum = 0, bound = 1e-6;
              for (std::size_t rank = 0; rank < 3; ++rank) {
                double product = 0, sizes = 0;
                for (std::int64_t i = 0; i < p.k; ++i) {
                  const auto x = static_cast<std::size_t>((rt.pe() * 70 + r) * p.lda + i);
                  const auto y = static_cast<std::size_t>(j * p.ldb + i);
                  const double term = static_cast<double>(value_of(p.dtype, as[rank][x])) *
                                      value_of(p.dtype, bs[rank][y]);
                  product += term;
                  sizes += std::abs(term);
                }
                sum += product;
                bound += 0x1p-8 * std::abs(product) + 4 * std::sqrt(300.0) * 0x1p-24 * sizes;
              }
              bound += 0x1p-8 * (std::abs(sum) + bound);
              const double got = value_of(p.dtype, is[static_cast<std::size_t>(r * 40 + j)]);
              EXPECT_LE(std::abs(got - sum), bound) << "row " << r << " column " << j;
            }
          RETURN_IF_ERROR(rt.barrier());
        }
        return rt.health();
      },
      job_options()));
}

// More tiles than a grid has at a time, calls of all sizes by turns.
TEST(GemmRs, ManyCallsFollowOneAnother) {
  EXPECT_OK(run_local(
      3,
      [](Runtime& rt) -> Status {
        std::mt19937_64 random(test_seed());
        const GemmProblem problem{900, 136, 48, DType::kBfloat16};
        for (int i = 0; i < 4; ++i) {
          std::vector<std::int64_t> rows;
          for (int call = 0; call < 12; ++call)
            rows.push_back(static_cast<std::int64_t>(call % 3 == 2   ? random() % 20
                                                     : call % 3 == 1 ? random() % 301 * 3
                                                                     : 900));
          RETURN_IF_ERROR(
              GemmRsPlay(rt, rt.world(), problem, small_options(i % 2 == 0 ? kOverlapped : kAuto))
                  .run(rows, random() % 10000));
        }
        return Status::ok();
      },
      job_options()));
}

// Each PE comes late now and then.
TEST(GemmRs, StragglersAreWaitedFor) {
  EXPECT_OK(run_local(
      4,
      [](Runtime& rt) -> Status {
        std::mt19937_64 random(test_seed() + static_cast<std::uint64_t>(rt.pe()));
        const auto pause = [&] {
          if (random() % 3 == 0)
            std::this_thread::sleep_for(std::chrono::microseconds(random() % 5000));
        };
        return GemmRsPlay(rt, rt.world(), {280, 40, 32, DType::kBfloat16},
                          small_options(kOverlapped))
            .run(std::vector<std::int64_t>(24, 280), 5, nullptr, pause);
      },
      job_options()));
}

// Odd and even PEs are teams of their own, listed backwards.
TEST(GemmRs, WorksOnTeams) {
  EXPECT_OK(run_local(
      6,
      [](Runtime& rt) -> Status {
        ASSIGN_OR_RETURN(const Team odd, rt.team_from_list(rt.world(), {5, 3, 1}));
        ASSIGN_OR_RETURN(const Team even, rt.team_from_list(rt.world(), {4, 2, 0}));
        const Team& mine = odd.is_member() ? odd : even;
        for (const GemmRsAlgorithm algorithm : {kSequential, kOverlapped})
          RETURN_IF_ERROR(
              GemmRsPlay(rt, mine, {210, 24, 40, DType::kFloat16}, small_options(algorithm))
                  .run({210, 3, 210}, 11));
        return Status::ok();
      },
      job_options()));
}

TEST(GemmRs, TwoRunAtOnce) {
  EXPECT_OK(run_local(
      2,
      [](Runtime& rt) -> Status {
        const PartialSums sums(rt, {280, 40, 32, DType::kBfloat16}, 2, small_options(kAuto).gemm);
        struct Lane {
          std::optional<GemmRs> op;
          Memory a, b, c;
          Bits want;
          Stream stream = nullptr;
        };
        std::vector<Lane> lanes(2);
        std::uint64_t seed = 1;
        for (Lane& lane : lanes) {
          auto made = GemmRs::create(rt, sums.problem(), small_options(kOverlapped));
          if (!made) return std::move(made).status();
          lane.op.emplace(std::move(*made));
          ASSIGN_OR_RETURN(lane.a, Memory::create(rt, sums.a_of(rt.pe(), 280, ++seed)));
          ASSIGN_OR_RETURN(lane.b, Memory::create(rt, sums.b_of(rt.pe())));
          ASSIGN_OR_RETURN(const Bits all, sums.sum(280, seed));
          lane.want = some_rows(all, 140 * rt.pe(), 140, 140, 40);
          ASSIGN_OR_RETURN(lane.c, Memory::create(rt, Bits(lane.want.size(), kPoison)));
          RETURN_IF_ERROR(dev::create_stream(&lane.stream));
          RETURN_IF_ERROR(dev::launch({1, 1, 0}, Nothing{}, lane.stream));  // may wait for others
          RETURN_IF_ERROR(dev::synchronize(lane.stream));
        }
        RETURN_IF_ERROR(rt.barrier());
        // In another order on the other PE: they do not wait for each other.
        for (int i = 0; i < 10; ++i)
          for (int k = 0; k < 2; ++k) {
            Lane& lane = lanes[static_cast<std::size_t>((k + rt.pe()) % 2)];
            RETURN_IF_ERROR((*lane.op)(lane.stream, lane.c.data(), lane.a.data(), lane.b.data()));
          }
        for (Lane& lane : lanes) {
          RETURN_IF_ERROR(dev::synchronize(lane.stream));
          ASSIGN_OR_RETURN(const Bits c, lane.c.read());
          EXPECT_EQ(c, lane.want);
          RETURN_IF_ERROR(dev::destroy_stream(lane.stream));
        }
        RETURN_IF_ERROR(rt.barrier());
        return rt.health();
      },
      job_options()));
}

// PE 1 does not come: the others report it, end, and leave c as it is from then on.
TEST(GemmRs, MissingMemberIsReported) {
  Options options = job_options();
  options.wait_timeout = 0.2;
  Absence absence;
  const Status status = run_local(
      3,
      [&](Runtime& rt) -> Status {
        const GemmProblem problem{300, 16, 16, DType::kBfloat16};
        auto op = GemmRs::create(rt, problem, small_options(kOverlapped));
        if (!op) return std::move(op).status();
        const Bits poison(100 * 16, kPoison);
        ASSIGN_OR_RETURN(const Memory a,
                         Memory::create(rt, random_matrix(DType::kBfloat16, 300, 16, 16, 1)));
        ASSIGN_OR_RETURN(const Memory first, Memory::create(rt, poison));
        ASSIGN_OR_RETURN(const Memory later, Memory::create(rt, poison));
        if (rt.pe() != 1) {
          RETURN_IF_ERROR((*op)(nullptr, first.data(), a.data(), a.data()));
          RETURN_IF_ERROR((*op)(nullptr, later.data(), a.data(), a.data()));
          RETURN_IF_ERROR((*op)(nullptr, later.data(), a.data(), a.data()));
          RETURN_IF_ERROR(dev::synchronize());
          absence.expect_report(rt, "GemmRs");
          const auto left = later.read();
          if (left) EXPECT_EQ(*left, poison);
        } else {
          absence.outlast(2);
        }
        return Status::ok();
      },
      options);
  (void)status;  // the job has failed; how it ends is not the operator's
}

void expect_refused(const Status& status, Code code, const std::string& text) {
  EXPECT_CODE(status, code);
  EXPECT_THAT(std::string(status.text()), HasSubstr(text));
}

TEST(GemmRs, RefusesWrongArguments) {
  EXPECT_OK(run_local(
      2,
      [](Runtime& rt) -> Status {
        const GemmProblem good{16, 16, 16, DType::kBfloat16};
        const auto argument = Code::kInvalidArgument;
        const auto refused = [&](const GemmProblem& problem, const std::string& text) {
          expect_refused(GemmRs::create(rt, problem, small_options(kAuto)).status(), argument,
                         text);
        };
        GemmProblem bad = good;
        bad.m = -1;
        refused(bad, "GemmRs: m is -1");
        bad = good;
        bad.dtype = DType::kFloat32;
        refused(bad, "dtype is float32");
        bad = good;
        bad.lda = 12;
        refused(bad, "lda is 12");
        bad = good;
        bad.n += 8 * rt.pe();
        refused(bad, "n is 16 on PE 0, but 24 on PE 1");
        bad = good;
        bad.m = 1;  // less than one for each
        expect_refused(GemmRs::create(rt, bad, small_options(kOverlapped)).status(),
                       Code::kUnsupported, "a row for each member");

        auto op = GemmRs::create(rt, good, small_options(kAuto));
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
        auto alone = GemmRs::create(rt, first, good, small_options(kAuto));
        if (!alone) return std::move(alone).status();
        if (rt.pe() == 1) expect_refused((*alone)(nullptr, at, at, at), argument, "no member");
        return rt.barrier();
      },
      job_options()));
}

#if WEFT_TARGET_CPU

// Nobody is mapped: what is asked to overlap cannot, the rest goes by ReduceScatter's puts.
TEST(GemmRs, WorksWherePeersAreNotMapped) {
  Options options = job_options();
  options.fault = "seed=" + std::to_string(test_seed() & 0xffffffffu) + ",late=1";
  options.ring_capacity = 16;
  EXPECT_OK(run_local(
      3,
      [](Runtime& rt) -> Status {
        const GemmProblem problem{210, 24, 40, DType::kFloat16};
        expect_refused(GemmRs::create(rt, problem, small_options(kOverlapped)).status(),
                       Code::kUnsupported, "members that map each other");
        return GemmRsPlay(rt, rt.world(), problem, small_options(kAuto)).run({210, 4, 210}, 3);
      },
      options));
}

// Every tile of every member's rows once; the others' before mine, and of mine each later than the
// others have theirs, by the margin.
TEST(GemmRsOrder, WaitsOnlyForWhatIsEarlier) {
  for (const int members : {1, 2, 3, 8}) {
    for (const int margin : {1, 5, 12}) {
      constexpr int kRows = 3, kColumns = 4, kTiles = kRows * kColumns;
      const auto order = [&](int rank) {
        return gemm_rs::ScatterOrder{
            {1, 0, kRows, kColumns, 2, 64, 64, 1, 7}, members, rank, margin};
      };
      std::vector<std::map<std::tuple<int, int, int>, int>> place(
          static_cast<std::size_t>(members));
      gemm::Work work{};
      for (int rank = 0; rank < members; ++rank) {
        int index = 0;
        for (; order(rank).work(index, 0, &work); ++index) {
          const bool is_new = place[static_cast<std::size_t>(rank)]
                                  .emplace(std::tuple(work.segment, work.row, work.column), index)
                                  .second;
          ASSERT_TRUE(is_new) << "twice: rank " << rank << ", place " << index;
          if (index == 0 && members > 1) ASSERT_EQ(work.segment, (rank + 1) % members);
        }
        ASSERT_EQ(index, members * kTiles);
      }
      for (int mine = 0; mine < members; ++mine)
        for (const auto& [tile, at] : place[static_cast<std::size_t>(mine)]) {
          if (std::get<0>(tile) != mine) continue;
          for (int other = 0; other < members; ++other) {
            if (other == mine) continue;
            ASSERT_GE(at, place[static_cast<std::size_t>(other)].at(tile) + margin);
          }
        }
    }
  }
}

TEST(GemmRsPlan, OverlapsWhatIsLargeAndNotWhatIsSmall) {
  using gemm_rs::overlapped;
  using gemm_rs::sequential_us;
  const gemm_rs::Shape large{2, 4096, 8192, 3584}, small{2, 8, 5120, 3200};
  const gemm_rs::Plan plan = overlapped(large, {});
  EXPECT_LT(plan.us, sequential_us(large, {}));
  EXPECT_EQ(plan.product.segments, 2);
  EXPECT_GT(plan.margin, 0);
  EXPECT_GT(overlapped(small, {}).us, sequential_us(small, {}));
  for (int tile = 0; tile < static_cast<int>(gemm::kTiles.size()); ++tile)
    EXPECT_EQ(std::isfinite(overlapped(large, {}, tile).us),
              gemm_rs::scatters(gemm::kTiles[static_cast<std::size_t>(tile)]));
}

#endif

}  // namespace
}  // namespace weft::kernels::test
