// CUDA graphs: what OnStream queues is captured and replayed with data that changes. GPUs only.
#include <gtest/gtest.h>

#include <cuda_runtime.h>

#include <cstdint>
#include <string>
#include <vector>

#include <weft/device.hpp>
#include <weft/weft.hpp>

#include "src/base/status.hpp"
#include "tests/multi_pe/gpu_driver.hpp"
#include "tests/multi_pe/neighbours.hpp"
#include "tests/support/pe_group.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

using Word = std::uint64_t;

Status check(cudaError_t error) {
  if (error == cudaSuccess) return Status::ok();
  return Status::error(Code::kInternal, cudaGetErrorString(error));
}

std::vector<PeGroup> groups() {
  Options options;
  options.gpu_heap_size = std::uint64_t{256} << 20;
  std::vector<PeGroup> all;
  for (const int n : {1, 2, 4})
    for (const Pes pes : {Pes::kThreads, Pes::kProcesses}) all.push_back({pes, n, options, {}});
  return all;
}

class GraphTest : public ::testing::TestWithParam<PeGroup> {};

// Adds one to every element, so that each replay moves other data.
struct Step {
  Word* data;
  std::size_t count;
  WEFT_DEVICE void operator()() const {
    for (std::size_t i = dev::thread_rank(); i < count; i += dev::block_size()) data[i] += 1;
  }
};

struct Memory {
  Word *data, *landed, *sum, *all, *words;
};

constexpr std::size_t kSmall = 300, kLarge = 50000;

Status queue_round(Runtime& rt, OnStream& q, const Memory& m, std::size_t count) {
  RETURN_IF_ERROR(dev::launch({.blocks = 1, .threads = 256}, Step{m.data, count}, q.stream()));
  RETURN_IF_ERROR(q.barrier(rt.world()));  // landed has been read by all
  RETURN_IF_ERROR(q.put(m.landed, m.data, count, next_of(rt), add(m.words, 1)));
  RETURN_IF_ERROR(q.signal(set(m.words + 1, 5), next_of(rt)));
  RETURN_IF_ERROR(q.wait_until(m.words + 1, Cmp::kEq, Word{5}));
  RETURN_IF_ERROR(q.barrier(rt.world()));
  RETURN_IF_ERROR(q.reduce(rt.world(), m.sum, m.landed, count, ReduceOp::kSum));
  RETURN_IF_ERROR(q.fcollect(rt.world(), m.all, m.landed, count));
  return q.barrier(rt.world());
}

Result<cudaGraphExec_t> capture(Runtime& rt, OnStream& q, const Memory& m, std::size_t count) {
  const auto stream = static_cast<cudaStream_t>(q.stream());
  RETURN_IF_ERROR(check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal)));
  const Status queued = queue_round(rt, q, m, count);
  cudaGraph_t graph = nullptr;
  RETURN_IF_ERROR(check(cudaStreamEndCapture(stream, &graph)));
  RETURN_IF_ERROR(queued);
  cudaGraphExec_t ready = nullptr;
  RETURN_IF_ERROR(check(cudaGraphInstantiate(&ready, graph, 0)));
  RETURN_IF_ERROR(check(cudaGraphDestroy(graph)));
  return ready;
}

Status replay(Runtime& rt, std::size_t count) {
  constexpr int kReplays = 200;
  const auto n = static_cast<std::size_t>(rt.npes());
  Stream stream = nullptr;
  RETURN_IF_ERROR(dev::create_stream(&stream));
  OnStream q(rt.context(), stream);
  Memory m{};
  for (Word** memory : {&m.data, &m.landed, &m.sum, &m.words}) {
    ASSIGN_OR_RETURN(*memory, rt.allocate_device<Word>(kLarge));
  }
  ASSIGN_OR_RETURN(m.all, rt.allocate_device<Word>(n * kLarge));
  std::vector<Word> mine(count), zeros(kLarge);
  for (std::size_t i = 0; i < count; ++i) mine[i] = mark(rt.pe(), i);
  RETURN_IF_ERROR(rt.context().put(m.data, mine.data(), count, rt.pe()));
  RETURN_IF_ERROR(rt.context().put(m.words, zeros.data(), 8, rt.pe()));
  RETURN_IF_ERROR(rt.barrier());
  ASSIGN_OR_RETURN(const cudaGraphExec_t graph, capture(rt, q, m, count));
  for (int i = 0; i < kReplays; ++i)
    RETURN_IF_ERROR(check(cudaGraphLaunch(graph, static_cast<cudaStream_t>(stream))));
  RETURN_IF_ERROR(dev::synchronize(stream));
  std::vector<Word> sum(count), all(n * count), words(2);
  RETURN_IF_ERROR(rt.context().get(sum.data(), m.sum, count, rt.pe()));
  RETURN_IF_ERROR(rt.context().get(all.data(), m.all, n * count, rt.pe()));
  RETURN_IF_ERROR(rt.context().get(words.data(), m.words, 2, rt.pe()));
  for (std::size_t i = 0; i < count; ++i) {
    Word want = 0;
    for (int pe = 0; pe < rt.npes(); ++pe) {
      const Word theirs = mark(pe, i) + kReplays;
      want += theirs;
      EXPECT_EQ(all[static_cast<std::size_t>((pe + 1) % rt.npes()) * count + i], theirs);
    }
    EXPECT_EQ(sum[i], want);
    if (::testing::Test::HasFailure()) break;
  }
  EXPECT_EQ(words[0], static_cast<Word>(kReplays));
  RETURN_IF_ERROR(check(cudaGraphExecDestroy(graph)));
  RETURN_IF_ERROR(dev::destroy_stream(stream));
  RETURN_IF_ERROR(rt.health());
  return rt.barrier();
}

TEST_P(GraphTest, ReplaysMoveWhatTheMemoryHoldsThen) {
  // CUDA was seen to run graphs of four threads one after the other, of which each waits for all.
  if (GetParam().npes > 2 * *gpu::count_gpus(driver()) && GetParam().pes == Pes::kThreads)
    GTEST_SKIP() << "more graphs on a GPU than CUDA runs side by side";
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    RETURN_IF_ERROR(replay(rt, kSmall));
    return replay(rt, kLarge);
  }));
}

INSTANTIATE_TEST_SUITE_P(Pes, GraphTest, ::testing::ValuesIn(groups()), pe_group_name);

}  // namespace
}  // namespace weft
