// Symmetric GPU memory. On the fake drivers of tests/support/fake_gpu GPU memory is host memory, so
// kernels of the CPU target play those of a GPU; compiled for CUDA or HIP the same tests run on
// GPUs. FAKE_GPU_KIND=hip takes the fake driver of HIP; FAKE_GPU_WAYS how it shares memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include <weft/device.hpp>
#include <weft/weft.hpp>

#include "src/base/dynlib.hpp"
#include "src/base/status.hpp"
#include "tests/multi_pe/gpu_driver.hpp"
#include "tests/multi_pe/neighbours.hpp"
#include "tests/support/pe_group.hpp"
#include "tests/support/status.hpp"
#include "tests/support/stream_capture.hpp"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Options with_gpus() {
  Options options;
  library_of(options) = driver().file;
  options.gpu_heap_size = std::uint64_t{256} << 20;
  options.gpu_heap_chunk = std::uint64_t{16} << 20;
  choose_transports(options);
  return options;
}

std::vector<PeGroup> groups(const std::vector<int>& npes) {
  std::vector<PeGroup> all;
  for (const int n : npes)
    for (const Pes pes : {Pes::kThreads, Pes::kProcesses}) all.push_back({pes, n, with_gpus(), {}});
  return all;
}

std::string said(const Status& status) { return std::string(status.text()); }

// There is no symmetric GPU memory, and who asks for some hears why.
template <class Matcher>
void expect_without(Runtime& rt, const Matcher& why) {
  EXPECT_EQ(rt.gpu(), -1);
  EXPECT_THAT(said(rt.allocate_device<std::uint64_t>(1).status()), why);
}

class GpuTest : public ::testing::TestWithParam<PeGroup> {};

TEST_P(GpuTest, PesTakeTheGpusInTurnAndMapOneAnotherIfTheyCan) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(const auto gpus, gpu::gpus(driver()));
    EXPECT_EQ(rt.gpu(), rt.pe() % static_cast<int>(gpus.size()));
    ASSIGN_OR_RETURN(auto* const words, rt.allocate_device<std::uint64_t>(4));
    EXPECT_EQ(rt.context().ptr(words, rt.pe()), words);
    for (int pe = 0; pe < rt.npes(); ++pe) {
      const bool same = pe % static_cast<int>(gpus.size()) == rt.gpu();
      const bool mapped = pe == rt.pe() || maps_other_gpus(rt.options()) ||
                          (same && rt.options().gpu_transports.find("p2p") != std::string::npos);
      EXPECT_EQ(rt.context().ptr(words, pe) != nullptr, mapped) << pe;
      EXPECT_THAT(rt.describe(), HasSubstr("GPU memory of PE " + std::to_string(pe) + ": "));
    }
    EXPECT_THAT(rt.describe(), HasSubstr("GPU " + std::to_string(rt.gpu())));
    return rt.barrier();
  }));
}

TEST_P(GpuTest, HostPutsAndGetsReachGpuMemory) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    constexpr std::size_t kCount = 1000;
    ASSIGN_OR_RETURN(auto* const words, rt.allocate_device<std::uint64_t>(kCount));
    ASSIGN_OR_RETURN(auto* const signal, rt.callocate<std::uint64_t>(1));
    const auto mine = marks(rt.pe(), kCount), theirs = marks(previous_of(rt), kCount);
    Context& c = rt.context();
    RETURN_IF_ERROR(c.put(words, mine.data(), kCount, next_of(rt), set(signal, 7)));
    RETURN_IF_ERROR(wait_until(c, signal, Cmp::kEq, std::uint64_t{7}));
    std::vector<std::uint64_t> got(kCount);
    RETURN_IF_ERROR(c.get(got.data(), words, kCount, rt.pe()));
    EXPECT_EQ(got, theirs);
    RETURN_IF_ERROR(c.get(got.data(), words, kCount, next_of(rt)));
    EXPECT_EQ(got, mine);
    return rt.barrier();
  }));
}

