// AgGemm as it is used on GPUs: in a CUDA graph that is replayed ten thousand times, and with every
// tile on a whole GPU.
#include <gtest/gtest.h>

#include <cstdint>

#include "kernels/fused/all_gather_gemm/plan.hpp"
#include "tests/kernels/ag_gemm_play.hpp"
#include "tests/kernels/graph_play.hpp"

namespace weft::kernels::test {
namespace {

// Rows that differ from iteration to iteration; and whether two results are the same.
struct Fill {
  std::uint16_t* a;
  std::size_t count;
  const std::uint32_t* iteration;
  int pe;
  WEFT_DEVICE void operator()() const {
    for (std::size_t i = dev::thread_rank(); i < count; i += dev::block_size()) {
      const auto mixed =
          (static_cast<std::uint32_t>(i) + *iteration * 7919u + 1u + pe) * 2654435761u;
      a[i] = Bfloat16(static_cast<float>(mixed >> 20) / 1024 - 2).bits;
    }
  }
};
struct Compare {
  const std::uint16_t *c, *want;
  std::size_t count;
  std::uint32_t *iteration, *wrong;
  WEFT_DEVICE void operator()() const {
    for (std::size_t i = dev::thread_rank(); i < count; i += dev::block_size())
      if (c[i] != want[i]) atomicAdd(wrong, 1u);
    dev::Block{}.sync();
    if (dev::thread_rank() == 0) ++*iteration;
  }
};

// Ten thousand times, beside and one after the other, and nothing of the host in between.
Status replay(Runtime& rt) {
  constexpr int kReplays = 10000;
  const GemmProblem problem{300, 136, 264, DType::kBfloat16};
  const auto npes = static_cast<std::size_t>(rt.npes());
  const std::size_t in = 300 * 264, out = npes * 300 * 136;
  auto beside = AgGemm::create(rt, problem, AgGemmModel::options(AgGemmAlgorithm::kOverlapped));
  auto after = AgGemm::create(rt, problem, AgGemmModel::options(AgGemmAlgorithm::kSequential));
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
            options.algorithm = AgGemmAlgorithm::kOverlapped;
            options.gemm.tile = name_of(tile);
            RETURN_IF_ERROR(play<AgGemmModel>(rt, rt.world(), {1000, 1096, 328, dtype}, options,
                                              {1000, 777, 1000}, 21));
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

}  // namespace
}  // namespace weft::kernels::test
