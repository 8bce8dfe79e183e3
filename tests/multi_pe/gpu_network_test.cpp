// Symmetric GPU memory by networks: which way is taken, what happens when one fails, and memory of
// GPUs that no network knows. On the fake driver of CUDA; by ib between threads over the fake
// library of verbs, and by ofi.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include <weft/weft.hpp>

#include "src/base/dynlib.hpp"
#include "src/base/status.hpp"
#include "tests/multi_pe/gpu_driver.hpp"
#include "tests/support/own_gpu_memory.hpp"
#include "tests/support/pe_group.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::size_t kMany = 100'000;  // words: several staging slots

PeGroup two(const std::string& network, const std::string& way, Pes pes = Pes::kThreads) {
  PeGroup group;
  group.pes = pes;
  group.npes = 2;
  library_of(group.options) = driver().file;
  group.options.gpu_heap_size = std::uint64_t{64} << 20;
  group.options.gpu_heap_chunk = std::uint64_t{4} << 20;
  choose_transports(group.options);
  group.options.gpu_transports = network + ",loopback";
  group.options.gpu_rdma = way;
  return group;
}

std::string said(const Status& status) { return std::string(status.text()); }

// The fake driver with such a setting, FAKE_GPU_FAIL or another, as long as it lives.
class FakeGpuSetting {
 public:
  FakeGpuSetting(std::string name, const std::string& value) : name_(std::move(name)) {
    ::setenv(name_.c_str(), value.c_str(), 1);
    reload();
  }
  FakeGpuSetting(const FakeGpuSetting&) = delete;
  FakeGpuSetting& operator=(const FakeGpuSetting&) = delete;
  ~FakeGpuSetting() {
    ::unsetenv(name_.c_str());
    reload();
  }

 private:
  static void reload() {
    const std::string file = driver().file;
    void (*read_again)() = nullptr;
    ASSERT_OK(Dynlib::open({&file, 1})->find("fake_gpu_reload", read_again));
    read_again();
  }
  const std::string name_;
};

// The PEs report the way by which they reach each other's GPU, or why there is none.
Status expect_way(Runtime& rt, const char* way) {
  RETURN_IF_ERROR(rt.allocate_device<std::uint64_t>(1).status());
  EXPECT_THAT(rt.describe(), HasSubstr(std::string("through requests ") + way));
  return rt.barrier();
}
Status expect_none(Runtime& rt, const std::string& why) {
  EXPECT_THAT(said(rt.allocate_device<std::uint64_t>(1).status()), HasSubstr(why));
  return rt.barrier();
}

std::vector<std::uint64_t> numbers(std::size_t count, std::uint64_t first) {
  std::vector<std::uint64_t> all(count);
  std::iota(all.begin(), all.end(), first);
  return all;
}

// A stranger's memory on the GPU of a PE, filled.
OwnGpuMemory own_memory(Runtime& rt, const std::vector<std::uint64_t>& words) {
  auto own = OwnGpuMemory::allocated(driver(), rt.gpu(), words.size() * sizeof words[0]);
  EXPECT_OK(platform_of(rt).copy(own.base(), words.data(), own.bytes(), nullptr));
  EXPECT_OK(platform_of(rt).synchronize(nullptr));
  return own;
}

class GpuNetworkTest : public ::testing::TestWithParam<std::pair<const char*, const char*>> {
 protected:
  PeGroup group() const { return two(GetParam().first, GetParam().second); }
};

TEST_P(GpuNetworkTest, MemoryOfAGpuThatIsNotSymmetricMayBeMySide) {
  EXPECT_OK(run_pes(group(), [](Runtime& rt) -> Status {
    const int next = 1 - rt.pe();
    const auto mark = static_cast<std::uint64_t>(rt.pe() + 1) * 1'000'000;
    ASSIGN_OR_RETURN(auto* const there, rt.allocate_device<std::uint64_t>(kMany));
    for (const std::size_t count : {std::size_t{1}, std::size_t{16}, std::size_t{1000}, kMany}) {
      const OwnGpuMemory source = own_memory(rt, numbers(count, mark));
      const OwnGpuMemory target = own_memory(rt, numbers(count, 0));
      auto* const from = reinterpret_cast<std::uint64_t*>(source.base());
      auto* const to = reinterpret_cast<std::uint64_t*>(target.base());
      RETURN_IF_ERROR(rt.context().put(there, from, count, next));
      RETURN_IF_ERROR(rt.barrier());
      RETURN_IF_ERROR(rt.context().get(to, there, count, next));
      std::vector<std::uint64_t> back(count);
      RETURN_IF_ERROR(platform_of(rt).copy(back.data(), to, target.bytes(), nullptr));
      EXPECT_EQ(back, numbers(count, mark)) << count;  // my own, which the other one has
      RETURN_IF_ERROR(rt.barrier());
    }
    return Status::ok();
  }));
}