TEST_P(GpuTest, CallocatedMemoryIsZeroOnAllPes) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    constexpr std::size_t kCount = 5001;
    const auto mine = marks(rt.pe(), kCount);
    ASSIGN_OR_RETURN(auto* const used, rt.allocate_device<std::uint64_t>(kCount));
    RETURN_IF_ERROR(rt.context().put(used, mine.data(), kCount, rt.pe()));
    RETURN_IF_ERROR(rt.barrier());
    RETURN_IF_ERROR(rt.free(used));
    ASSIGN_OR_RETURN(auto* const words, rt.callocate_device<std::uint64_t>(kCount));
    EXPECT_EQ(words, used) << "not the memory that was used";
    auto got = mine;
    RETURN_IF_ERROR(rt.context().get(got.data(), words, kCount, next_of(rt)));
    EXPECT_EQ(got, std::vector<std::uint64_t>(kCount));
    ASSIGN_OR_RETURN(auto* const nothing, rt.callocate_device<std::uint64_t>(0));
    EXPECT_EQ(nothing, nullptr);
    return rt.barrier();
  }));
}

TEST_P(GpuTest, ASignalMayLieInEitherMemory) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(auto* const on_gpu, rt.allocate_device<std::uint64_t>(2));
    ASSIGN_OR_RETURN(auto* const on_host, rt.callocate<std::uint64_t>(2));
    Context& c = rt.context();
    const std::uint64_t zeros[2] = {}, mine = mark(rt.pe(), 0);
    RETURN_IF_ERROR(c.put(on_gpu, zeros, 2, rt.pe()));
    RETURN_IF_ERROR(rt.barrier());
    RETURN_IF_ERROR(c.put(on_host, &mine, 1, next_of(rt), set(on_gpu + 1, 5)));
    RETURN_IF_ERROR(c.put(on_gpu, &mine, 1, next_of(rt), add(on_host + 1, 3)));
    RETURN_IF_ERROR(wait_until(c, on_host + 1, Cmp::kEq, std::uint64_t{3}));
    RETURN_IF_ERROR(rt.barrier());
    std::uint64_t got[2] = {};
    RETURN_IF_ERROR(c.get(got, on_gpu, 2, rt.pe()));
    EXPECT_EQ(got[0], mark(previous_of(rt), 0));
    EXPECT_EQ(got[1], 5u);
    EXPECT_EQ(*on_host, mark(previous_of(rt), 0));
    RETURN_IF_ERROR(rt.barrier());  // everybody has looked
    RETURN_IF_ERROR(c.put(on_gpu, &mine, 1, next_of(rt), add(on_gpu + 1, 1)));
    return wait_until(c, on_gpu + 1, Cmp::kEq, std::uint64_t{6});
  }));
}

// Puts marks to the right, tells the neighbour, and adds up what came from the left.
struct PassRound {
  DeviceContext handle;
  std::uint64_t *data, *signal, *sum;
  std::size_t count;
  WEFT_DEVICE void operator()() const {
    dev::Context ctx(handle);
    dev::Block block;
    const int right = (ctx.pe() + 1) % ctx.npes();
    ctx.put(block, data + count, data, count, right, add(signal, 1));
    ctx.wait_until(block, signal, Cmp::kGe, std::uint64_t{1});
    if (block.rank() != 0) return;
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < count; ++i) total += data[count + i];
    *sum = total;
  }
};

TEST_P(GpuTest, KernelsWorkOnGpuMemory) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    constexpr std::size_t kCount = 500;
    ASSIGN_OR_RETURN(auto* const data, rt.allocate_device<std::uint64_t>(2 * kCount));
    ASSIGN_OR_RETURN(auto* const words, rt.allocate_device<std::uint64_t>(2));
    const auto mine = marks(rt.pe(), kCount), theirs = marks(previous_of(rt), kCount);
    const std::uint64_t zeros[2] = {};
    RETURN_IF_ERROR(rt.context().put(data, mine.data(), kCount, rt.pe()));
    RETURN_IF_ERROR(rt.context().put(words, zeros, 2, rt.pe()));
    RETURN_IF_ERROR(rt.barrier());
    ASSIGN_OR_RETURN(const DeviceContext handle, rt.context().device());
    EXPECT_EQ(handle.heap_bytes, rt.options().gpu_heap_size);
    RETURN_IF_ERROR(dev::launch({1, 6}, PassRound{handle, data, words, words + 1, kCount}));
    RETURN_IF_ERROR(dev::synchronize());
    std::uint64_t sum = 0;
    RETURN_IF_ERROR(rt.context().get(&sum, words + 1, 1, rt.pe()));
    EXPECT_EQ(sum, std::accumulate(theirs.begin(), theirs.end(), std::uint64_t{0}));
    RETURN_IF_ERROR(rt.barrier());
    return rt.health();
  }));
}

