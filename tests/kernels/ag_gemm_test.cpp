// AgGemm against AllGather's rows and Gemm, on host threads; compiled for CUDA, on GPUs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "kernels/ag_gemm/plan.hpp"
#include "tests/kernels/absence.hpp"
#include "tests/kernels/ag_gemm_play.hpp"
#if !WEFT_TARGET_CPU
#include "tests/kernels/graph_play.hpp"
#endif

namespace weft::kernels::test {
namespace {

using ::testing::HasSubstr;
using enum AgGemmAlgorithm;

std::string to_string(AgGemmAlgorithm algorithm) {
  return algorithm == kAuto ? "auto" : algorithm == kSequential ? "sequential" : "overlapped";
}

class AgGemmTest : public ::testing::TestWithParam<std::tuple<AgGemmAlgorithm, int>> {};

// None, one, odd, edges of tiles and of pieces; rows that lie close and rows that do not.
TEST_P(AgGemmTest, EqualsAllGatherThenGemm) {
  const auto [algorithm, npes] = GetParam();
  EXPECT_OK(run_local(
      npes,
      [&, algorithm = algorithm](Runtime& rt) -> Status {
        const std::vector<GemmProblem> problems = {
            {1, 1, 1, DType::kBfloat16},        {3, 5, 7, DType::kFloat16},
            {64, 64, 64, DType::kBfloat16},     {130, 70, 24, DType::kFloat16},
            {65, 33, 40, DType::kBfloat16, 56}, {200, 9, 16, DType::kBfloat16, 16, 24, 16},
            {0, 8, 8, DType::kBfloat16},        {9, 0, 8, DType::kBfloat16},
            {9, 8, 0, DType::kBfloat16},        {20, 100, 130, DType::kBfloat16}};
        std::uint64_t seed = test_seed() % 1000;
        for (const GemmProblem& p : problems) {
          const std::vector<std::int64_t> rows = {
              p.m, std::min<std::int64_t>(p.m, 1), p.m, p.m / 2, 0, p.m};
          SCOPED_TRACE(fmt::format("{} x {} x {}", p.m, p.n, p.k));
          RETURN_IF_ERROR(
              AgGemmPlay(rt, rt.world(), p, small_options(algorithm)).run(rows, seed += 100));
        }
        return Status::ok();
      },
      job_options()));
}

INSTANTIATE_TEST_SUITE_P(Algorithms, AgGemmTest,
                         ::testing::Combine(::testing::Values(kAuto, kSequential, kOverlapped),
                                            ::testing::Values(1, 2, 3, 4, 5, 6, 7, 8)),
                         [](const auto& info) {
                           return to_string(std::get<0>(info.param)) + "_" +
                                  std::to_string(std::get<1>(info.param));
                         });

// More rows than a grid has tiles at a time, by turns beside and one after the other.
TEST(AgGemm, ManyCallsFollowOneAnother) {
  EXPECT_OK(run_local(
      3,
      [](Runtime& rt) -> Status {
        std::mt19937_64 random(test_seed());
        const GemmProblem problem{300, 72, 48, DType::kBfloat16};
        for (int i = 0; i < 4; ++i) {
          std::vector<std::int64_t> rows;
          for (int call = 0; call < 12; ++call)
            rows.push_back(static_cast<std::int64_t>(random() % (call % 2 == 0 ? 301 : 20)));
          RETURN_IF_ERROR(
              AgGemmPlay(rt, rt.world(), problem, small_options(i % 2 == 0 ? kOverlapped : kAuto))
                  .run(rows, random() % 10000));
        }
        return Status::ok();
      },
      job_options()));
}

// Each PE comes late now and then.
TEST(AgGemm, StragglersAreWaitedFor) {
  EXPECT_OK(run_local(
      4,
      [](Runtime& rt) -> Status {
        std::mt19937_64 random(test_seed() + static_cast<std::uint64_t>(rt.pe()));
        const auto pause = [&] {
          if (random() % 3 == 0)
            std::this_thread::sleep_for(std::chrono::microseconds(random() % 5000));
        };
        return AgGemmPlay(rt, rt.world(), {150, 40, 32, DType::kBfloat16},
                          small_options(kOverlapped))
            .run(std::vector<std::int64_t>(24, 150), 5, nullptr, pause);
      },
      job_options()));
}

// Odd and even PEs are teams of their own, listed backwards.
TEST(AgGemm, WorksOnTeams) {
  EXPECT_OK(run_local(
      6,
      [](Runtime& rt) -> Status {
        ASSIGN_OR_RETURN(const Team odd, rt.team_from_list(rt.world(), {5, 3, 1}));
        ASSIGN_OR_RETURN(const Team even, rt.team_from_list(rt.world(), {4, 2, 0}));
        const Team& mine = odd.is_member() ? odd : even;
        for (const AgGemmAlgorithm algorithm : {kSequential, kOverlapped})
          RETURN_IF_ERROR(
              AgGemmPlay(rt, mine, {70, 24, 40, DType::kFloat16}, small_options(algorithm))
                  .run({70, 3, 70}, 11));
        return Status::ok();
      },
      job_options()));
}

TEST(AgGemm, TwoRunAtOnce) {
  EXPECT_OK(run_local(
      2,
      [](Runtime& rt) -> Status {
        const GemmProblem problem{140, 40, 32, DType::kBfloat16};
        struct Lane {
          std::optional<AgGemm> op;
          Memory a, b, c, want;
          Stream stream = nullptr;
        };
        std::vector<Lane> lanes(2);
        std::uint64_t seed = 1;
        for (Lane& lane : lanes) {
          auto made = AgGemm::create(rt, problem, small_options(kOverlapped));
          if (!made) return std::move(made).status();
          lane.op.emplace(std::move(*made));
          Bits all;
          for (int pe = 0; pe < 2; ++pe) {
            const Bits one = random_matrix(problem.dtype, 140, 32, 32,
                                           seed * 2 + static_cast<std::uint64_t>(pe));
            all.insert(all.end(), one.begin(), one.begin() + 140 * 32);
            if (pe != rt.pe()) continue;
            ASSIGN_OR_RETURN(lane.a, Memory::create(rt, one));
          }
          ++seed;
          ASSIGN_OR_RETURN(lane.b,
                           Memory::create(rt, random_matrix(problem.dtype, 40, 32, 32, 99)));
          ASSIGN_OR_RETURN(lane.c, Memory::create(rt, Bits(280 * 40, kPoison)));
          ASSIGN_OR_RETURN(lane.want, Memory::create(rt, Bits(280 * 40, kPoison)));
          ASSIGN_OR_RETURN(const Memory rows, Memory::create(rt, all));
          GemmProblem whole = problem;
          whole.m = 280;
          auto gemm = Gemm::create(rt, whole, small_options(kAuto).gemm);
          if (!gemm) return std::move(gemm).status();
          RETURN_IF_ERROR((*gemm)(nullptr, lane.want.data(), rows.data(), lane.b.data()));
          RETURN_IF_ERROR(dev::synchronize());
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
          ASSIGN_OR_RETURN(const Bits want, lane.want.read());
          EXPECT_EQ(c, want);
          RETURN_IF_ERROR(dev::destroy_stream(lane.stream));
        }
        RETURN_IF_ERROR(rt.barrier());
        return rt.health();
      },
      job_options()));
}

// PE 1 does not come: the others report it, end, and leave c as it is from then on.
TEST(AgGemm, MissingMemberIsReported) {
  Options options = job_options();
  options.wait_timeout = 0.2;
  Absence absence;
  const Status status = run_local(
      3,
      [&](Runtime& rt) -> Status {
        const GemmProblem problem{100, 16, 16, DType::kBfloat16};
        auto op = AgGemm::create(rt, problem, small_options(kOverlapped));
        if (!op) return std::move(op).status();
        const Bits poison(300 * 16, kPoison);
        ASSIGN_OR_RETURN(const Memory a,
                         Memory::create(rt, random_matrix(DType::kBfloat16, 100, 16, 16, 1)));
        ASSIGN_OR_RETURN(const Memory first, Memory::create(rt, poison));
        ASSIGN_OR_RETURN(const Memory later, Memory::create(rt, poison));
        if (rt.pe() != 1) {
          RETURN_IF_ERROR((*op)(nullptr, first.data(), a.data(), a.data()));
          RETURN_IF_ERROR((*op)(nullptr, later.data(), a.data(), a.data()));
          RETURN_IF_ERROR((*op)(nullptr, later.data(), a.data(), a.data()));
          RETURN_IF_ERROR(dev::synchronize());
          absence.expect_report(rt);
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

TEST(AgGemm, RefusesWrongArguments) {
  EXPECT_OK(run_local(
      2,
      [](Runtime& rt) -> Status {
        const GemmProblem good{16, 16, 16, DType::kBfloat16};
        const auto argument = Code::kInvalidArgument;
        const auto refused = [&](const GemmProblem& problem, const std::string& text) {
          expect_refused(AgGemm::create(rt, problem, small_options(kAuto)).status(), argument,
                         text);
        };
        GemmProblem bad = good;
        bad.m = -1;
        refused(bad, "AgGemm: m is -1");
        bad = good;
        bad.dtype = DType::kFloat32;
        refused(bad, "dtype is float32");
        bad = good;
        bad.lda = 12;
        refused(bad, "lda is 12");
        bad = good;
        bad.m = (1ll << 30);
        refused(bad, "of each of 2 members");
        bad = good;
        bad.n += 8 * rt.pe();
        refused(bad, "n is 16 on PE 0, but 24 on PE 1");
        AgGemmOptions options = small_options(kAuto);
        options.push_blocks = 1000;
        expect_refused(AgGemm::create(rt, good, options).status(), argument, "push_blocks is 1000");

        auto op = AgGemm::create(rt, good, small_options(kAuto));
        if (!op) return std::move(op).status();
        ASSIGN_OR_RETURN(const Memory memory, Memory::create(rt, Bits(4096, kPoison)));
        std::uint16_t* const at = memory.data();
        expect_refused((*op)(nullptr, at, at, at, 17), argument, "m is 17");
        expect_refused((*op)(nullptr, at, at, at, -1), argument, "m is -1");
        expect_refused((*op)(nullptr, nullptr, at, at), argument, "c is");
        expect_refused((*op)(nullptr, at, at + 1, at), argument, "a is");
        expect_refused((*op)(nullptr, at, at, at + 4), argument, "b is");
        expect_refused((*op)(nullptr, at, at, at, 16, at + 1), argument, "gathered is");
        EXPECT_OK((*op)(nullptr, nullptr, nullptr, nullptr, 0));
        ASSIGN_OR_RETURN(const Team first, rt.split_strided(rt.world(), 0, 1, 1));
        auto alone = AgGemm::create(rt, first, good, small_options(kAuto));
        if (!alone) return std::move(alone).status();
        if (rt.pe() == 1) expect_refused((*alone)(nullptr, at, at, at), argument, "no member");
        return rt.barrier();
      },
      job_options()));
}

#if WEFT_TARGET_CPU

// Nobody is mapped: what is asked to go beside cannot, the rest goes by AllGather's puts.
TEST(AgGemm, WorksWherePeersAreNotMapped) {
  Options options = job_options();
  options.fault = "seed=" + std::to_string(test_seed() & 0xffffffffu) + ",late=1";
  options.ring_capacity = 16;
  EXPECT_OK(run_local(
      3,
      [](Runtime& rt) -> Status {
        const GemmProblem problem{70, 24, 40, DType::kFloat16};
        expect_refused(AgGemm::create(rt, problem, small_options(kOverlapped)).status(),
                       Code::kUnsupported, "members that map each other");
        return AgGemmPlay(rt, rt.world(), problem, small_options(kAuto)).run({70, 3, 70}, 3);
      },
      options));
}

TEST(AgGemmPlan, OverlapsWhatIsLargeAndNotWhatIsSmall) {
  using ag_gemm::plan;
  const ag_gemm::Plan large = plan({8, 1024, 3584, 8192}, 132, -1, 0, false);
  EXPECT_GE(large.push_blocks, 4u);
  EXPECT_LE(large.overlap_from, 1024);
  EXPECT_GE(large.overlap_from, 64);
  const ag_gemm::Plan small = plan({8, 16, 3584, 8192}, 132, -1, 0, false);
  EXPECT_EQ(small.push_blocks, 0u);
  EXPECT_EQ(small.overlap_from, 17);
  EXPECT_EQ(plan({8, 16, 3584, 8192}, 132, -1, 0, true).overlap_from, 1);
  EXPECT_EQ(plan({8, 1024, 3584, 8192}, 132, -1, 20, false).push_blocks, 20u);
}

TEST(AgGemmPlan, TilesWithoutSegmentsNeverOverlap) {
  for (const gemm::Tile& tile : gemm::kTiles) {
    const int index = gemm::tile_of(tile.m, tile.n, tile.splits);
    const ag_gemm::Plan made = ag_gemm::plan({8, 1024, 3584, 8192}, 132, index, 0, true);
    EXPECT_EQ(made.push_blocks != 0, gemm::has_segments(tile)) << name_of(tile);
    EXPECT_EQ(std::isfinite(ag_gemm::overlapped_us({8, 1024, 3584, 8192}, 132, index, 8)),
              gemm::has_segments(tile));
  }
}

#else

// Rows that are other ones in each turn; and whether two results are the same.
struct Fill {
  std::uint16_t* a;
  std::size_t count;
  const std::uint32_t* turn;
  int pe;
  WEFT_DEVICE void operator()() const {
    for (std::size_t i = dev::thread_rank(); i < count; i += dev::block_size()) {
      const auto mixed = (static_cast<std::uint32_t>(i) + *turn * 7919u + 1u + pe) * 2654435761u;
      a[i] = Bfloat16(static_cast<float>(mixed >> 20) / 1024 - 2).bits;
    }
  }
};
struct Compare {
  const std::uint16_t *c, *want;
  std::size_t count;
  std::uint32_t *turn, *wrong;
  WEFT_DEVICE void operator()() const {
    for (std::size_t i = dev::thread_rank(); i < count; i += dev::block_size())
      if (c[i] != want[i]) atomicAdd(wrong, 1u);
    dev::Block{}.sync();
    if (dev::thread_rank() == 0) ++*turn;
  }
};

// A thousand times, beside and one after the other, and nothing of the host in between.
Status replay(Runtime& rt) {
  constexpr int kReplays = 1000;
  const GemmProblem problem{300, 136, 264, DType::kBfloat16};
  const auto npes = static_cast<std::size_t>(rt.npes());
  const std::size_t in = 300 * 264, out = npes * 300 * 136;
  auto beside = AgGemm::create(rt, problem, small_options(kOverlapped));
  auto after = AgGemm::create(rt, problem, small_options(kSequential));
  if (!beside) return std::move(beside).status();
  if (!after) return std::move(after).status();
  ASSIGN_OR_RETURN(const Memory a, Memory::create(rt, Bits(in, kPoison)));
  ASSIGN_OR_RETURN(const Memory b,
                   Memory::create(rt, random_matrix(DType::kBfloat16, 136, 264, 264, 5)));
  ASSIGN_OR_RETURN(const Memory c, Memory::create(rt, Bits(out, kPoison)));
  ASSIGN_OR_RETURN(const Memory want, Memory::create(rt, Bits(out, kPoison)));
  ASSIGN_OR_RETURN(auto* const words, rt.callocate_device<std::uint32_t>(2));

  RETURN_IF_ERROR(replay_in_graph(rt, kReplays, [&](Stream stream) -> Status {
    RETURN_IF_ERROR(dev::launch({1, 1024, 0}, Fill{a.data(), in, words, rt.pe()}, stream));
    RETURN_IF_ERROR((*beside)(stream, c.data(), a.data(), b.data()));
    RETURN_IF_ERROR((*after)(stream, want.data(), a.data(), b.data()));
    RETURN_IF_ERROR(
        dev::launch({1, 1024, 0}, Compare{c.data(), want.data(), out, words, words + 1}, stream));
    return Status::ok();
  }));
  std::uint32_t seen[2] = {};
  RETURN_IF_ERROR(rt.context().get_bytes(seen, words, sizeof(seen), rt.pe()));
  EXPECT_EQ(seen[0], static_cast<std::uint32_t>(kReplays));
  EXPECT_EQ(seen[1], 0u);
  RETURN_IF_ERROR(rt.barrier());
  return rt.health();
}

TEST(AgGemm, IsReplayedInAGraph) {
  int gpus = 0;
  ASSERT_EQ(cudaGetDeviceCount(&gpus), cudaSuccess);
  if (gpus < 2) GTEST_SKIP() << "graphs that wait for one another need a GPU each";
  EXPECT_OK(run_local(gpus, replay, job_options()));
}

// As large as it is used, every tile, with all of the GPU.
TEST(AgGemm, EveryTileGathers) {
  int gpus = 0;
  ASSERT_EQ(cudaGetDeviceCount(&gpus), cudaSuccess);
  if (gpus < 2) GTEST_SKIP() << "products that fill a GPU need one each";
  EXPECT_OK(run_local(
      gpus,
      [](Runtime& rt) -> Status {
        for (const gemm::Tile& tile : gemm::kTiles) {
          if (!gemm::has_segments(tile)) continue;
          for (const DType dtype : {DType::kBfloat16, DType::kFloat16}) {
            AgGemmOptions options;
            options.algorithm = kOverlapped;
            options.gemm.tile = name_of(tile);
            RETURN_IF_ERROR(AgGemmPlay(rt, rt.world(), {1000, 1096, 328, dtype}, options)
                                .run({1000, 777, 1000}, 21));
          }
        }
        return Status::ok();
      },
      [] {
        Options options = job_options();
        options.heap_size = std::uint64_t{2} << 30;
        return options;
      }()));
}

#endif

}  // namespace
}  // namespace weft::kernels::test
