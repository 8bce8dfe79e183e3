// Calls in a CUDA graph that is replayed ten thousand times, with inputs that a kernel makes anew
// each time and another one checks: nothing of the host is in between.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/kernels/collective_play.hpp"
#include "tests/kernels/graph_play.hpp"
#include "tests/kernels/norm_play.hpp"

namespace weft::kernels::test {
namespace {

constexpr int kReplays = 10000;

__host__ __device__ std::int32_t value_of(int pe, std::int32_t iteration, std::size_t i) {
  return (pe + 1) * 1000003 + iteration * 7919 + static_cast<std::int32_t>(i) * 31;
}

struct Fill {
  std::int32_t* in;
  std::size_t count;
  const std::int32_t* iteration;
  int pe;
  WEFT_DEVICE void operator()() const {
    for (std::size_t i = dev::thread_rank(); i < count; i += dev::block_size())
      in[i] = value_of(pe, *iteration, i);
  }
};

struct Check {
  const std::int32_t *sums, *gathered;
  std::size_t count;
  std::int32_t* iteration;
  int npes;
  unsigned* wrong;
  WEFT_DEVICE void operator()() const {
    for (std::size_t i = dev::thread_rank(); i < count; i += dev::block_size()) {
      std::int32_t sum = 0;
      for (int pe = 0; pe < npes; ++pe) {
        const std::int32_t value = value_of(pe, *iteration, i);
        sum += value;
        if (gathered[static_cast<std::size_t>(pe) * count + i] != value) atomicAdd(wrong, 1u);
      }
      if (sums[i] != sum) atomicAdd(wrong, 1u);
    }
    dev::Block{}.sync();
    if (dev::thread_rank() == 0) ++*iteration;
  }
};

Status replay(Runtime& rt, Algorithm algorithm, std::size_t count) {
  CollectiveOptions options;
  options.algorithm = algorithm;
  options.symmetric = algorithm == Algorithm::kZeroCopy;
  const CollectiveProblem problem{count, DType::kInt32, ReduceOp::kSum};
  ASSIGN_OR_RETURN(AllReduce sum, AllReduce::create(rt, problem, options));
  if (algorithm == Algorithm::kTwoShotLL) options.algorithm = Algorithm::kAuto;
  ASSIGN_OR_RETURN(AllGather gather, AllGather::create(rt, problem, options));
  const auto npes = static_cast<std::size_t>(rt.npes());
  ASSIGN_OR_RETURN(auto* const in, rt.allocate_device<std::int32_t>(count));
  ASSIGN_OR_RETURN(auto* const sums, rt.allocate_device<std::int32_t>(count));
  ASSIGN_OR_RETURN(auto* const gathered, rt.allocate_device<std::int32_t>(count * npes));
  ASSIGN_OR_RETURN(auto* const words, rt.callocate_device<std::int32_t>(2));
  auto* const wrong = reinterpret_cast<unsigned*>(words + 1);

  RETURN_IF_ERROR(replay_in_graph(rt, kReplays, [&](Stream stream) -> Status {
    RETURN_IF_ERROR(dev::launch({1, 256, 0}, Fill{in, count, words, rt.pe()}, stream));
    RETURN_IF_ERROR(sum(stream, sums, in, count));
    RETURN_IF_ERROR(gather(stream, gathered, in, count));
    RETURN_IF_ERROR(
        dev::launch({1, 256, 0}, Check{sums, gathered, count, words, rt.npes(), wrong}, stream));
    return Status::ok();
  }));
  std::int32_t seen[2] = {};
  RETURN_IF_ERROR(rt.context().get_bytes(seen, words, sizeof(seen), rt.pe()));
  EXPECT_EQ(seen[0], kReplays);
  EXPECT_EQ(seen[1], 0) << to_string(algorithm) << " of " << count;
  RETURN_IF_ERROR(rt.barrier());
  return rt.health();
}

TEST(Graphs, AreReplayed) {
  int gpus = 0;
  ASSERT_EQ(cudaGetDeviceCount(&gpus), cudaSuccess);
  if (gpus < 2) GTEST_SKIP() << "graphs that wait for one another need a GPU each";
  EXPECT_OK(run_local(
      gpus,
      [](Runtime& rt) -> Status {
        for (const Algorithm algorithm :
             {Algorithm::kLL, Algorithm::kTwoShotLL, Algorithm::kSimple, Algorithm::kZeroCopy})
          for (const std::size_t count : {1, 5000, 40001})
            RETURN_IF_ERROR(replay(rt, algorithm, count));
        return Status::ok();
      },
      job_options()));
}

// While a stream of the process is captured in global mode, which is PyTorch's default.
Status create_in_capture(Runtime& rt) {
  constexpr std::size_t kCount = std::size_t{1} << 20;
  ASSIGN_OR_RETURN(auto* const ints, rt.callocate_device<std::int32_t>(2 * kCount));
  Stream stream = nullptr;
  RETURN_IF_ERROR(dev::create_stream(&stream));
  auto* const native = static_cast<cudaStream_t>(stream);
  RETURN_IF_ERROR(rt.barrier());
  RETURN_IF_ERROR(of(cudaStreamBeginCapture(native, cudaStreamCaptureModeGlobal)));
  const CollectiveProblem problem{kCount, DType::kInt32, ReduceOp::kSum};
  ASSIGN_OR_RETURN(AllReduce sum, AllReduce::create(rt, problem));
  ASSIGN_OR_RETURN(auto* const more, rt.callocate_device<std::int32_t>(100 * kCount));
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(native, &graph), cudaSuccess);
  RETURN_IF_ERROR(of(cudaGraphDestroy(graph)));
  const std::vector<std::int32_t> ones(kCount, 1);
  RETURN_IF_ERROR(rt.context().put(ints, ones.data(), kCount, rt.pe()));
  RETURN_IF_ERROR(rt.barrier());
  RETURN_IF_ERROR(sum(stream, more, ints, kCount));
  RETURN_IF_ERROR(dev::synchronize(stream));
  std::int32_t last = 0;
  RETURN_IF_ERROR(rt.context().get(&last, more + kCount - 1, 1, rt.pe()));
  EXPECT_EQ(last, rt.npes());
  RETURN_IF_ERROR(rt.barrier());
  RETURN_IF_ERROR(dev::destroy_stream(stream));
  return rt.health();
}

TEST(Graphs, OperatorsAreMadeWhileAStreamIsCaptured) {
  int gpus = 0;
  ASSERT_EQ(cudaGetDeviceCount(&gpus), cudaSuccess);
  Options options = job_options();
  options.gpu_heap_size = std::uint64_t{2} << 30;
  EXPECT_OK(run_local(gpus, create_in_capture, options));
}

// Counts that a kernel makes anew each time, of which one round of LL holds most.
__host__ __device__ std::uint64_t count_of_iteration(int from, int to, std::int32_t iteration,
                                                     std::uint64_t most) {
  const auto mixed = static_cast<std::uint64_t>(iteration) * 2654435761u +
                     static_cast<std::uint64_t>(from * 31 + to * 17);
  return iteration % 16 == 0 ? mixed % (4 * most) : mixed % (most + 1);
}

struct Parcels {
  std::int32_t *in, *out;
  std::uint64_t *counts, *offsets, *came;  // of each rank
  std::uint64_t most;
  std::int32_t* iteration;
  int pe, npes;
  unsigned* wrong;
  WEFT_DEVICE std::size_t offset(int rank) const {
    return static_cast<std::size_t>(rank) * 4 * most;
  }
};
struct Pack : Parcels {
  WEFT_DEVICE void operator()() const {
    for (int to = 0; to < npes; ++to) {
      const std::uint64_t count = count_of_iteration(pe, to, *iteration, most);
      if (dev::thread_rank() == 0) counts[to] = count;
      for (std::size_t i = dev::thread_rank(); i < count; i += dev::block_size())
        in[offset(to) + i] = value_of(pe, *iteration, i) + to;
    }
  }
};
struct Unpack : Parcels {
  WEFT_DEVICE void operator()() const {
    for (int from = 0; from < npes; ++from) {
      const std::uint64_t count = count_of_iteration(from, pe, *iteration, most);
      if (came[from] != count) atomicAdd(wrong, 1u);
      for (std::size_t i = dev::thread_rank(); i < count; i += dev::block_size())
        if (out[offset(from) + i] != value_of(from, *iteration, i) + pe) atomicAdd(wrong, 1u);
    }
    dev::Block{}.sync();
    if (dev::thread_rank() == 0) ++*iteration;
  }
};

Status replay_parcels(Runtime& rt, Algorithm algorithm, std::uint64_t most) {
  CollectiveOptions options;
  options.algorithm = algorithm;
  options.symmetric = algorithm == Algorithm::kZeroCopy;
  ASSIGN_OR_RETURN(AllToAllV op,
                   AllToAllV::create(rt, {most, DType::kInt32, ReduceOp::kSum}, options));
  const auto n = static_cast<std::size_t>(rt.npes());
  Parcels p{};
  p.most = most;
  p.pe = rt.pe();
  p.npes = rt.npes();
  ASSIGN_OR_RETURN(p.in, rt.allocate_device<std::int32_t>(4 * most * n));
  ASSIGN_OR_RETURN(p.out, rt.allocate_device<std::int32_t>(4 * most * n));
  ASSIGN_OR_RETURN(p.counts, rt.allocate_device<std::uint64_t>(3 * n));
  p.offsets = p.counts + n;
  p.came = p.offsets + n;
  ASSIGN_OR_RETURN(p.iteration, rt.callocate_device<std::int32_t>(2));
  p.wrong = reinterpret_cast<unsigned*>(p.iteration + 1);
  std::vector<std::uint64_t> offsets;
  for (std::size_t rank = 0; rank < n; ++rank) offsets.push_back(rank * 4 * most);
  RETURN_IF_ERROR(rt.context().put(p.offsets, offsets.data(), n, rt.pe()));

  RETURN_IF_ERROR(replay_in_graph(rt, kReplays, [&](Stream stream) -> Status {
    RETURN_IF_ERROR(dev::launch({1, 256, 0}, Pack{p}, stream));
    RETURN_IF_ERROR(op(stream, p.out, p.in, {p.counts, p.offsets, p.offsets, p.came}));
    return dev::launch({1, 256, 0}, Unpack{p}, stream);
  }));
  std::int32_t seen[2] = {};
  RETURN_IF_ERROR(rt.context().get_bytes(seen, p.iteration, sizeof(seen), rt.pe()));
  EXPECT_EQ(seen[0], kReplays);
  EXPECT_EQ(seen[1], 0) << to_string(algorithm) << " of " << most;
  RETURN_IF_ERROR(rt.barrier());
  return rt.health();
}

TEST(Graphs, OfAllToAllVAreReplayed) {
  int gpus = 0;
  ASSERT_EQ(cudaGetDeviceCount(&gpus), cudaSuccess);
  if (gpus < 2) GTEST_SKIP() << "graphs that wait for one another need a GPU each";
  EXPECT_OK(run_local(
      gpus,
      [](Runtime& rt) -> Status {
        for (const Algorithm algorithm : {Algorithm::kLL, Algorithm::kSimple, Algorithm::kZeroCopy})
          for (const std::uint64_t most : {1, 5000})
            RETURN_IF_ERROR(replay_parcels(rt, algorithm, most));
        return Status::ok();
      },
      job_options()));
}

// The residual goes round: each replay adds the members' sums to it, in place.
Status replay_norm(Runtime& rt, Algorithm algorithm, std::size_t rows, std::size_t hidden) {
  constexpr int kNorms = 200;
  constexpr float kEpsilon = 1e-5f;
  CollectiveOptions options;
  options.algorithm = algorithm;
  ASSIGN_OR_RETURN(AllReduceNorm norm,
                   AllReduceNorm::create(rt, {rows, hidden, DType::kFloat32, kEpsilon}, options));
  NormData<float> data(rt.npes(), rows, hidden, test_seed() + hidden);
  ASSIGN_OR_RETURN(NormBuffers<float> b, NormBuffers<float>::create(rt, rows * hidden));
  RETURN_IF_ERROR(b.prepare(data, false, 0));
  RETURN_IF_ERROR(replay_in_graph(rt, kNorms / 2, [&](Stream stream) -> Status {
    RETURN_IF_ERROR(norm(stream, b.out, b.residual_out, b.in, b.residual, b.weight, rows));
    RETURN_IF_ERROR(norm(stream, b.out, b.residual, b.in, b.residual_out, b.weight, rows));
    return Status::ok();
  }));
  // Its last residual_out is b.residual; that before b.residual_out.
  for (int i = 0; i < kNorms - 2; ++i)
    data.residual = NormModel<float>(data, rows, hidden, kEpsilon).residual_out;
  NormModel<float> model(data, rows, hidden, kEpsilon);
  data.residual = model.residual_out;
  model.out = NormModel<float>(data, rows, hidden, kEpsilon).out;
  RETURN_IF_ERROR(b.check(model, to_string(algorithm)));
  RETURN_IF_ERROR(rt.barrier());
  return rt.health();
}

TEST(Graphs, OfNormsAreReplayed) {
  int gpus = 0;
  ASSERT_EQ(cudaGetDeviceCount(&gpus), cudaSuccess);
  if (gpus < 2) GTEST_SKIP() << "graphs that wait for one another need a GPU each";
  EXPECT_OK(run_local(
      gpus,
      [](Runtime& rt) -> Status {
        for (const Algorithm algorithm :
             {Algorithm::kLL, Algorithm::kTwoShotLL, Algorithm::kSimple})
          for (const std::size_t hidden : {7, 1025})
            RETURN_IF_ERROR(replay_norm(rt, algorithm, 9, hidden));
        return Status::ok();
      },
      job_options()));
}

}  // namespace
}  // namespace weft::kernels::test