// The same by a kernel that finds its context in memory, as those do that cannot take a struct.
struct PassRoundByPointer {
  const DeviceContext* handle;
  std::uint64_t *data, *signal, *sum;
  std::size_t count;
  WEFT_DEVICE void operator()() const { PassRound{*handle, data, signal, sum, count}(); }
};

TEST_P(GpuTest, KernelsFindTheirContextInGpuMemory) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    constexpr std::size_t kCount = 100;
    ASSIGN_OR_RETURN(auto* const data, rt.allocate_device<std::uint64_t>(2 * kCount));
    ASSIGN_OR_RETURN(auto* const words, rt.allocate_device<std::uint64_t>(2));
    ASSIGN_OR_RETURN(Context second, rt.create_context());
    for (Context* const context : {&rt.context(), &second}) {
      const auto mine = marks(rt.pe(), kCount), theirs = marks(previous_of(rt), kCount);
      const std::uint64_t zeros[2] = {};
      RETURN_IF_ERROR(rt.context().put(data, mine.data(), kCount, rt.pe()));
      RETURN_IF_ERROR(rt.context().put(words, zeros, 2, rt.pe()));
      RETURN_IF_ERROR(rt.barrier());
      ASSIGN_OR_RETURN(const DeviceContext* const handle, context->device_pointer());
      ASSIGN_OR_RETURN(const DeviceContext* const again, context->device_pointer());
      EXPECT_EQ(handle, again);
      RETURN_IF_ERROR(
          dev::launch({1, 6}, PassRoundByPointer{handle, data, words, words + 1, kCount}));
      RETURN_IF_ERROR(dev::synchronize());
      std::uint64_t sum = 0;
      RETURN_IF_ERROR(rt.context().get(&sum, words + 1, 1, rt.pe()));
      EXPECT_EQ(sum, std::accumulate(theirs.begin(), theirs.end(), std::uint64_t{0}));
      RETURN_IF_ERROR(rt.barrier());
    }
    return rt.health();
  }));
}

struct AddUp {
  DeviceContext handle;
  Team team;
  std::int64_t *sums, *values;
  WEFT_DEVICE void operator()() const {
    dev::Context ctx(handle);
    dev::reduce<ReduceOp::kSum>(ctx, dev::Block{}, team, sums, values, 3);
    dev::barrier(ctx, dev::Block{}, team);
  }
};

// The sum over the team's PEs of what each brings, in a kernel.
Status check_sum(Runtime& rt, const Team& team, std::int64_t* memory) {
  const std::int64_t values[3] = {rt.pe() + 1, 10 * (rt.pe() + 1), -1};
  RETURN_IF_ERROR(rt.context().put(memory, values, 3, rt.pe()));
  ASSIGN_OR_RETURN(const DeviceContext handle, rt.context().device());
  RETURN_IF_ERROR(dev::launch({1, 5}, AddUp{handle, team, memory + 3, memory}));
  RETURN_IF_ERROR(dev::synchronize());
  std::int64_t got[3] = {}, ones = 0;
  RETURN_IF_ERROR(rt.context().get(got, memory + 3, 3, rt.pe()));
  for (int rank = 0; rank < team.size; ++rank) ones += team.pe_of(rank) + 1;
  EXPECT_EQ(got[0], ones);
  EXPECT_EQ(got[1], 10 * ones);
  EXPECT_EQ(got[2], -team.size);
  return Status::ok();
}

TEST_P(GpuTest, TeamsMeetInKernelsAndTheirIdsAreUsedAgain) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(auto* const memory, rt.allocate_device<std::int64_t>(6));
    RETURN_IF_ERROR(check_sum(rt, rt.world(), memory));
    for (int round = 0; round < 3; ++round) {
      std::vector<int> backwards;
      for (int pe = rt.npes() - 1; pe >= 0; --pe) backwards.push_back(pe);
      if (rt.npes() > 2) std::swap(backwards[0], backwards[1]);  // no stride fits
      ASSIGN_OR_RETURN(Team team, rt.team_from_list(rt.world(), backwards));
      RETURN_IF_ERROR(check_sum(rt, team, memory));
      RETURN_IF_ERROR(check_sum(rt, team, memory));
      RETURN_IF_ERROR(rt.destroy(team));
    }
    RETURN_IF_ERROR(check_sum(rt, rt.world(), memory));
    return rt.health();
  }));
}