// The calls of PE 0 are the only ones that copy, or run a kernel, on a GPU: at the owner.
TEST_P(GpuNetworkTest, WhatFailsAtTheOwnerIsToldToWhoAsked) {
  if (std::string(GetParam().second) != "staged") return;  // else the owner takes no part
  EXPECT_OK(run_pes(group(), [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(auto* const words, rt.allocate_device<std::uint64_t>(kMany));
    RETURN_IF_ERROR(rt.barrier());
    if (rt.pe() == 0) {
      std::vector<std::uint64_t> mine = numbers(kMany, 7);
      Context& ctx = rt.context();
      const auto failing = [&](const char* function, const auto& call) {
        const FakeGpuSetting fails("FAKE_GPU_FAIL", std::string(function) + ":1:999");
        return said(call());
      };
      const auto refused = AllOf(HasSubstr("PE 1 could not: cannot"), HasSubstr("cuMemcpyAsync"));
      for (const std::size_t count : {std::size_t{1}, kMany}) {
        EXPECT_THAT(failing("cuMemcpyAsync", [&] { return ctx.put(words, mine.data(), count, 1); }),
                    refused);
        EXPECT_OK(ctx.put(words, mine.data(), count, 1));
        EXPECT_THAT(failing("cuMemcpyAsync", [&] { return ctx.get(mine.data(), words, count, 1); }),
                    refused);
        EXPECT_OK(ctx.get(mine.data(), words, count, 1));
      }
      EXPECT_EQ(mine, numbers(kMany, 7));
      EXPECT_THAT(
          failing("weft_host_function", [&] { return ctx.atomic_add(words, std::uint64_t{1}, 1); }),
          HasSubstr("PE 1 could not"));
      EXPECT_OK(ctx.atomic_add(words, std::uint64_t{1}, 1));
      std::uint64_t sum = 0;
      EXPECT_OK(ctx.get(&sum, words, 1, 1));
      EXPECT_EQ(sum, 8u);
    }
    return rt.barrier();
  }));
}

#ifdef FAKE_VERBS_LIBRARY
INSTANTIATE_TEST_SUITE_P(Ib, GpuNetworkTest,
                         ::testing::Values(std::pair("ib", "staged"), std::pair("ib", "peer"),
                                           std::pair("ib", "dmabuf")));

class GpuWays : public ::testing::Test {
 protected:
  ~GpuWays() override {
    ::unsetenv("FAKE_VERBS_GPU");
    fail("ibv_reg_dmabuf_mr", 0, 0);
  }
  // fake_verbs_fail(), looked up: a program that is linked with the fake library gives it to
  // libfabric, too.
  static void fail(const char* function, int nth, int error) {
    const std::string file = FAKE_VERBS_LIBRARY;
    void (*call)(const char*, int, int) = nullptr;
    ASSERT_OK(Dynlib::open({&file, 1})->find("fake_verbs_fail", call));
    call(function, nth, error);
  }
  static void verbs_take(const char* ways) { ::setenv("FAKE_VERBS_GPU", ways, 1); }
};

