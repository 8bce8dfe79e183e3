// Calls of GemmRs and GemmAr in a CUDA graph that is replayed ten thousand times, with rows that a
// kernel makes anew each time and another one checks: nothing of the host is in between.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/kernels/gemm_ar_play.hpp"
#include "tests/kernels/gemm_rs_play.hpp"
#include "tests/kernels/graph_play.hpp"

namespace weft::kernels::test {
namespace {

constexpr int kReplays = 10000, kDepth = 64, kColumns = 264;

// Small whole numbers, whose sums are exact in any order.
__host__ __device__ float element(int kind, int pe, int iteration, int row, int column) {
  return static_cast<float>((kind * 31 + pe * 7 + iteration * 5 + row * 3 + column * column) % 5 -
                            2);
}

struct Fill {
  std::uint16_t* a;
  int rows;
  const int* iteration;
  int pe;
  WEFT_DEVICE void operator()() const {
    for (unsigned i = dev::thread_rank() + dev::block_rank() * dev::block_size();
         i < static_cast<unsigned>(rows * kDepth); i += dev::grid_size() * dev::block_size())
      a[i] = Bfloat16(element(0, pe, *iteration, static_cast<int>(i) / kDepth,
                              static_cast<int>(i) % kDepth))
                 .bits;
  }
};

// `rows` rows of c from `first` on: each element the sum over all PEs.
struct Check {
  const std::uint16_t* c;
  int first, rows;
  const int* iteration;
  int npes;
  unsigned* wrong;
  WEFT_DEVICE void operator()() const {
    for (unsigned i = dev::thread_rank() + dev::block_rank() * dev::block_size();
         i < static_cast<unsigned>(rows * kColumns); i += dev::grid_size() * dev::block_size()) {
      const int row = first + static_cast<int>(i) / kColumns,
                column = static_cast<int>(i) % kColumns;
      float sum = 0;
      for (int p = 0; p < npes; ++p) {
        float dot = 0;
        for (int k = 0; k < kDepth; ++k)
          dot += element(0, p, *iteration, row, k) * element(1, p, 0, column, k);
        sum += dot;
      }
      if (c[i] != Bfloat16(sum).bits) atomicAdd(wrong, 1u);
    }
  }
};

struct Next {
  int* iteration;
  WEFT_DEVICE void operator()() const { ++*iteration; }
};

// The rows of the sum that a PE gets, of the m rows that come in.
struct Rows {
  int first, count;
};

// Twice in a graph, so that both halves of staging are used in every order.
template <class Op, class OpOptions>
Status replay(Runtime& rt, const OpOptions& options, int m, const Rows& mine) {
  auto made = Op::create(rt, {m, kColumns, kDepth, DType::kBfloat16}, options);
  if (!made) return std::move(made).status();
  Bits b(kColumns * kDepth);
  for (int i = 0; i < kColumns * kDepth; ++i)
    b[static_cast<std::size_t>(i)] = Bfloat16(element(1, rt.pe(), 0, i / kDepth, i % kDepth)).bits;
  ASSIGN_OR_RETURN(const Memory weight, Memory::create(rt, b));
  ASSIGN_OR_RETURN(auto* const a,
                   rt.allocate_device<std::uint16_t>(static_cast<std::size_t>(m) * kDepth));
  ASSIGN_OR_RETURN(auto* const c,
                   rt.allocate_device<std::uint16_t>(static_cast<std::size_t>(m) * kColumns));
  ASSIGN_OR_RETURN(auto* const words, rt.callocate_device<int>(2));
  auto* const wrong = reinterpret_cast<unsigned*>(words + 1);

  RETURN_IF_ERROR(replay_in_graph(rt, kReplays, [&](Stream stream) -> Status {
    for (int i = 0; i < 2; ++i) {
      RETURN_IF_ERROR(dev::launch({32, 256, 0}, Fill{a, m, words, rt.pe()}, stream));
      RETURN_IF_ERROR((*made)(stream, c, a, weight.data()));
      RETURN_IF_ERROR(dev::launch(
          {32, 256, 0}, Check{c, mine.first, mine.count, words, rt.npes(), wrong}, stream));
      RETURN_IF_ERROR(dev::launch({1, 1, 0}, Next{words}, stream));
    }
    return Status::ok();
  }));
  int seen[2] = {};
  RETURN_IF_ERROR(rt.context().get_bytes(seen, words, sizeof(seen), rt.pe()));
  EXPECT_EQ(seen[0], 2 * kReplays);
  EXPECT_EQ(seen[1], 0) << made->describe();
  RETURN_IF_ERROR(rt.barrier());
  return rt.health();
}

// body(rt) on a PE for each GPU.
template <class Body>
void on_all_gpus(const Body& body) {
  int gpus = 0;
  ASSERT_EQ(cudaGetDeviceCount(&gpus), cudaSuccess);
  if (gpus < 2) GTEST_SKIP() << "graphs that wait for one another need a GPU each";
  EXPECT_OK(run_local(gpus, body, job_options()));
}

TEST(GemmRsGraphs, AreReplayed) {
  on_all_gpus([](Runtime& rt) -> Status {
    const auto play = [&](GemmRsAlgorithm algorithm, int m) {
      GemmRsOptions options;
      options.algorithm = algorithm;
      const int each = (m + rt.npes() - 1) / rt.npes(), first = std::min(m, rt.pe() * each);
      return replay<GemmRs>(rt, options, m, {first, std::min(each, m - first)});
    };
    for (const int rows : {1, 200, 1031}) {
      RETURN_IF_ERROR(play(GemmRsAlgorithm::kOverlapped, rows * rt.npes()));
      RETURN_IF_ERROR(play(GemmRsAlgorithm::kSequential, rows * rt.npes()));
    }
    for (const int m : {1, 17, 128}) RETURN_IF_ERROR(play(GemmRsAlgorithm::kOneKernel, m));
    return Status::ok();
  });
}

TEST(GemmArGraphs, AreReplayed) {
  on_all_gpus([](Runtime& rt) -> Status {
    const auto play = [&](GemmArAlgorithm algorithm, int m) {
      GemmArOptions options;
      options.algorithm = algorithm;
      return replay<GemmAr>(rt, options, m, {0, m});
    };
    for (const int m : {1, 17, 128}) {
      RETURN_IF_ERROR(play(GemmArAlgorithm::kOneKernel, m));
      RETURN_IF_ERROR(play(GemmArAlgorithm::kSequential, m));
    }
    return play(GemmArAlgorithm::kOverlapped, 200 * rt.npes());
  });
}

}  // namespace
}  // namespace weft::kernels::test