TEST_P(GpuTest, TheHeapGrowsShrinksAndSaysWhenItIsFull) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    constexpr std::size_t kMany = std::size_t{40} << 20;  // several chunks
    ASSIGN_OR_RETURN(auto* const small, rt.allocate_device<std::uint8_t>(1));
    ASSIGN_OR_RETURN(auto* const large, rt.allocate_device<std::uint8_t>(kMany));
    EXPECT_EQ(rt.offset_of(large, kMany).has_value(), true);
    EXPECT_FALSE(rt.offset_of(large, std::size_t{1} << 40).has_value());
    const std::vector<std::uint8_t> bytes(100, static_cast<std::uint8_t>(rt.pe() + 1));
    RETURN_IF_ERROR(rt.context().put(large + kMany - 100, bytes.data(), 100, next_of(rt)));
    RETURN_IF_ERROR(rt.barrier());
    ASSIGN_OR_RETURN(void* const larger, rt.reallocate_bytes(large, kMany + 1));
    std::uint8_t got = 0;
    RETURN_IF_ERROR(
        rt.context().get(&got, static_cast<std::uint8_t*>(larger) + kMany - 1, 1, rt.pe()));
    EXPECT_EQ(got, previous_of(rt) + 1);
    const Status full = rt.allocate_device<std::uint8_t>(std::size_t{1} << 30).status();
    EXPECT_EQ(full.code(), Code::kOutOfMemory);
    EXPECT_THAT(said(full),
                AllOf(HasSubstr("heap of GPU memory is full"), HasSubstr("WEFT_GPU_HEAP_SIZE")));
    RETURN_IF_ERROR(rt.free(larger));
    RETURN_IF_ERROR(rt.free(small));
    EXPECT_THAT(said(rt.free(small)), HasSubstr("freed before"));
    return rt.barrier();
  }));
}

// All that Weft does by itself: growth, zeroing, copies, kernels of its own.
Status work_beside_a_capture(Runtime& rt) {
  constexpr std::size_t kMany = std::size_t{5} << 20;  // words: several chunks
  Context& c = rt.context();
  ASSIGN_OR_RETURN(auto* const words, rt.callocate_device<std::uint64_t>(kMany));
  const auto mine = marks(rt.pe(), 100), theirs = marks(previous_of(rt), 100);
  RETURN_IF_ERROR(c.put(words + kMany - 200, mine.data(), 100, next_of(rt)));
  RETURN_IF_ERROR(c.atomic_add(words, std::uint64_t{1}, next_of(rt)));
  RETURN_IF_ERROR(c.quiet());
  RETURN_IF_ERROR(rt.barrier());
  std::vector<std::uint64_t> got(200);
  RETURN_IF_ERROR(c.get(got.data(), words + kMany - 200, 200, rt.pe()));
  EXPECT_TRUE(std::equal(theirs.begin(), theirs.end(), got.begin()));
  EXPECT_EQ(got[199], 0u) << "memory is zeroed";
  RETURN_IF_ERROR(reduce(c, rt.world(), words + 1, words, 1, ReduceOp::kSum));
  RETURN_IF_ERROR(wait_until(c, words + 1, Cmp::kEq, static_cast<std::uint64_t>(rt.npes())));
  ASSIGN_OR_RETURN(Team team, rt.split_strided(rt.world(), 0, 1, rt.npes()));
  RETURN_IF_ERROR(rt.destroy(team));
  RETURN_IF_ERROR(rt.barrier());
  return rt.free(words);
}

TEST_P(GpuTest, CapturesOfTheProgramStayWhole) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    Platform& platform = platform_of(rt);
    ASSIGN_OR_RETURN(auto* const words, rt.callocate_device<std::uint64_t>(2));
    ASSIGN_OR_RETURN(const Stream stream, platform.create_stream());
    RETURN_IF_ERROR(rt.barrier());
    StreamCapture capture(driver(), stream);
    OnStream queue(rt.context(), stream);
    RETURN_IF_ERROR(queue.put(words, words + 1, 1, next_of(rt)));
    RETURN_IF_ERROR(work_beside_a_capture(rt));
    RETURN_IF_ERROR(queue.barrier(rt.world()));
    EXPECT_TRUE(capture.end());
    RETURN_IF_ERROR(rt.barrier());
    RETURN_IF_ERROR(platform.destroy_stream(stream));
    return rt.health();
  }));
}