TEST_F(GpuWays, TheFirstThatWorksIsTaken) {
  const auto by = [](const char* way) {
    return [way](Runtime& rt) { return expect_way(rt, way); };
  };
  EXPECT_OK(run_pes(two("ib", "auto"), by("straight to its GPU")));
  {
    const FakeGpuSetting without("FAKE_GPU_DMABUF", "0");
    EXPECT_OK(run_pes(two("ib", "peer"), by("straight to its GPU")));
    EXPECT_OK(run_pes(two("ib", "auto"), by("straight to its GPU")));
  }
  verbs_take("peer");
  EXPECT_OK(run_pes(two("ib", "auto"), by("straight to its GPU")));
  verbs_take("none");
  EXPECT_OK(run_pes(two("ib", "auto"), by("by memory of its host")));
  EXPECT_OK(run_pes(two("ofi", "auto"), by("by memory of its host")));
}

TEST_F(GpuWays, OneThatIsAskedForAndDoesNotWorkIsAnError) {
  const auto without = [](const std::string& why) {
    return [why](Runtime& rt) { return expect_none(rt, why); };
  };
  EXPECT_OK(run_pes(two("ofi", "peer"), without("WEFT_GPU_RDMA=peer is not possible with GPU")));
  verbs_take("none");
  EXPECT_OK(run_pes(two("ib", "dmabuf"), without("register 2097152 bytes of GPU memory by its")));
  EXPECT_OK(run_pes(two("ib", "peer"), without("WEFT_GPU_RDMA=peer is not possible with GPU")));
  const FakeGpuSetting none("FAKE_GPU_DMABUF", "0");
  EXPECT_OK(run_pes(two("ib", "dmabuf"), without("cannot export GPU memory as a dmabuf")));
}

// The first two are the pages by which the PEs choose.
TEST_F(GpuWays, AChunkThatIsRefusedIsRefusedOnAll) {
  fail("ibv_reg_dmabuf_mr", 3, ENOMEM);
  EXPECT_OK(run_pes(two("ib", "auto"), [](Runtime& rt) {
    return expect_none(rt, "WEFT_GPU_RDMA=staged goes through memory of the host");
  }));
}

// The first of the two to ask is refused.
TEST_F(GpuWays, EachOwnerHasItsOwn) {
  verbs_take("dmabuf");
  fail("ibv_reg_dmabuf_mr", 1, ENOMEM);
  EXPECT_OK(run_pes(two("ib", "auto"), [](Runtime& rt) -> Status {
    const int next = 1 - rt.pe();
    ASSIGN_OR_RETURN(auto* const words, rt.allocate_device<std::uint64_t>(kMany));
    ASSIGN_OR_RETURN(auto* const straight, rt.callocate<std::uint64_t>(1));
    if (rt.describe().find("straight to its GPU") != std::string::npos)
      RETURN_IF_ERROR(rt.context().atomic_add(straight, std::uint64_t{1}, 0));
    const std::vector<std::uint64_t> mine = numbers(kMany, static_cast<std::uint64_t>(rt.pe()));
    RETURN_IF_ERROR(rt.context().put(words, mine.data(), kMany, next));
    RETURN_IF_ERROR(rt.context().atomic_add(words, std::uint64_t{100}, next));
    RETURN_IF_ERROR(rt.barrier());
    std::vector<std::uint64_t> back(kMany);
    RETURN_IF_ERROR(rt.context().get(back.data(), words, kMany, next));
    back[0] -= 100;
    EXPECT_EQ(back, mine);
    if (rt.pe() == 0) EXPECT_EQ(*straight, 1u);
    return rt.barrier();
  }));
}
#endif
// One that is gone while its memory is asked for.
TEST(GpuNetwork, APeThatEndsIsAFailureNotAWait) {
  const auto ends = watch_pes(two("ofi", "staged", Pes::kProcesses), [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(auto* const words, rt.allocate_device<std::uint64_t>(kMany));
    RETURN_IF_ERROR(rt.barrier());
    if (rt.pe() == 1) ::raise(SIGKILL);
    std::vector<std::uint64_t> mine = numbers(kMany, 7);
    Status status;
    while (status.is_ok()) status = rt.context().put(words, mine.data(), kMany, 1);
    return status;
  });
  if (is_pe_process()) return;
  EXPECT_NE(ends[0].code, Code::kOk) << ends[0].log;
  EXPECT_EQ(ends[1].signal, SIGKILL);
}

INSTANTIATE_TEST_SUITE_P(Ofi, GpuNetworkTest, ::testing::Values(std::pair("ofi", "staged")));

}  // namespace
}  // namespace weft
