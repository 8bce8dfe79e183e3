// A program that creates the runtime before it first uses a GPU, and has no kernels of Weft's: the
// first call that could use one looks again. The driver is the one that the system has by that
// name, which is tests/support/fake_gpu's where LD_LIBRARY_PATH says so. A process that has loaded
// it is none of these programs any more, so each test has processes of its own, of which each is a
// PE or has PEs as threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <weft/weft.hpp>

#include "src/base/status.hpp"
#include "src/platform/gpu/gpu.hpp"
#include "tests/multi_pe/neighbours.hpp"
#include "tests/support/own_gpu_memory.hpp"
#include "tests/support/pe_group.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

using ::testing::HasSubstr;
using Word = std::uint64_t;

const gpu::Library kDriver{gpu::Kind::kCuda, ""};

Options small() {
  Options options;
  options.gpu_heap_size = std::uint64_t{64} << 20;
  options.gpu_heap_chunk = std::uint64_t{16} << 20;
  return options;
}

// To the next PE's memory, as a host thread, and back.
Status pass_on(Runtime& rt, Word* words) {
  constexpr std::size_t kCount = 100;
  const auto mine = marks(rt.pe(), kCount);
  RETURN_IF_ERROR(rt.barrier());
  RETURN_IF_ERROR(rt.context().put(words, mine.data(), kCount, next_of(rt)));
  RETURN_IF_ERROR(rt.barrier());
  std::vector<Word> got(kCount);
  RETURN_IF_ERROR(rt.context().get(got.data(), words, kCount, rt.pe()));
  EXPECT_EQ(got, marks(previous_of(rt), kCount));
  return rt.barrier();
}

Status allocate(Runtime& rt) {
  EXPECT_EQ(rt.gpu(), -1);
  ASSIGN_OR_RETURN(Team team, rt.split_strided(rt.world(), 0, 1, rt.npes()));
  ASSIGN_OR_RETURN(auto* const on_host, rt.callocate<Word>(100));
  RETURN_IF_ERROR(pass_on(rt, on_host));
  ASSIGN_OR_RETURN(auto* const on_gpu, rt.allocate_device<Word>(100));
  EXPECT_GE(rt.gpu(), 0) << rt.describe();
  EXPECT_NE(rt.offset_of(on_gpu), std::nullopt);
  RETURN_IF_ERROR(pass_on(rt, on_gpu));
  RETURN_IF_ERROR(pass_on(rt, on_host));
  const Word value = 5;  // teams that were there before meet on GPUs, too
  RETURN_IF_ERROR(rt.context().put(on_gpu, &value, 1, rt.pe()));
  RETURN_IF_ERROR(reduce(rt.context(), team, on_gpu + 1, on_gpu, 1, ReduceOp::kSum));
  Word sum = 0;
  RETURN_IF_ERROR(rt.context().get(&sum, on_gpu + 1, 1, rt.pe()));
  EXPECT_EQ(sum, value * static_cast<Word>(rt.npes()));
  return rt.destroy(team);
}

// Until it is given up.
thread_local std::vector<OwnGpuMemory> kept;

Status adopt(Runtime& rt) {
  EXPECT_EQ(rt.gpu(), -1);
  ASSIGN_OR_RETURN(const int gpus, gpu::count_gpus(kDriver));
  kept.push_back(OwnGpuMemory::allocated(kDriver, rt.pe() % gpus, 4096));
  auto* const words = reinterpret_cast<Word*>(kept.back().base());
  RETURN_IF_ERROR(rt.adopt({{words, 4096, "words"}}));
  EXPECT_GE(rt.gpu(), 0) << rt.describe();
  RETURN_IF_ERROR(pass_on(rt, words));
  RETURN_IF_ERROR(rt.disown({{words, 4096, "words"}}));
  kept.pop_back();
  return Status::ok();
}

// PEs as processes, or as threads of a new process.
Status run_late(const PeGroup& group, const PeBody& body) {
  if (group.pes == Pes::kProcesses) return run_pes(group, body);
  return run_pes({Pes::kProcesses, 1, group.options, {}},
                 [&](Runtime&) { return run_local(group.npes, body, group.options); });
}

class LateGpuTest : public ::testing::TestWithParam<PeGroup> {
 protected:
  void SetUp() override {
    if (is_pe_process()) return;  // which must not load the driver
    const auto gpus = gpu::count_gpus(kDriver);
    if (!gpus || *gpus == 0) GTEST_SKIP() << "no GPU";
  }
};

TEST_P(LateGpuTest, IsFoundByTheFirstCallThatAllocatesThere) {
  EXPECT_OK(run_late(GetParam(), allocate));
}

TEST_P(LateGpuTest, IsFoundByTheFirstCallThatAdoptsItsMemory) {
  EXPECT_OK(run_late(GetParam(), adopt));
}

std::vector<PeGroup> groups() {
  std::vector<PeGroup> all;
  for (const int npes : {1, 2, 3})
    for (const Pes pes : {Pes::kThreads, Pes::kProcesses}) all.push_back({pes, npes, small(), {}});
  // The proxy has host operations under way, which the one that takes its place goes on with.
  Options late = small();
  late.fault = late_fault();
  all.push_back({Pes::kProcesses, 2, late, {}});
  return all;
}
INSTANTIATE_TEST_SUITE_P(Pes, LateGpuTest, ::testing::ValuesIn(groups()), pe_group_name);

// --- memory of the host for all, and why ---------------------------------------------------------

Status expect_host_memory(Runtime& rt, const char* why) {
  ASSIGN_OR_RETURN(auto* const words, rt.allocate_device<Word>(100));
  EXPECT_EQ(rt.gpu(), -1);
  EXPECT_THAT(rt.describe(), HasSubstr("allocate_device gives memory of the host: "));
  EXPECT_THAT(rt.describe(), HasSubstr(why));
  words[0] = 7;
  return pass_on(rt, words);
}

class NoLateGpu : public LateGpuTest {};

TEST_P(NoLateGpu, WhereOnePeWantsNone) {
  PeGroup group = GetParam();
  group.tune = [](int pe, Options& options) {
    if (pe == 1) options.gpu = "off";
  };
  EXPECT_OK(run_late(
      group, [](Runtime& rt) { return expect_host_memory(rt, "host: PE 1 has WEFT_GPU=off\n"); }));
}

TEST_P(NoLateGpu, WhereOnePeSeesNone) {
  EXPECT_OK(run_late(GetParam(), [](Runtime& rt) {
    if (rt.pe() == 1) {
      setenv("CUDA_VISIBLE_DEVICES", "", 1);
      setenv("FAKE_GPU_DEVICES", "0", 1);
    }
    return expect_host_memory(rt, "has a GPU and PE 1 on ");
  }));
}

TEST_P(NoLateGpu, WhereAContextWasGivenToKernels) {
  EXPECT_OK(run_late(GetParam(), [](Runtime& rt) -> Status {
    if (rt.pe() == 1) RETURN_IF_ERROR(rt.context().device().status());
    return expect_host_memory(rt, "host: PE 1 has given kernels, or a stream, the memory of host");
  }));
}

INSTANTIATE_TEST_SUITE_P(Pes, NoLateGpu,
                         ::testing::Values(PeGroup{Pes::kProcesses, 2, small(), {}},
                                           PeGroup{Pes::kProcesses, 3, small(), {}}),
                         pe_group_name);

}  // namespace
}  // namespace weft