// Memory that one PE cannot zero is given to no PE, and nobody waits for it.
TEST(GpuMemory, ThatOnePeCannotZeroFailsOnAll) {
  if (driver().file.empty()) GTEST_SKIP() << "no real driver fails when told to";
  EXPECT_OK(run_pes({Pes::kProcesses, 3, with_gpus(), {}}, [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(auto* const first, rt.callocate_device<std::uint64_t>(100));
    RETURN_IF_ERROR(rt.free(first));
    RETURN_IF_ERROR(rt.barrier());
    if (rt.pe() == 1) fail_in("cuMemsetD8Async:1:999");
    const Status refused = rt.callocate_device<std::uint64_t>(100).status();
    EXPECT_CODE(refused, Code::kIo);
    EXPECT_THAT(said(refused), HasSubstr("(999)"));
    ASSIGN_OR_RETURN(auto* const again, rt.callocate_device<std::uint64_t>(100));
    EXPECT_EQ(again, first) << "not given back";
    return rt.barrier();
  }));
}

#if WEFT_TARGET_CUDA
Status reset_gpu(const Runtime&) {
  const cudaError_t reset = cudaDeviceReset();
  return reset == cudaSuccess ? Status::ok()
                              : Status::error(Code::kInternal, cudaGetErrorString(reset));
}
struct StoreToNowhere {
  std::uint64_t* where;
  WEFT_DEVICE void operator()() const { *where = 1; }
};
// A kernel stores where there is no memory.
Status fail_at_an_address(Platform&, Stream stream) {
  auto* const nowhere = reinterpret_cast<std::uint64_t*>(0xdead'0000'0000);
  RETURN_IF_ERROR(dev::launch({}, StoreToNowhere{nowhere}, stream));
  return dev::synchronize(stream);
}
// Compilers have several words for a namespace without a name.
constexpr const char* kFailed = "::StoreToNowhere, before that ";
constexpr const char* kText = "illegal memory access";
#elif WEFT_TARGET_CPU
// As cudaDeviceReset() does it.
Status reset_gpu(const Runtime& rt) {
  const std::string file = driver().file;
  ASSIGN_OR_RETURN(const Dynlib library, Dynlib::open({&file, 1}));
  unsigned (*reset)(int) = nullptr;
  RETURN_IF_ERROR(library.find("cuDevicePrimaryCtxReset_v2", reset));
  if (reset(rt.gpu()) == 0) return Status::ok();
  return Status::error(Code::kInternal, "the GPU cannot be reset");
}
// The driver says that a kernel has.
Status fail_at_an_address(Platform& platform, Stream stream) {
  fail_in("cuStreamSynchronize:1:700");
  return platform.synchronize(stream);
}
constexpr const char* kFailed = "queued: ";
constexpr const char* kText = "(700)";
#endif

#if !WEFT_TARGET_HIP
// How often `text` stands in what a PE wrote.
int count_of(const PeEnd& end, const std::string& text) {
  int count = 0;
  for (auto at = end.log.find(text); at != std::string::npos; at = end.log.find(text, at + 1))
    ++count;
  return count;
}

TEST(GpuReset, BeforeTheEndOfTheRuntimeIsToldOnce) {
  if (driver().kind == gpu::Kind::kHip) GTEST_SKIP() << "of CUDA";
  const auto ends = watch_pes({Pes::kProcesses, 2, with_gpus(), {}}, [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(auto* const words, rt.callocate_device<std::uint64_t>(100));
    const std::uint64_t value = 7;
    RETURN_IF_ERROR(rt.context().put(words, &value, 1, next_of(rt)));
    RETURN_IF_ERROR(rt.context().device().status());
    RETURN_IF_ERROR(rt.barrier());
    RETURN_IF_ERROR(reset_gpu(rt));
    return rt.barrier();
  });
  if (is_pe_process()) return;
  for (const PeEnd& end : ends) {
    EXPECT_EQ(end.signal, 0) << end.log;
    EXPECT_EQ(end.code, Code::kOk) << end.log;
    EXPECT_EQ(count_of(end, "before the runtime was destroyed"), 1) << end.log;
    EXPECT_EQ(count_of(end, "weft["), 1) << end.log;
  }
}

