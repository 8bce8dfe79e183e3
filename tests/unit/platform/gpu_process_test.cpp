// The platform of GPUs between processes, over the fake drivers. This process itself never starts
// the driver, so that its children may.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "src/platform/gpu/gpu.hpp"
#include "tests/support/fake_gpu/fake_gpu.hpp"
#include "tests/support/status.hpp"
#include "tests/unit/platform/child.hpp"

namespace weft {
namespace {

using test::Child;
using test::expect;
using test::fake_gpu_live;
using test::FakeGpuSettings;
using test::kFake;
using test::kIsHip;
using test::Line;
using test::said_by;
using test::symbol;
using testing::HasSubstr;

constexpr std::size_t kPage = std::size_t{2} << 20;
const MemoryHints kHints;

std::string text(const Status& status) { return std::string(status.text()); }

bool says(const Status& status, Code code, const std::string& part) {
  return expect(status.is(code) && text(status).find(part) != std::string::npos,
                status.to_string() + "\n  instead of " + to_string(code) + " with: " + part);
}

struct Place {
  Memory reserved, chunk;
};

Place committed(Platform& gpu) {
  Place place;
  place.reserved = *gpu.reserve(2 * kPage);
  place.chunk = *gpu.commit({place.reserved.base() + kPage, kPage}, kHints);
  return place;
}

Result<Place> opened(Platform& gpu, const Blob& blob) {
  Place place;
  if (gpu.maps_where_told()) place.reserved = *gpu.reserve(kPage);
  auto chunk = gpu.open(blob, {place.reserved.base(), kPage});
  if (!chunk) return chunk.status();
  place.chunk = std::move(chunk).value();
  return place;
}

std::byte first_byte(Platform& gpu, const Memory& memory) {
  std::byte byte{0xee};
  if (!gpu.copy(&byte, memory.base(), 1, nullptr).is_ok()) return std::byte{0xef};
  return gpu.synchronize(nullptr).is_ok() ? byte : std::byte{0xef};
}

// Shares a page of that GPU whose first byte is 42; later tells whether a peer made it 43.
bool own(const Line& line, int ordinal) {
  Platform& gpu = **gpu::platform(kFake, ordinal);
  const Place mine = committed(gpu);
  const std::byte mark{42};
  if (!expect(gpu.copy(mine.chunk.base(), &mark, 1, nullptr).is_ok(), "mark")) return false;
  const auto blob = gpu.share(mine.chunk);
  if (!expect(bool(blob), blob.status().to_string())) return false;
  line.send(*blob);
  line.send(gpu.identity());
  line.receive();  // until the parent says so
  return expect(first_byte(gpu, mine.chunk) == std::byte{43}, "what the peer wrote");
}

// --- no driver, no GPU ---------------------------------------------------------------------------

TEST(GpuProcess, NoDriver) {
  const gpu::Library nowhere{kFake.kind, "/nonexistent/libgpu.so.1"};
  const auto none = gpu::gpus(nowhere);
  EXPECT_CODE(none, Code::kUnsupported);
  EXPECT_THAT(text(none.status()), HasSubstr("no " + said_by("NVIDIA", "AMD") +
                                             " driver: /nonexistent/libgpu.so.1 cannot be loaded"));
  EXPECT_THAT(text(none.status()), HasSubstr(said_by("--gpus all", "--device=/dev/kfd")));
  EXPECT_CODE(gpu::current_gpu(nowhere), Code::kUnsupported);
  EXPECT_CODE(gpu::make_current(nowhere, 0), Code::kUnsupported);
  EXPECT_CODE(gpu::platform(nowhere, 0), Code::kUnsupported);
}

TEST(GpuProcess, ALibraryThatLacksFunctionsIsTooOld) {
  const auto old = gpu::gpus({kFake.kind, "libm.so.6"});
  EXPECT_CODE(old, Code::kUnsupported);
  EXPECT_THAT(text(old.status()),
              HasSubstr("the " + said_by("NVIDIA", "AMD") + " driver is too old"));
  EXPECT_THAT(text(old.status()), HasSubstr("lacks " + symbol("cuInit")));
}

TEST(GpuProcess, NoGpu) {
  Child child([](const Line&) -> bool {
    const FakeGpuSettings none("DEVICES=0");
    const auto refused = gpu::gpus(kFake);
    return says(refused.status(), Code::kUnsupported,
                said_by("CUDA_ERROR_NO_DEVICE", "hipErrorNoDevice")) &&
           says(refused.status(), Code::kUnsupported,
                said_by("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")) &&
           says(gpu::platform(kFake, 0).status(), Code::kUnsupported, symbol("cuInit"));
  });
  EXPECT_TRUE(child.wait());
}

TEST(GpuProcess, ADriverThatFailsToStartIsTriedAgain) {
  Child child([](const Line&) -> bool {
    bool well = true;
    using Mend = std::pair<const char*, const char*>;
    const auto known = kIsHip ? std::vector<Mend>{{"35", "module amdgpu"}}
                              : std::vector<Mend>{{"803", "restart the machine"},
                                                  {"802", "nvidia-fabricmanager"},
                                                  {"34", "LD_LIBRARY_PATH"}};
    for (const auto& [error, mend] : known) {
      const FakeGpuSettings settings(std::string("FAIL=cuInit:1:") + error);
      well &= says(gpu::gpus(kFake).status(), Code::kUnsupported, mend);
    }
    return well & expect(bool(gpu::gpus(kFake)), "the second try");
  });
  EXPECT_TRUE(child.wait());
}

// --- two processes -------------------------------------------------------------------------------

// By the owner's GPU, and another; in every way that memory takes.
class GpuWays : public testing::TestWithParam<std::tuple<const char*, int>> {};

TEST_P(GpuWays, APeerSeesAChunk) {
  const auto [settings, by] = GetParam();
  {
    Child owner([&](const Line& line) -> bool {
      const FakeGpuSettings way(settings);
      return own(line, 0);
    });
    const Blob blob = owner.line().receive();
    const Blob identity = owner.line().receive();
    Child peer([&](const Line&) -> bool {
      const FakeGpuSettings way(settings);
      Platform& gpu = **gpu::platform(kFake, by);
      if (!expect(gpu.why_not_mapped(identity).empty(), gpu.why_not_mapped(identity))) return false;
      const auto place = opened(gpu, blob);
      if (!expect(bool(place), place.status().to_string())) return false;
      const std::byte mark{43};
      return expect(first_byte(gpu, place->chunk) == std::byte{42}, "what the owner wrote") &&
             expect(gpu.copy(place->chunk.base(), &mark, 1, nullptr).is_ok(), "write");
    });
    EXPECT_TRUE(peer.wait());
    owner.line().signal();
    EXPECT_TRUE(owner.wait());
  }
}

INSTANTIATE_TEST_SUITE_P(All, GpuWays,
                         testing::Combine(testing::Values("WAYS=fd", "WAYS=fabric", "WAYS=none",
                                                          "VERSION=70000000",
                                                          "WAYS=fd VERSION=50100000"),
                                          testing::Values(0, 1)));

TEST(GpuProcess, PartsOfABlockAreOpenedAsTheyLie) {
  Child owner([](const Line& line) -> bool {
    const FakeGpuSettings way("WAYS=none");
    Platform& gpu = **gpu::platform(kFake, 0);
    const Memory space = *gpu.reserve(4 * kPage);
    const Memory first = *gpu.commit({space.base(), kPage}, kHints);
    const Memory second = *gpu.commit({space.base() + kPage, 2 * kPage}, kHints);
    line.send(*gpu.share(first));
    line.send(*gpu.share(second));
    line.receive();  // until the parent says so
    return expect(first_byte(gpu, second) == std::byte{43}, "what the peer wrote");
  });
  const Blob first = owner.line().receive();
  const Blob second = owner.line().receive();
  Child peer([&](const Line&) -> bool {
    const FakeGpuSettings way("WAYS=none");
    Platform& gpu = **gpu::platform(kFake, 1);
    const auto before = fake_gpu_live();
    {
      const auto one = gpu.open(first, {nullptr, kPage});
      const auto two = gpu.open(second, {nullptr, 2 * kPage});
      const std::byte mark{43};
      if (!expect(one && two, "open") ||
          !expect(two->base() == one->base() + kPage, "they lie side by side") ||
          !expect(fake_gpu_live().allocations == before.allocations + 1, "opened once") ||
          !expect(gpu.copy(two->base(), &mark, 1, nullptr).is_ok(), "write"))
        return false;
    }
    return expect(fake_gpu_live() == before, "something is left");
  });
  EXPECT_TRUE(peer.wait());
  owner.line().signal();
  EXPECT_TRUE(owner.wait());
}

TEST(GpuProcess, APeerThatDoesNotSeeTheGpuSaysSo) {
  Child owner([](const Line& line) -> bool { return own(line, 1); });
  const Blob blob = owner.line().receive();
  const Blob identity = owner.line().receive();
  Child peer([&](const Line&) -> bool {
    const FakeGpuSettings one("DEVICES=1");
    Platform& gpu = **gpu::platform(kFake, 0);
    const std::string why = gpu.why_not_mapped(identity);
    return expect(why.find("0000:1c:00.0 of the peer is not visible") != std::string::npos, why) &&
           expect(why.find("which is on GPU 0") != std::string::npos, why) &&
           says(opened(gpu, blob).status(), Code::kUnsupported, why);
  });
  EXPECT_TRUE(peer.wait());
}

TEST(GpuProcess, ADeadOwnerIsAnError) {
  Child owner([](const Line& line) -> bool { return own(line, 0); });
  const Blob blob = owner.line().receive();
  owner.kill();
  Child peer([&](const Line&) -> bool {
    Platform& gpu = **gpu::platform(kFake, 0);
    const auto before = fake_gpu_live();
    return says(opened(gpu, blob).status(), Code::kPeerLost, "The peer has ended") &&
           expect(fake_gpu_live() == before, "something is left");
  });
  EXPECT_TRUE(peer.wait());
}

TEST(GpuProcess, OpenedMemoryOutlivesItsOwner) {
  std::optional<Child> owner([](const Line& line) -> bool { return own(line, 0); });
  const Blob blob = owner->line().receive();
  Child peer([&](const Line& line) -> bool {
    Platform& gpu = **gpu::platform(kFake, 1);
    const auto place = opened(gpu, blob);
    line.signal();
    line.receive();
    return expect(bool(place), place.status().to_string()) &&
           expect(first_byte(gpu, place->chunk) == std::byte{42}, "what the owner wrote");
  });
  peer.line().receive();
  owner->kill();
  peer.line().signal();
  EXPECT_TRUE(peer.wait());
}

// --- fork ----------------------------------------------------------------------------------------

bool all_refuse(Platform& gpu, const Place& mine, Stream stream) {
  const std::string why = "forked";
  std::byte byte{};
  bool well = says(gpu::gpus(kFake).status(), Code::kUnsupported, why);
  well &= says(gpu::current_gpu(kFake).status(), Code::kUnsupported, why);
  well &= says(gpu::make_current(kFake, 0), Code::kUnsupported, why);
  well &= says(gpu::platform(kFake, 0).status(), Code::kUnsupported, why);
  well &= says(gpu.reserve(kPage).status(), Code::kUnsupported, why);
  well &= says(gpu.commit({mine.reserved.base(), kPage}, kHints).status(), Code::kUnsupported, why);
  well &= says(gpu.share(mine.chunk).status(), Code::kUnsupported, why);
  well &= says(gpu.host_visible(1).status(), Code::kUnsupported, why);
  well &= says(gpu.create_stream().status(), Code::kUnsupported, why);
  well &= says(gpu.destroy_stream(stream), Code::kUnsupported, why);
  well &= says(gpu.copy(&byte, mine.chunk.base(), 1, nullptr), Code::kUnsupported, why);
  well &= says(gpu.zero(mine.chunk.range(), nullptr), Code::kUnsupported, why);
  well &= says(gpu.synchronize(nullptr), Code::kUnsupported, why);
  return well & expect(gpu.why_not_mapped(gpu.identity()).find(why) != std::string::npos, "why");
}

TEST(GpuProcess, AForkedChildIsRefusedAndHarmsNothing) {
  Child parent([](const Line&) -> bool {
    Platform& gpu = **gpu::platform(kFake, 0);
    auto mine = std::make_unique<Place>(committed(gpu));
    auto host = std::make_unique<Memory>(*gpu.host_visible(1));
    const Stream stream = *gpu.create_stream();
    const auto before = fake_gpu_live();
    Child child([&](const Line&) -> bool {
      const bool well = all_refuse(gpu, *mine, stream);
      mine.reset();
      host.reset();
      return well & expect(fake_gpu_live() == before, "the parent's memory");
    });
    return child.wait() && expect(first_byte(gpu, mine->chunk) == std::byte{0}, "my memory") &&
           expect(gpu.destroy_stream(stream).is_ok(), "my stream");
  });
  EXPECT_TRUE(parent.wait());
}

TEST(GpuProcess, IsOpenedAnewOnceItWasReset) {
  if (kFake.kind == gpu::Kind::kHip) GTEST_SKIP() << "of CUDA";
  Child child([](const Line&) -> bool {
    Platform* const before = *gpu::platform(kFake, 0);
    auto* const reset = test::fake_gpu_function<int(int)>("cuDevicePrimaryCtxReset_v2");
    if (!expect(reset(0) == 0, "the reset")) return false;
    Platform* const after = *gpu::platform(kFake, 0);
    const bool well = expect(after != before, "another platform") &&
                      expect(after == *gpu::platform(kFake, 0), "which stays");
    return well & expect(first_byte(*after, committed(*after).chunk) == std::byte{0}, "memory") &
           expect(after->destroy_stream(*after->create_stream()).is_ok(), "streams");
  });
  EXPECT_TRUE(child.wait());
}

TEST(GpuProcess, ADriverThatTheProgramStartedBeforeForkIsNamed) {
  Child parent([](const Line&) -> bool {
    auto* const init =
        test::fake_gpu_function<int(unsigned)>(symbol("cuInit").c_str());  // not through Weft
    if (!expect(init(0) == 0, "cuInit")) return false;
    Child child([](const Line&) -> bool {
      return says(gpu::gpus(kFake).status(), Code::kUnsupported, "forked");
    });
    return child.wait();
  });
  EXPECT_TRUE(parent.wait());
}

}  // namespace
}  // namespace weft