TEST(GpuFailure, OfAKernelIsToldOnceWithTheCallsBefore) {
  const auto ends = watch_pes({Pes::kProcesses, 2, with_gpus(), {}}, [](Runtime& rt) -> Status {
    Platform& platform = platform_of(rt);
    ASSIGN_OR_RETURN(auto* const words, rt.callocate_device<std::uint64_t>(2));
    ASSIGN_OR_RETURN(const Stream stream, platform.create_stream());
    OnStream queue(rt.context(), stream);
    RETURN_IF_ERROR(queue.barrier(rt.world()));
    RETURN_IF_ERROR(queue.put(words, words + 1, 1, next_of(rt)));
    RETURN_IF_ERROR(platform.synchronize(stream));
    RETURN_IF_ERROR(rt.barrier());
    const Status failed = report(fail_at_an_address(platform, stream));
    EXPECT_THAT(said(failed), HasSubstr(std::string(kFailed) + "put, before that barrier"));
    return rt.barrier();
  });
  if (is_pe_process()) return;
  for (const PeEnd& end : ends) {
    EXPECT_TRUE(end.signal == 0 && end.code == Code::kOk && !end.failed) << end.log;
    EXPECT_EQ(count_of(end, kText), 1) << end.log;
    EXPECT_EQ(count_of(end, "weft["), 1) << end.log;
  }
}
#endif

TEST_P(GpuTest, WhatHostThreadsCannotDoThereIsNamed) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(auto* const words, rt.allocate_device<std::uint64_t>(8));
    const auto expect_named = [](const Status& status) {
      EXPECT_EQ(status.code(), Code::kNotSymmetric);
      EXPECT_THAT(said(status),
                  AllOf(HasSubstr("heap of GPU memory"), HasSubstr("or do it in a kernel")));
    };
    ASSIGN_OR_RETURN(auto* const on_host, rt.allocate<std::uint64_t>(8));
    expect_named(reduce(rt.context(), rt.world(), on_host, words, 1, ReduceOp::kSum));
    expect_named(fcollect(rt.context(), rt.world(), on_host, words, 1));
    EXPECT_THAT(said(rt.context().put(words, words + 1, 100'000'000, rt.pe())),
                HasSubstr("run past the end of the symmetric heap of GPU memory"));
    EXPECT_THAT(said(rt.context().put(words, words + 1, 1, rt.npes())),
                HasSubstr("argument pe is"));
    return rt.barrier();
  }));
}

INSTANTIATE_TEST_SUITE_P(Pes, GpuTest, ::testing::ValuesIn(groups({1, 2, 3, 5})), pe_group_name);

#ifdef FAKE_CUDA_LIBRARY
// --- choosing ------------------------------------------------------------------------------------

TEST(GpuChoice, OffMeansHostMemoryForAll) {
  Options options = with_gpus();
  options.gpu = "off";
  EXPECT_OK(run_pes({Pes::kThreads, 2, options, {}}, [](Runtime& rt) -> Status {
    EXPECT_EQ(rt.gpu(), -1);
    ASSIGN_OR_RETURN(auto* const word, rt.allocate_device<std::uint64_t>(1));
    *word = 5;  // memory of the host
    return wait_until(rt.context(), word, Cmp::kEq, std::uint64_t{5});
  }));
}

TEST(GpuChoice, ANumberIsTakenAndAWrongOneExplained) {
  Options options = with_gpus();
  options.gpu = "1";
  EXPECT_OK(run_pes({Pes::kThreads, 3, options, {}}, [](Runtime& rt) -> Status {
    EXPECT_EQ(rt.gpu(), 1);
    return rt.barrier();
  }));
  options.gpu = "2";
  EXPECT_THAT(said(run_local(
                  1, [](Runtime&) { return Status::ok(); }, options)),
              AllOf(HasSubstr("WEFT_GPU=2"), HasSubstr("sees 2 GPUs")));
  options.gpu = "fast";
  EXPECT_THAT(said(run_local(
                  1, [](Runtime&) { return Status::ok(); }, options)),
              AllOf(HasSubstr("WEFT_GPU=fast"), HasSubstr("auto, off, or the number")));
}

TEST(GpuChoice, ADriverThatIsNotThereIsNoHarmUnlessAskedFor) {
  Options options;
  library_of(options) = "libno-such-driver.so";
  const Status asked = run_local(
      1, [](Runtime&) { return Status::ok(); }, options);
  EXPECT_THAT(said(asked), HasSubstr("libno-such-driver.so"));
}

TEST(GpuChoice, PesWithGpusOfTwoKindsDoWithoutAndSayWhy) {
  PeGroup group{Pes::kProcesses, 2, Options(), {}};
  group.tune = [](int pe, Options& options) {
    if (pe == 0) options.cuda_library = FAKE_CUDA_LIBRARY;
    if (pe == 1) options.hip_library = FAKE_HIP_LIBRARY;
  };
  EXPECT_OK(run_pes(group, [](Runtime& rt) -> Status {
    expect_without(rt, AllOf(HasSubstr("uses CUDA and PE 1 on "), HasSubstr("uses HIP")));
    return rt.barrier();
  }));
}

// Where memory is shared by IPC handles, the default size is not taken at its word.
TEST(GpuChoice, AHeapThatIsTakenAtOnceIsSmallByDefault) {
  Options options = with_gpus();
  options.gpu_heap_size = Options().gpu_heap_size;
  ASSERT_EQ(setenv("FAKE_GPU_BYTES", "2147483648", 1), 0);
  EXPECT_OK(run_pes({Pes::kProcesses, 2, options, {}}, [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(const DeviceContext handle, rt.context().device());
    ASSIGN_OR_RETURN(Platform* const platform, gpu::platform(driver(), rt.gpu()));
    EXPECT_EQ(handle.heap_bytes,
              platform->maps_where_told() ? rt.options().gpu_heap_size : std::uint64_t{1} << 30);
    const bool equal_steps = platform->maps_where_told() && maps_other_gpus(rt.options());
    EXPECT_EQ(handle.plain_bytes, equal_steps ? handle.heap_bytes : 0);
    return rt.barrier();
  }));
  ASSERT_EQ(unsetenv("FAKE_GPU_BYTES"), 0);
}

TEST(GpuChoice, PesWithAndWithoutAGpuDoWithoutAndSayWhy) {
  PeGroup group{Pes::kProcesses, 2, with_gpus(), {}};
  group.tune = [](int pe, Options& options) {
    if (pe == 1) options.gpu = "off";
  };
  EXPECT_OK(run_pes(group, [](Runtime& rt) -> Status {
    expect_without(rt, AllOf(HasSubstr("PE 0 on "), HasSubstr("has a GPU and PE 1 on ")));
    EXPECT_OK(rt.allocate<std::uint64_t>(1).status());
    return rt.barrier();
  }));
}

// --- GPUs that do not reach each other -----------------------------------------------------------

class GpusApart : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(setenv("FAKE_GPU_NO_PEER", "0-1", 1), 0); }
  void TearDown() override {
    if (!was_so_) ASSERT_EQ(unsetenv("FAKE_GPU_NO_PEER"), 0);
  }
  const bool was_so_ = std::getenv("FAKE_GPU_NO_PEER") != nullptr;
  static PeGroup two() { return {Pes::kProcesses, 2, with_gpus(), {}}; }
};

// The words of a new team are wiped on each member's GPU. Where that fails on one of them, no
// member has the team, all end with the same code, and nothing is left taken.
TEST(GpuTeams, WhatFailsOnOnePeFailsOnAll) {
  if (driver().file.empty()) GTEST_SKIP() << "no real driver fails when told to";
  PeGroup group{Pes::kProcesses, 3, with_gpus(), {}};
  group.options.max_teams = 6;
  EXPECT_OK(run_pes(group, [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(auto* words, rt.callocate<std::uint64_t>(Runtime::kTeamWords));
    const std::vector<int> all{0, 1, 2};
    for (int turn = 0; turn < 4; ++turn) {
      const bool grid = turn % 2 == 0;
      RETURN_IF_ERROR(rt.barrier());
      // The second team of a grid fails.
      if (rt.pe() == 1) fail_in(grid ? "cuMemsetD8Async:2:999" : "cuMemsetD8Async:1:999");
      Status refused = grid ? rt.split_2d(rt.world(), 2).status() : rt.team_of(all, words).status();
      EXPECT_CODE(refused, Code::kIo);
      EXPECT_THAT(std::string(refused.text()),
                  HasSubstr(rt.pe() == 1 ? "(999)" : "another member could not"));
    }
    RETURN_IF_ERROR(rt.barrier());
    std::vector<Team> teams;
    for (int i = 0; i < 3; ++i) {
      ASSIGN_OR_RETURN(Team team, rt.split_strided(rt.world(), 0, 1, 3));
      teams.push_back(team);
    }
    for (Team& team : teams) RETURN_IF_ERROR(rt.destroy(team));
    return rt.health();
  }));
}

TEST_F(GpusApart, ThePairIsNamedOnce) {
  const auto ends = watch_pes(two(), [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(auto* const word, rt.allocate_device<std::uint64_t>(1));
    EXPECT_EQ(rt.context().ptr(word, 1 - rt.pe()), nullptr);
    EXPECT_THAT(rt.describe(), AllOf(HasSubstr("staged (p2p: GPU "), HasSubstr("cannot reach GPU"),
                                     HasSubstr("through requests")));
    return rt.barrier();
  });
  if (is_pe_process()) return;
  for (const PeEnd& end : ends) EXPECT_TRUE(end.code == Code::kOk && !end.failed) << end.log;
  constexpr const char* kPair =
      "PE 0 and PE 1: GPU 0 (0000:1b:00.0) and GPU 1 (0000:1c:00.0) do not reach each other; their "
      "data goes through host memory";
  EXPECT_EQ(count_of(ends[0], kPair) + count_of(ends[1], kPair), 1);
}

TEST_F(GpusApart, WithoutStagingThereIsNoGpuMemory) {
  PeGroup group = two();
  group.options.gpu_transports = "p2p,loopback";
  EXPECT_OK(run_pes(group, [](Runtime& rt) -> Status {
    expect_without(rt, AllOf(HasSubstr("no transport reaches PE"), HasSubstr("cannot reach GPU")));
    return rt.barrier();
  }));
}

// The driver says no to one process when it opens what the other one has: both do without.
TEST_F(GpusApart, AHandleThatIsRefusedIsNamedByBoth) {
  PeGroup group = two();
  group.tune = [](int pe, Options&) {
    // The first four open what a process has taken itself, to see how each GPU's memory is shared.
    if (pe == 0) setenv("FAKE_GPU_FAIL", "cuMemImportFromShareableHandle:5:801", 1);
  };
  EXPECT_OK(run_pes(group, [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(Platform* const platform, gpu::platform(driver(), 0));
    if (!platform->maps_where_told()) return rt.barrier();  // nothing is imported
    expect_without(rt, AllOf(HasSubstr("PE 1's memory at heap offset 0x0, through staged"),
                             HasSubstr("cannot open a peer's memory")));
    return rt.barrier();
  }));
}

struct TellAndWait {
  DeviceContext handle;
  std::uint64_t *data, *signal;
  WEFT_DEVICE void operator()() const {
    dev::Context ctx(handle);
    dev::Block block;
    ctx.put(block, data + 64, data, 64, 1 - ctx.pe(), set(signal, 1));
    ctx.wait_until(block, signal, Cmp::kEq, std::uint64_t{1});
  }
};

// Memory of a process that was killed is there as long as another one has it open; who waits for
// the dead one hears of it.
TEST_F(GpusApart, APeerThatIsKilledIsReported) {
  PeGroup group = two();
  group.options.wait_timeout = 2;
  const auto ends = watch_pes(group, [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(auto* const data, rt.allocate_device<std::uint64_t>(128));
    ASSIGN_OR_RETURN(auto* const signal, rt.allocate_device<std::uint64_t>(1));
    ASSIGN_OR_RETURN(const DeviceContext handle, rt.context().device());
    RETURN_IF_ERROR(rt.barrier());
    if (rt.pe() == 1) kill(getpid(), SIGKILL);
    RETURN_IF_ERROR(dev::launch({1, 4}, TellAndWait{handle, data, signal}));
    RETURN_IF_ERROR(dev::synchronize());
    const Status waited = rt.health();
    EXPECT_THAT(waited.code(), ::testing::AnyOf(Code::kTimeout, Code::kPeerLost));
    const std::uint64_t value = 7;
    EXPECT_THAT(rt.context().put(data, &value, 1, 1).code(),
                ::testing::AnyOf(Code::kOk, Code::kPeerLost));
    return wait_until(rt.context(), signal, Cmp::kEq, std::uint64_t{1});
  });
  if (is_pe_process()) return;
  EXPECT_FALSE(ends[0].failed) << ends[0].log;
  EXPECT_EQ(ends[0].signal, 0) << ends[0].log;
  EXPECT_THAT(ends[0].code, ::testing::AnyOf(Code::kTimeout, Code::kPeerLost)) << ends[0].log;
}
#endif

}  // namespace
}  // namespace weft
