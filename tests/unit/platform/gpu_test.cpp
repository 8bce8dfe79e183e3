// The platform of GPUs in one process, over the fake drivers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "src/platform/gpu/gpu.hpp"
#include "tests/support/fake_gpu/dmabuf.hpp"
#include "tests/support/fake_gpu/fake_gpu.hpp"
#include "tests/support/own_gpu_memory.hpp"
#include "tests/support/random.hpp"
#include "tests/support/status.hpp"
#include "tests/support/stream_capture.hpp"
#include "tests/unit/platform/child.hpp"
#include "tests/support/sanitizer.hpp"

namespace weft {
namespace {

using test::fake_gpu_live;
using test::FakeGpuSettings;
using test::kFake;
using test::kIsHip;
using test::said_by;
using test::symbol;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::size_t kPage = std::size_t{2} << 20;
const MemoryHints kHints;
const std::string kEnter = said_by("cuCtxPushCurrent_v2", "hipGetDevice");
const std::string kSystemError = said_by("CUDA_ERROR_OPERATING_SYSTEM", "hipErrorOperatingSystem");

// Found once, so that calls of the driver that shall fail are those that a test makes.
Platform& gpu(int ordinal = 0) {
  static std::map<int, Platform*> known;
  Platform*& platform = known[ordinal];
  if (platform != nullptr) return *platform;
  const auto found = gpu::platform(kFake, ordinal);
  if (!found) ADD_FAILURE() << found.status().to_string();
  return *(platform = *found);
}

std::string text(const Status& status) { return std::string(status.text()); }
template <class T>
std::string text(const Result<T>& result) {
  return text(result.status());
}

// A reservation whose first pages have memory.
struct Place {
  Memory reserved, chunk;
};

Place committed(std::size_t pages, int ordinal = 0) {
  Place place;
  place.reserved = *gpu(ordinal).reserve(4 * kPage);
  place.chunk = *gpu(ordinal).commit({place.reserved.base(), pages * kPage}, kHints);
  return place;
}

Result<Place> opened(const Blob& blob, std::size_t pages, int ordinal = 0) {
  Place place;
  place.reserved = *gpu(ordinal).reserve(4 * kPage);
  auto chunk = gpu(ordinal).open(blob, {place.reserved.base(), pages * kPage});
  if (!chunk) return chunk.status();
  place.chunk = std::move(chunk).value();
  return place;
}

Status write(Platform& by, std::byte* to, const std::vector<std::byte>& data) {
  const Status queued = by.copy(to, data.data(), data.size(), nullptr);
  return queued.is_ok() ? by.synchronize(nullptr) : queued;
}

// The bytes that the GPU `by` reads there.
Result<std::vector<std::byte>> read(Platform& by, const std::byte* from, std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  if (Status queued = by.copy(data.data(), from, bytes, nullptr); !queued.is_ok()) return queued;
  if (Status done = by.synchronize(nullptr); !done.is_ok()) return done;
  return data;
}

// Every test leaves the driver as it found it.
class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    gpu(0), gpu(1);
    before_ = fake_gpu_live();
  }
  void TearDown() override { EXPECT_EQ(fake_gpu_live(), before_); }
  bool nothing_left() const { return fake_gpu_live() == before_; }

 private:
  test::FakeGpuLive before_{};
};

// --- GPUs ----------------------------------------------------------------------------------------

TEST_F(GpuTest, GpusAreListed) {
  const auto all = gpu::gpus(kFake);
  ASSERT_OK(all);
  ASSERT_EQ(all->size(), 2u);
  const gpu::Gpu& last = all->back();
  EXPECT_EQ(last.ordinal, 1);
  EXPECT_EQ(last.name, "Fake GPU 1");
  EXPECT_EQ(last.bus, "0000:1c:00.0");
  EXPECT_EQ(last.bytes, std::size_t{1} << 30);
  EXPECT_EQ(last.major, 9);
  EXPECT_EQ(last.minor, 0);
}

TEST_F(GpuTest, OnePlatformPerGpu) {
  EXPECT_EQ(&gpu(0), &gpu(0));
  EXPECT_NE(&gpu(0), &gpu(1));
  EXPECT_EQ(gpu().name(), said_by("cuda", "hip"));
  EXPECT_TRUE(gpu().maps_where_told());
  EXPECT_FALSE(gpu().is_host_accessible());
  EXPECT_EQ(gpu().granularity(), kPage);
  for (const int none : {-1, 2}) {
    const auto refused = gpu::platform(kFake, none);
    ASSERT_FALSE(refused);
    EXPECT_CODE(refused, Code::kOutOfRange);
    EXPECT_THAT(text(refused), HasSubstr("2 visible to this process"));
  }
}

TEST_F(GpuTest, TheCallersContextIsItsOwn) {
  std::thread([] {
    EXPECT_EQ(*gpu::current_gpu(kFake), -1);
    committed(1);
    EXPECT_EQ(*gpu::current_gpu(kFake), -1);
    EXPECT_OK(gpu::make_current(kFake, 1));
    EXPECT_EQ(*gpu::current_gpu(kFake), 1);
    committed(1, 0);
    EXPECT_FALSE(gpu(0).commit({nullptr, kPage}, kHints));
    EXPECT_EQ(*gpu::current_gpu(kFake), 1);
    EXPECT_EQ(fake_gpu_live().current, kIsHip ? 0u : 1u);
  }).join();
}

TEST_F(GpuTest, AGpuThatFailsToStartIsTriedAgain) {
  for (const std::string& function :
       {std::string("cuDeviceGetCount"), std::string("cuDeviceGetUuid_v2"),
        std::string("cuDeviceGetPCIBusId"), said_by("cuDevicePrimaryCtxRetain", "hipSetDevice"),
        kEnter, std::string("cuStreamCreate")}) {
    const FakeGpuSettings settings("DEVICES=3 FAIL=" + function + ":1:999");
    const auto refused = gpu::platform(kFake, 2);
    ASSERT_FALSE(refused) << function;
    EXPECT_CODE(refused, Code::kIo);
    EXPECT_THAT(text(refused), HasSubstr(symbol(function)));
    EXPECT_THAT(text(refused), HasSubstr("(999)"));
    EXPECT_TRUE(nothing_left()) << function;
  }
}

TEST_F(GpuTest, AGpuThatIsFullSaysSo) {
  const FakeGpuSettings settings("DEVICES=3 BYTES=4194304");
  const auto refused = gpu::platform(kFake, 2);
  EXPECT_CODE(refused, Code::kOutOfMemory);
  EXPECT_THAT(text(refused), HasSubstr("of memory of GPU 2"));
}

// --- reserve and commit --------------------------------------------------------------------------

TEST_F(GpuTest, ReservesAddressesOnly) {
  for (const std::size_t bytes : {std::size_t{1}, kPage, 3 * kPage + 5, std::size_t{1} << 34}) {
    const auto reserved = gpu().reserve(bytes);
    ASSERT_OK(reserved);
    EXPECT_GE(reserved->bytes(), bytes);
    EXPECT_EQ(reserved->bytes() % kPage, 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(reserved->base()) % kReserveAlign, 0u);
    EXPECT_FALSE(read(gpu(), reserved->base(), 1)) << "no memory there";
  }
  EXPECT_CODE(gpu().reserve(0), Code::kInvalidArgument);
  EXPECT_CODE(gpu().reserve(~std::size_t{0}), Code::kInvalidArgument);
  const auto refused = gpu().reserve(std::size_t{1} << 60);
  EXPECT_CODE(refused, Code::kOutOfMemory);
  EXPECT_THAT(text(refused), HasSubstr(symbol("cuMemAddressReserve")));
}

TEST_F(GpuTest, CommitsZeroedMemoryAndTakesItBack) {
  std::mt19937_64 random(test_seed());
  const Memory reserved = *gpu().reserve(4 * kPage);
  const Range where{reserved.base() + kPage, 2 * kPage};
  for (int again = 0; again < 3; ++again) {
    {
      const auto chunk = gpu().commit(where, kHints);
      ASSERT_OK(chunk);
      EXPECT_EQ(chunk->base(), where.base);
      EXPECT_EQ(chunk->bytes(), where.bytes);
      EXPECT_EQ(*read(gpu(), where.base, where.bytes), std::vector<std::byte>(where.bytes));
      const auto data = random_bytes(random, where.bytes);
      EXPECT_OK(write(gpu(), where.base, data));
      EXPECT_EQ(*read(gpu(), where.base, where.bytes), data);
      EXPECT_OK(gpu().zero({where.base + 7, 1000}, nullptr));
      EXPECT_EQ(*read(gpu(), where.base + 7, 1000), std::vector<std::byte>(1000));
      EXPECT_EQ((*read(gpu(), where.base, 8))[6], data[6]);
      EXPECT_EQ((*read(gpu(), where.base, 1008))[1007], data[1007]);
    }
    EXPECT_FALSE(read(gpu(), where.base, 1));
  }
}

TEST_F(GpuTest, OnlyWholePagesOfAReservationThatHaveNoMemoryYet) {
  const Memory reserved = *gpu().reserve(4 * kPage);
  const Memory chunk = *gpu().commit({reserved.base() + kPage, kPage}, kHints);
  const Memory other = *gpu(1).reserve(kPage);
  const std::vector<std::pair<Range, const char*>> wrong = {
      {{reserved.base(), 0}, "whole pages"},
      {{reserved.base() + 4096, kPage}, "whole pages"},
      {{reserved.base(), kPage + 4096}, "whole pages"},
      {{reserved.base(), 5 * kPage}, "reserved GPU address space"},
      {{reserved.base() + 4 * kPage, kPage}, "reserved GPU address space"},
      {{nullptr, kPage}, "reserved GPU address space"},
      {{reserved.base() + kPage, kPage}, "have memory"},
      {{reserved.base(), 4 * kPage}, "have memory"},
      {{other.base(), kPage}, "were reserved for GPU 1"},
  };
  for (const auto& [where, why] : wrong) {
    const auto refused = gpu().commit(where, kHints);
    EXPECT_CODE(refused, Code::kInvalidArgument);
    EXPECT_THAT(text(refused), HasSubstr(why));
  }
  EXPECT_OK(gpu().commit({reserved.base() + 2 * kPage, 2 * kPage}, kHints));
}

TEST_F(GpuTest, AChunkKeepsItsReservation) {
  Memory chunk;
  std::byte* base = nullptr;
  {
    const Memory reserved = *gpu().reserve(2 * kPage);
    base = reserved.base();
    chunk = *gpu().commit({base, kPage}, kHints);
  }
  EXPECT_OK(read(gpu(), base, kPage));
  EXPECT_FALSE(nothing_left());
  chunk = Memory();
  EXPECT_TRUE(nothing_left());
  EXPECT_FALSE(gpu().commit({base, kPage}, kHints)) << "the reservation is gone";
}

TEST_F(GpuTest, RefusesWhatTheGpuCannotHold) {
  const Memory reserved = *gpu().reserve(std::size_t{4} << 30);
  const Memory taken = *gpu().commit({reserved.base(), kPage}, kHints);
  const auto refused = gpu().commit({reserved.base() + kPage, std::size_t{1} << 30}, kHints);
  EXPECT_CODE(refused, Code::kOutOfMemory);
  EXPECT_THAT(text(refused), HasSubstr("1 GiB (1073741824 bytes) of memory of GPU 0"));
  EXPECT_THAT(text(refused), HasSubstr("1022 MiB (1071644656 bytes) of 1 GiB"));
  EXPECT_THAT(text(refused), HasSubstr(symbol("cuMemCreate") + ": out of memory"));
  EXPECT_THAT(text(refused), HasSubstr("WEFT_GPU_HEAP_CHUNK"));
  const Memory elsewhere = *gpu(1).reserve(std::size_t{1022} << 20);
  EXPECT_OK(gpu(1).commit(elsewhere.range(), kHints)) << "each GPU has memory of its own";
}

TEST_F(GpuTest, AFailureOfCommitLeavesNothing) {
  const Memory reserved = *gpu().reserve(kPage);
  const auto before = fake_gpu_live();
  for (const char* function :
       {kEnter.c_str(), "cuMemCreate", "cuMemMap", "cuMemSetAccess", "cuMemsetD8Async"}) {
    {
      const FakeGpuSettings settings("FAIL=" + std::string(function) + ":1:304");
      const auto refused = gpu().commit(reserved.range(), kHints);
      EXPECT_CODE(refused, Code::kIo) << function;
      EXPECT_THAT(text(refused), HasSubstr(kSystemError));
      EXPECT_THAT(text(refused), HasSubstr("GPU 0 (0000:1b:00.0)"));
      EXPECT_THAT(text(refused), HasSubstr("sandbox"));
    }
    EXPECT_EQ(fake_gpu_live(), before) << function;
    EXPECT_OK(gpu().commit(reserved.range(), kHints));
  }
}

// Where a driver refuses to wait, what was queued has ended all the same once it says so.
TEST_F(GpuTest, AWaitThatIsRefusedIsMadeByLooking) {
  const FakeGpuSettings settings("FAIL=cuStreamSynchronize:1:304");
  const Place place = committed(1);
  EXPECT_EQ(*read(gpu(), place.chunk.base(), kPage), std::vector<std::byte>(kPage));
}

TEST_F(GpuTest, MemoryStaysWhileItsZeroingMayGoOn) {
  const Memory reserved = *gpu().reserve(2 * kPage);
  const Range where{reserved.base(), kPage};
  const auto before = fake_gpu_live();
  {
    const FakeGpuSettings settings("FAIL=cuStreamSynchronize:1:304,cuStreamQuery:1:304");
    EXPECT_FALSE(gpu().commit(where, kHints));
    EXPECT_EQ(fake_gpu_live().mappings, before.mappings + 1);
  }
  EXPECT_OK(gpu().commit(where, kHints)) << "it has ended meanwhile";
  EXPECT_EQ(fake_gpu_live(), before);
}

// All that Weft does by itself, with `stream` one of its own.
void work_beside_captures(Stream stream) {
  const Place mine = committed(2);
  const auto other = opened(*gpu().share(mine.chunk), 2, 1);
  ASSERT_OK(other);
  const auto pinned = gpu().host_visible(4096);
  ASSERT_OK(pinned);
  EXPECT_OK(gpu().copy(mine.chunk.base(), pinned->base(), 4096, stream));
  EXPECT_OK(gpu().synchronize(stream));
  const auto fresh = gpu().create_stream();
  ASSERT_OK(fresh);
  EXPECT_OK(gpu().zero(mine.chunk.range(), *fresh));
  EXPECT_OK(gpu().synchronize(*fresh));
  EXPECT_OK(gpu().destroy_stream(*fresh));
  static constexpr Kernel kNothing{"nothing", 1, [](const void*, cpu::ThreadState&) {}};
  EXPECT_OK(gpu().prepare({}, kNothing));
}

TEST_F(GpuTest, CapturesStayWholeWhateverIsDoneBeside) {
  std::thread([] {
    ASSERT_OK(gpu::make_current(kFake, 0));
    const Stream stream = *gpu().create_stream(), captured = *gpu().create_stream();
    for (const auto mode : {StreamCapture::Mode::kGlobal, StreamCapture::Mode::kThreadLocal})
      for (const bool elsewhere : {false, true}) {
        StreamCapture capture(kFake, captured, mode);
        const auto work = [stream] { work_beside_captures(stream); };
        elsewhere ? std::thread(work).join() : work();
        EXPECT_TRUE(capture.end());
      }
    StreamCapture own(kFake, gpu::abi::kPerThreadStream);
    work_beside_captures(stream);
    EXPECT_TRUE(own.end());
    EXPECT_OK(gpu().destroy_stream(stream));
    EXPECT_OK(gpu().destroy_stream(captured));
  }).join();
}

// A thread's own work is forbidden as before.
TEST_F(GpuTest, TheThreadsOwnModeIsRestored) {
  std::thread([] {
    ASSERT_OK(gpu::make_current(kFake, 0));
    const Stream captured = *gpu().create_stream();
    const OwnGpuMemory mine = OwnGpuMemory::allocated(kFake, 0, kPage);
    StreamCapture capture(kFake, captured);
    committed(1);
    gpu::abi::Pointer taken = 0;
    const gpu::Driver& driver = **gpu::Driver::get(kFake);
    EXPECT_EQ(driver.allocate(&taken, kPage).error, gpu::abi::Error::kCaptureUnsupported);
    EXPECT_FALSE(capture.end());
    EXPECT_OK(gpu().destroy_stream(captured));
  }).join();
}

TEST_F(GpuTest, ThreadsMayCommitInOneReservation) {
  const Memory reserved = *gpu().reserve(16 * kPage);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const Range where{reserved.base() + t * 4 * kPage, kPage};
        const auto chunk = gpu().commit(where, kHints);
        ASSERT_OK(chunk);
        ASSERT_EQ((*read(gpu(), where.base, 1))[0], std::byte{0});
        ASSERT_OK(write(gpu(), where.base, {std::byte{1}}));
        if (i % 5 == 0) EXPECT_OK(gpu().share(*chunk));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// --- host memory, streams, what is refused -------------------------------------------------------

TEST_F(GpuTest, HostVisibleIsZeroed) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{4097}, kPage}) {
    const auto memory = gpu().host_visible(bytes);
    ASSERT_OK(memory);
    EXPECT_EQ(memory->bytes(), bytes);
    for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(memory->base()[i], std::byte{0});
    std::memset(memory->base(), 1, bytes);
  }
  EXPECT_CODE(gpu().host_visible(0), Code::kInvalidArgument);
  const auto refused = gpu().host_visible(std::size_t{1} << 40);
  EXPECT_CODE(refused, Code::kOutOfMemory);
  EXPECT_THAT(text(refused), HasSubstr(symbol("cuMemHostAlloc")));
}

TEST_F(GpuTest, StreamsOrderWorkUntilTheyAreDestroyed) {
  const Place place = committed(1);
  const auto stream = gpu().create_stream();
  ASSERT_OK(stream);
  ASSERT_NE(*stream, nullptr);
  const std::vector<std::byte> data(100, std::byte{7});
  EXPECT_OK(gpu().copy(place.chunk.base(), data.data(), data.size(), *stream));
  EXPECT_OK(gpu().zero({place.chunk.base(), 50}, *stream));
  EXPECT_OK(gpu().synchronize(*stream));
  EXPECT_EQ((*read(gpu(), place.chunk.base(), 51))[49], std::byte{0});
  EXPECT_EQ((*read(gpu(), place.chunk.base(), 51))[50], std::byte{7});
  EXPECT_OK(gpu().destroy_stream(*stream));
  EXPECT_FALSE(gpu().synchronize(*stream).is_ok());
  EXPECT_FALSE(gpu().copy(place.chunk.base(), data.data(), 1, *stream).is_ok());
  EXPECT_FALSE(gpu().destroy_stream(*stream).is_ok());
  EXPECT_CODE(gpu().destroy_stream(nullptr), Code::kInvalidArgument);
}

std::atomic<int> nothings{0};
void do_nothing(const void*, cpu::ThreadState&) { ++nothings; }

TEST_F(GpuTest, AStreamBeginsWithAKernelThatDoesNothing) {
  static constexpr Kernel kNothing{"nothing", 1, &do_nothing};
  ASSERT_OK(gpu().prepare({}, kNothing));
  EXPECT_EQ(nothings, 1) << "the thread's own stream";
  const auto stream = gpu().create_stream();
  ASSERT_OK(stream);
  EXPECT_EQ(nothings, 2);
  EXPECT_OK(gpu().destroy_stream(*stream));
  const auto before = fake_gpu_live();
  for (const char* function : {"cuStreamCreate", "weft_host_function"}) {
    const FakeGpuSettings settings("FAIL=" + std::string(function) + ":1:304");
    EXPECT_CODE(gpu().create_stream(), Code::kIo) << function;
    EXPECT_EQ(fake_gpu_live(), before) << function;
  }
}

TEST_F(GpuTest, NothingToCopyIsFineAndNullIsNot) {
  std::byte byte{};
  EXPECT_OK(gpu().copy(nullptr, nullptr, 0, nullptr));
  EXPECT_OK(gpu().zero({nullptr, 0}, nullptr));
  EXPECT_CODE(gpu().copy(nullptr, &byte, 1, nullptr), Code::kInvalidArgument);
  EXPECT_CODE(gpu().copy(&byte, nullptr, 1, nullptr), Code::kInvalidArgument);
}

// --- memory of a program's own -------------------------------------------------------------------

// Peers of the owner, as a thread of its process: on its own GPU, and on the other one.
Result<Memory> opened_piece(const Memory& adopted, int by, std::size_t bytes) {
  const auto blob = gpu().share(adopted);
  if (!blob) return blob.status();
  return gpu(by).open(*blob, {nullptr, bytes});
}

void expect_shared(Platform& owner, const Range& own, const Memory& peer, int by) {
  std::mt19937_64 random(test_seed());
  const auto data = random_bytes(random, own.bytes);
  EXPECT_OK(write(owner, own.base, data));
  EXPECT_EQ(peer.bytes(), own.bytes);
  EXPECT_EQ(*read(gpu(by), peer.base(), own.bytes), data);
  EXPECT_OK(write(gpu(by), peer.base() + 77, {~data[77]}));
  EXPECT_EQ((*read(owner, own.base, 78))[77], ~data[77]);
}

TEST_F(GpuTest, MappedMemoryIsAdoptedWhereItIs) {
  const OwnGpuMemory mine = OwnGpuMemory::mapped(kFake, 0, {kPage, 2 * kPage, kPage});
  EXPECT_TRUE(gpu().is_device_memory(mine.base() + 3 * kPage));
  EXPECT_TRUE(gpu(1).is_device_memory(mine.base()));
  const std::vector<Range> pieces = {{mine.base(), mine.bytes()},
                                     {mine.base() + 4096, 1000},                  // in the first
                                     {mine.base() + kPage + 16, 3 * kPage - 17},  // in two
                                     {mine.base() + 3 * kPage, kPage}};
  for (const Range& own : pieces) {
    EXPECT_OK(write(gpu(), own.base, {std::byte{42}}));
    const auto adopted = gpu().adopt(own, {});
    ASSERT_OK(adopted);
    EXPECT_EQ(adopted->base(), own.base);
    EXPECT_EQ((*read(gpu(), own.base, 1))[0], std::byte{42}) << "contents stay";
    for (const int by : {0, 1}) {
      const auto peer = opened_piece(*adopted, by, own.bytes);
      ASSERT_OK(peer);
      expect_shared(gpu(), own, *peer, by);
    }
  }
}

TEST_F(GpuTest, AllocatedMemoryIsAdoptedWhereItIs) {
  const OwnGpuMemory mine = OwnGpuMemory::allocated(kFake, 0, 3 * kPage);
  for (const Range& own : {Range{mine.base(), mine.bytes()}, Range{mine.base() + 512, kPage + 1}}) {
    const auto adopted = gpu().adopt(own, {});
    ASSERT_OK(adopted);
    for (const int by : {0, 1}) {
      const auto peer = opened_piece(*adopted, by, own.bytes);
      ASSERT_OK(peer);
      EXPECT_EQ(peer->base(), own.base) << "threads of one process";
      expect_shared(gpu(), own, *peer, by);
    }
  }
}

TEST_F(GpuTest, AdoptedMemoryThatWasMappedOutlivesItsMapping) {
  OwnGpuMemory mine = OwnGpuMemory::mapped(kFake, 0, {kPage});
  EXPECT_OK(write(gpu(), mine.base(), {std::byte{7}}));
  auto adopted = gpu().adopt({mine.base(), kPage}, {});
  ASSERT_OK(adopted);
  const auto peer = opened_piece(*adopted, 1, kPage);
  ASSERT_OK(peer);
  mine.free();
  adopted = Memory();
  EXPECT_EQ((*read(gpu(1), peer->base(), 1))[0], std::byte{7});
}

TEST_F(GpuTest, AdoptedMemoryIsKnownByItsIdentity) {
  OwnGpuMemory mapped = OwnGpuMemory::mapped(kFake, 0, {kPage, kPage});
  OwnGpuMemory allocated = OwnGpuMemory::allocated(kFake, 0, 2 * kPage);
  for (OwnGpuMemory* const mine : {&mapped, &allocated}) {
    std::byte* const base = mine->base();
    const auto adopted = gpu().adopt({base + kPage, 4096}, {});
    ASSERT_OK(adopted);
    EXPECT_TRUE(gpu().is_current(*adopted));
    const auto again = gpu().adopt({base, 2 * kPage}, {});
    EXPECT_TRUE(gpu().is_current(*again) && gpu().is_current(*adopted));
    mine->renew();
    ASSERT_EQ(mine->base(), base);
    EXPECT_FALSE(gpu().is_current(*adopted));
    EXPECT_TRUE(gpu().is_current(*gpu().adopt({base, 4096}, {})));
    mine->free();
    EXPECT_FALSE(gpu().is_current(*adopted));
  }
}

TEST_F(GpuTest, WhatCannotBeAdoptedSaysWhy) {
  const auto why = [](Range own, int by = 0) {
    const auto refused = gpu(by).adopt(own, {});
    EXPECT_CODE(refused, Code::kInvalidArgument);
    return text(refused);
  };
  const OwnGpuMemory mine = OwnGpuMemory::allocated(kFake, 0, kPage);
  std::byte on_host[64];
  EXPECT_FALSE(gpu().is_device_memory(on_host));
  EXPECT_THAT(why({mine.base() + 8, 64}), HasSubstr("begins at a multiple of 16 bytes"));
  EXPECT_THAT(why({mine.base(), 0}), HasSubstr("and has some"));
  EXPECT_THAT(why({mine.base(), kPage}, 1),
              HasSubstr("they are memory of GPU 0, and this PE uses"));
  EXPECT_THAT(why({mine.base() + 16, kPage}), HasSubstr("run past the end of the allocation"));
  const Memory pinned = *gpu().host_visible(4096);
  EXPECT_FALSE(gpu().is_device_memory(pinned.base()));
  EXPECT_THAT(why(pinned.range()), HasSubstr("not memory of a GPU"));
  const Place heap = committed(1);
  EXPECT_THAT(why(heap.chunk.range()), HasSubstr("symmetric already, being in a heap"));
  OwnGpuMemory freed = OwnGpuMemory::allocated(kFake, 0, kPage);
  const Range gone{freed.base(), kPage};
  freed.free();
  EXPECT_THAT(why(gone), HasSubstr("were they freed?"));
  const OwnGpuMemory alone = OwnGpuMemory::mapped(kFake, 0, {kPage}, gpu::abi::HandleType::kNone);
  EXPECT_THAT(why({alone.base(), kPage}),
              AllOf(HasSubstr("created as memory of one process only"),
                    HasSubstr("Peers can map memory of " + said_by("cudaMalloc", "hipMalloc"))));
  const FakeGpuSettings settings("MANAGED=1");
  EXPECT_THAT(why({mine.base(), kPage}), HasSubstr("managed memory"));
}

TEST_F(GpuTest, AFailureOfAdoptLeavesNothing) {
  const OwnGpuMemory mapped = OwnGpuMemory::mapped(kFake, 0, {kPage, kPage});
  const OwnGpuMemory allocated = OwnGpuMemory::allocated(kFake, 0, kPage);
  const auto before = fake_gpu_live();
  const auto expect_refused = [&](const OwnGpuMemory& mine, const std::string& failures) {
    {
      const FakeGpuSettings settings("FAIL=" + failures);
      const auto refused = gpu().adopt({mine.base(), mine.bytes()}, {});
      EXPECT_FALSE(refused) << failures;
      EXPECT_EQ(fake_gpu_live(), before) << failures;
    }
    EXPECT_OK(gpu().adopt({mine.base(), mine.bytes()}, {}));
    EXPECT_EQ(fake_gpu_live(), before) << failures;
  };
  for (const char* function :
       {kEnter.c_str(), "cuPointerGetAttribute", "cuMemRetainAllocationHandle",
        "cuMemGetAllocationPropertiesFromHandle", "cuMemGetAddressRange_v2"})
    expect_refused(mapped, function + std::string(":1:304"));
  expect_refused(mapped, "cuMemRetainAllocationHandle:2:304");
  for (const char* function : {"cuMemGetAddressRange_v2", "cuIpcGetMemHandle"})
    expect_refused(allocated, function + std::string(":1:304"));
}

TEST_F(GpuTest, AFailureToOpenAPieceLeavesNothing) {
  const OwnGpuMemory mine = OwnGpuMemory::mapped(kFake, 0, {kPage, kPage});
  const Memory adopted = *gpu().adopt({mine.base(), mine.bytes()}, {});
  const Blob blob = *gpu().share(adopted);
  const auto before = fake_gpu_live();
  for (const char* failure :
       {"cuMemAddressReserve:1", "cuDeviceCanAccessPeer:1", "cuMemImportFromShareableHandle:1",
        "cuMemImportFromShareableHandle:2", "cuMemMap:2", "cuMemSetAccess:2"}) {
    {
      const FakeGpuSettings settings("FAIL=" + std::string(failure) + ":304");
      const auto refused = gpu(1).open(blob, {nullptr, mine.bytes()});
      EXPECT_FALSE(refused) << failure;
      EXPECT_THAT(text(refused), HasSubstr(kSystemError)) << failure;
    }
    EXPECT_EQ(fake_gpu_live(), before) << failure;
    EXPECT_OK(gpu(1).open(blob, {nullptr, mine.bytes()}));
  }
  for (const std::size_t less : {std::size_t{1}, blob.size() / 2, blob.size() - 1})
    EXPECT_CODE(gpu(1).open(Blob(blob.begin(), blob.end() - static_cast<std::ptrdiff_t>(less)),
                            {nullptr, mine.bytes()}),
                Code::kInvalidArgument);
  EXPECT_CODE(gpu(1).open(blob, {nullptr, kPage}), Code::kInvalidArgument);
  const FakeGpuSettings apart("NO_PEER=0-1");
  EXPECT_CODE(gpu(1).open(blob, {nullptr, mine.bytes()}), Code::kUnsupported);
}

TEST_F(GpuTest, AdoptedMemoryOfManyAllocationsLeavesNoDescriptors) {
  const Place keeps_server = committed(1);
  EXPECT_OK(gpu().share(keeps_server.chunk));
  const OwnGpuMemory mine = OwnGpuMemory::mapped(kFake, 0, std::vector<std::size_t>(20, kPage));
  const std::size_t descriptors = test::open_descriptors();
  for (int i = 0; i < 4; ++i) {
    const auto adopted = gpu().adopt({mine.base(), mine.bytes()}, {});
    ASSERT_OK(adopted);
    EXPECT_OK(opened_piece(*adopted, i % 2, mine.bytes()));
  }
  EXPECT_LE(test::open_descriptors(), descriptors + 2);
}

// --- two GPUs ------------------------------------------------------------------------------------

TEST_F(GpuTest, GpusThatDoNotReachEachOtherSaySo) {
  const Place place = committed(1);
  const Blob blob = *gpu(0).share(place.chunk);
  const FakeGpuSettings settings("NO_PEER=0-1");
  const std::string why = gpu(1).why_not_mapped(gpu(0).identity());
  EXPECT_THAT(why, HasSubstr("GPU 1 (0000:1c:00.0) cannot reach GPU 0 (0000:1b:00.0) directly"));
  EXPECT_EQ(gpu(1).why_not_mapped(gpu(1).identity()), "");
  const auto refused = opened(blob, 1, 1);
  EXPECT_CODE(refused, Code::kUnsupported);
  EXPECT_THAT(text(refused), HasSubstr(why));
  EXPECT_OK(opened(blob, 1, 0)) << "its own GPU";
}

TEST_F(GpuTest, TheOwnerOfMemoryOutOfReachOpensIt) {
  const Place place = committed(1);
  EXPECT_OK(write(gpu(0), place.chunk.base(), {std::byte{9}}));
  const Blob blob = *gpu(0).share(place.chunk);
  const FakeGpuSettings settings("NO_PEER=0-1");
  EXPECT_EQ(gpu(1).why_not_owned(gpu(0).identity()), "");
  EXPECT_EQ(*gpu(1).owner(gpu(0).identity()), &gpu(0));
  EXPECT_EQ(*gpu(1).owner(gpu(1).identity()), &gpu(1));
  const auto other = opened(blob, 1, 0);
  ASSERT_OK(other);
  EXPECT_EQ((*read(gpu(0), other->chunk.base(), 1))[0], std::byte{9});
  EXPECT_FALSE(read(gpu(1), other->chunk.base(), 1)) << "copies of the other GPU do not reach it";
  EXPECT_OK(gpu(0).check_launch());
  EXPECT_EQ(gpu(1).describe(), "GPU 1 (0000:1c:00.0)");
}

TEST_F(GpuTest, WhatIsHiddenOrOfAnotherKindHasNoOwnerHere) {
  Blob hidden = gpu(1).identity();
  hidden[0] = std::byte{1};
  EXPECT_THAT(gpu(0).why_not_owned(hidden), HasSubstr("is not visible to this process"));
  EXPECT_CODE(gpu(0).owner(hidden), Code::kUnsupported);
  EXPECT_THAT(gpu(0).why_not_owned(Blob()), HasSubstr("same platform"));
  EXPECT_CODE(gpu(0).owner(Blob()), Code::kUnsupported);
}

TEST_F(GpuTest, IdentityTellsGpusApart) {
  EXPECT_EQ(gpu(0).identity().size(), gpu(1).identity().size());
  EXPECT_NE(gpu(0).identity(), gpu(1).identity());
  EXPECT_EQ(gpu(0).why_not_mapped(gpu(0).identity()), "");
  EXPECT_EQ(gpu(0).why_not_mapped(gpu(1).identity()), "");
  Blob hidden = gpu(1).identity();
  hidden[0] = std::byte{1};
  EXPECT_THAT(gpu(0).why_not_mapped(hidden),
              HasSubstr("GPU 0000:1c:00.0 of the peer is not visible"));
  EXPECT_THAT(gpu(0).why_not_mapped(hidden),
              HasSubstr(said_by("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")));
  std::memset(hidden.data(), 0xff, 32);  // a bus without an end
  EXPECT_THAT(gpu(0).why_not_mapped(hidden), HasSubstr("is not visible"));
  EXPECT_THAT(gpu(0).why_not_mapped(Blob()), HasSubstr("same platform"));
  Blob other = gpu(1).identity();
  other[32] ^= std::byte{3};  // CUDA's for HIP's
  EXPECT_THAT(gpu(0).why_not_mapped(other), HasSubstr("not that of a GPU of"));
  Blob ipc = gpu(1).identity();
  ipc[36] = std::byte{0};
  EXPECT_THAT(gpu(0).why_not_mapped(ipc),
              HasSubstr("by IPC handles and this PE by file descriptors"));
  for (const char* function :
       {"cuDeviceGetCount", "cuDeviceGetUuid_v2", "cuDeviceGetPCIBusId", "cuDeviceCanAccessPeer"}) {
    const FakeGpuSettings settings("FAIL=" + std::string(function) + ":1:304");
    EXPECT_THAT(gpu(0).why_not_mapped(gpu(1).identity()), HasSubstr(kSystemError)) << function;
  }
}

// --- share and open ------------------------------------------------------------------------------

TEST_F(GpuTest, OneMemoryIsSeenTwice) {
  std::mt19937_64 random(test_seed());
  for (const int by : {0, 1}) {  // its own GPU, and another
    const Place mine = committed(2);
    const auto blob = gpu().share(mine.chunk);
    ASSERT_OK(blob);
    const auto other = opened(*blob, 2, by);
    ASSERT_OK(other);
    ASSERT_NE(other->chunk.base(), mine.chunk.base());
    const auto data = random_bytes(random, 2 * kPage);
    EXPECT_OK(write(gpu(), mine.chunk.base(), data));
    EXPECT_EQ(*read(gpu(by), other->chunk.base(), data.size()), data) << "open() does not zero";
    EXPECT_OK(write(gpu(by), other->chunk.base() + 77, {~data[77]}));
    EXPECT_EQ((*read(gpu(), mine.chunk.base(), 78))[77], ~data[77]);
  }
}

TEST_F(GpuTest, OpenedMemoryOutlivesItsOwner) {
  Result<Place> other = Status::ok();
  {
    const Place mine = committed(1);
    EXPECT_OK(write(gpu(), mine.chunk.base(), {std::byte{42}}));
    other = opened(*gpu().share(mine.chunk), 1);
  }
  ASSERT_OK(other);
  EXPECT_EQ((*read(gpu(), other->chunk.base(), 1))[0], std::byte{42});
}

TEST_F(GpuTest, SharingTwiceGivesTheSameBlob) {
  const Place mine = committed(1);
  EXPECT_EQ(*gpu().share(mine.chunk), *gpu().share(mine.chunk));
  EXPECT_NE(*gpu().share(mine.chunk), *gpu().share(committed(1).chunk));
}

TEST_F(GpuTest, OnlyTheRightBlobOpens) {
  const Place mine = committed(1);
  const Blob good = *gpu().share(mine.chunk);
  ASSERT_OK(opened(good, 1));
  EXPECT_CODE(opened(Blob(), 1), Code::kInvalidArgument);
  EXPECT_CODE(opened(Blob(good.size()), 1), Code::kInvalidArgument);
  EXPECT_CODE(opened(Blob(good.begin(), good.end() - 1), 1), Code::kInvalidArgument);
  EXPECT_THAT(text(opened(Blob(3), 1)), HasSubstr("3 bytes that do not describe memory"));
  constexpr std::size_t kProcess = 56, kToken = 88, kRest = 120;  // between them: of use with IPC
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    const std::size_t byte = bit / 8;
    if ((byte >= kProcess && byte < kToken) || byte >= kRest) continue;
    Blob bad = good;
    bad[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    const auto refused = opened(bad, 1);
    ASSERT_FALSE(refused) << "bit " << bit;
    EXPECT_FALSE(text(refused).empty());
  }
  const auto size = opened(good, 2);
  EXPECT_CODE(size, Code::kInvalidArgument);
  EXPECT_THAT(text(size), HasSubstr("same WEFT_GPU_HEAP_SIZE"));
  EXPECT_FALSE(cpu_platform().open(good, cpu_platform().reserve(kPage)->range()));
}

TEST_F(GpuTest, OnlyCommittedChunksCanBeShared) {
  const Place mine = committed(1);
  EXPECT_CODE(gpu().share(mine.reserved), Code::kInvalidArgument);
  EXPECT_CODE(gpu().share(Memory()), Code::kInvalidArgument);
  EXPECT_CODE(gpu().share(*gpu().host_visible(1)), Code::kInvalidArgument);
  EXPECT_CODE(gpu().share(*cpu_platform().reserve(kPage)), Code::kInvalidArgument);
  const auto other = opened(*gpu().share(mine.chunk), 1);
  ASSERT_OK(other);
  EXPECT_THAT(text(gpu().share(other->chunk)), HasSubstr("its owner can"));
  EXPECT_THAT(text(gpu().commit(other->chunk.range(), kHints)), HasSubstr("have memory"));
  EXPECT_THAT(text(gpu().open(*gpu().share(mine.chunk), other->chunk.range())),
              HasSubstr("have memory"));
}

TEST_F(GpuTest, AFailureOfShareSaysWhyAndCanBeTriedAgain) {
  const Place mine = committed(1);
  for (const char* function : {kEnter.c_str(), "cuMemExportToShareableHandle"}) {
    const FakeGpuSettings settings("FAIL=" + std::string(function) + ":1:800");
    const auto refused = gpu().share(mine.chunk);
    EXPECT_CODE(refused, Code::kUnsupported);
    EXPECT_THAT(text(refused), HasSubstr("sandbox"));
  }
  EXPECT_OK(gpu().share(mine.chunk));
}

TEST_F(GpuTest, AFailureOfOpenLeavesNothing) {
  const Place mine = committed(1);
  const Blob blob = *gpu().share(mine.chunk);
  ASSERT_OK(opened(blob, 1, 1));
  const Memory reserved = *gpu(1).reserve(kPage);
  const auto before = fake_gpu_live();
  const std::size_t descriptors = test::open_descriptors();
  for (const char* function :
       {kEnter.c_str(), "cuDeviceGetCount", "cuDeviceGetUuid_v2", "cuDeviceCanAccessPeer",
        "cuMemImportFromShareableHandle", "cuMemMap", "cuMemSetAccess"}) {
    {
      const FakeGpuSettings settings("FAIL=" + std::string(function) + ":1:304");
      const auto refused = gpu(1).open(blob, reserved.range());
      EXPECT_FALSE(refused) << function;
      EXPECT_THAT(text(refused), HasSubstr(kSystemError)) << function;
    }
    EXPECT_EQ(fake_gpu_live(), before) << function;
  }
  EXPECT_OK(gpu(1).open(blob, reserved.range()));
  // The server's end of a fetch may close a little later.
  EXPECT_LE(test::open_descriptors(), descriptors + 2);
}

TEST_F(GpuTest, NoDescriptorsStayOpen) {
  const Place keeps_server = committed(1);
  EXPECT_OK(gpu().share(keeps_server.chunk));
  const std::size_t descriptors = test::open_descriptors();
  for (int i = 0; i < 20; ++i) {
    const Place mine = committed(1);
    EXPECT_OK(opened(*gpu().share(mine.chunk), 1, i % 2));
  }
  EXPECT_LE(test::open_descriptors(), descriptors + 2);
}

// --- other ways, each on a GPU of its own, which stays open
// ---------------------------------------

TEST(GpuTestOfWays, FabricHandlesWhereDescriptorsAreRefused) {
  const Place elsewhere = committed(1);
  const Blob descriptor = *gpu().share(elsewhere.chunk);
  const FakeGpuSettings settings("DEVICES=4 WAYS=fabric");
  Platform& by_fabric = gpu(3);
  EXPECT_TRUE(by_fabric.maps_where_told());
  const auto before = fake_gpu_live();
  {
    const Place mine = committed(1, 3);
    EXPECT_OK(write(by_fabric, mine.chunk.base(), {std::byte{7}}));
    const auto other = opened(*by_fabric.share(mine.chunk), 1, 3);
    ASSERT_OK(other);
    EXPECT_NE(other->chunk.base(), mine.chunk.base());
    EXPECT_EQ((*read(by_fabric, other->chunk.base(), 1))[0], std::byte{7});
    EXPECT_CODE(opened(descriptor, 1, 3), Code::kInvalidArgument);
  }
  EXPECT_EQ(fake_gpu_live(), before);
}

// A call that a driver refuses in the trial is refused later: whatever that is, there is a way.
class WithoutSharing : public testing::Test {
 protected:
  static constexpr int kMine = 4, kOther = 5;
  void SetUp() override { gpu(kMine), gpu(kOther); }
  const FakeGpuSettings settings_{kIsHip ? "DEVICES=6 VERSION=60000000" : "DEVICES=6 WAYS=none"};
};

TEST_F(WithoutSharing, OneBlockHasItsMemoryFromTheBeginning) {
  const auto before = fake_gpu_live();
  EXPECT_FALSE(gpu(kMine).maps_where_told());
  {
    const auto space = gpu(kMine).reserve(3 * kPage + 1);
    ASSERT_OK(space);
    EXPECT_EQ(space->bytes(), 4 * kPage);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(space->base()) % kReserveAlign, 0u);
    EXPECT_EQ(fake_gpu_live().bytes, before.bytes + 5 * kPage) << "a page to align";
    const Range where{space->base() + kPage, 2 * kPage};
    for (int again = 0; again < 2; ++again) {
      const auto part = gpu(kMine).commit(where, kHints);
      ASSERT_OK(part);
      EXPECT_EQ(*read(gpu(kMine), where.base, where.bytes), std::vector<std::byte>(where.bytes));
      EXPECT_OK(write(gpu(kMine), where.base, {std::byte{1}}));
      EXPECT_THAT(text(gpu(kMine).commit({where.base + kPage, kPage}, kHints)),
                  HasSubstr("have memory"));
    }
    EXPECT_CODE(gpu(kMine).commit({where.base + 1, kPage}, kHints), Code::kInvalidArgument);
    EXPECT_CODE(gpu(kMine).commit({where.base, 4 * kPage}, kHints), Code::kInvalidArgument);
    EXPECT_THAT(text(gpu(kOther).commit(where, kHints)), HasSubstr("were reserved for GPU 4"));
    EXPECT_CODE(gpu(kMine).share(*space), Code::kInvalidArgument);
  }
  EXPECT_EQ(fake_gpu_live(), before);
  const auto refused = gpu(kMine).reserve(std::size_t{1} << 30);
  EXPECT_CODE(refused, Code::kOutOfMemory);
  EXPECT_THAT(text(refused), HasSubstr("lower WEFT_GPU_HEAP_SIZE"));
  EXPECT_CODE(gpu(kMine).reserve(0), Code::kInvalidArgument);
  EXPECT_CODE(gpu(kMine).reserve(~std::size_t{0}), Code::kInvalidArgument);
}

TEST_F(WithoutSharing, ThreadsUseTheOwnersAddresses) {
  const Memory space = *gpu(kMine).reserve(2 * kPage);
  const Memory part = *gpu(kMine).commit({space.base() + kPage, kPage}, kHints);
  EXPECT_OK(write(gpu(kMine), part.base(), {std::byte{9}}));
  const Blob blob = *gpu(kMine).share(part);
  EXPECT_FALSE(read(gpu(kOther), part.base(), 1)) << "out of reach until it is opened";
  for (const int by : {kMine, kOther, kOther}) {
    const auto other = gpu(by).open(blob, {nullptr, kPage});
    ASSERT_OK(other);
    EXPECT_EQ(other->base(), part.base());
    EXPECT_EQ((*read(gpu(by), other->base(), 1))[0], std::byte{9});
    EXPECT_CODE(gpu(by).share(*other), Code::kInvalidArgument);
  }
  EXPECT_CODE(gpu(kOther).open(blob, {nullptr, 2 * kPage}), Code::kInvalidArgument);
  EXPECT_CODE(gpu(kOther).open(Blob(blob.size()), {nullptr, kPage}), Code::kInvalidArgument);
  const FakeGpuSettings apart("DEVICES=6 NO_PEER=4-5");
  EXPECT_CODE(gpu(kOther).open(blob, {nullptr, kPage}), Code::kUnsupported);
}

TEST_F(WithoutSharing, AllocatedMemoryIsAdoptedAllTheSame) {
  const OwnGpuMemory mine = OwnGpuMemory::allocated(kFake, kMine, kPage);
  const Range own{mine.base() + 32, 1000};
  const auto adopted = gpu(kMine).adopt(own, {});
  ASSERT_OK(adopted);
  const Blob blob = *gpu(kMine).share(*adopted);
  for (const int by : {kMine, kOther, kOther}) {
    const auto peer = gpu(by).open(blob, {nullptr, own.bytes});
    ASSERT_OK(peer);
    expect_shared(gpu(kMine), own, *peer, by);
  }
}

// --- for other devices ---------------------------------------------------------------------------

test::FakeDmabuf contents_of(const Dmabuf& file) {
  test::FakeDmabuf found;
  EXPECT_EQ(::pread(file.file.get(), &found, sizeof found, 0), ssize_t{sizeof found});
  return found;
}

TEST(GpuDmabuf, LeadsToTheMemory) {
  const Place place = committed(2);
  const std::size_t page = 4096;
  const Range parts[] = {place.chunk.range(),
                         {place.chunk.base() + kPage, kPage},
                         {place.chunk.base() + page, page},
                         {place.chunk.base() + page + 24, 100},
                         {place.chunk.base() + 2 * page - 8, 16}};
  for (const Range& part : parts) {
    const auto file = gpu().export_dmabuf(part);
    ASSERT_OK(file);
    const test::FakeDmabuf found = contents_of(*file);
    EXPECT_EQ(found.base + file->offset, reinterpret_cast<std::uintptr_t>(part.base));
    EXPECT_LE(file->offset + part.bytes, found.bytes);
  }
}

TEST(GpuDmabuf, IsAnErrorWhereThereIsNone) {
  const Place place = committed(1);
  std::uint64_t word = 0;
  EXPECT_FALSE(gpu().export_dmabuf({reinterpret_cast<std::byte*>(&word), sizeof word}).is_ok());
  EXPECT_FALSE(gpu().export_dmabuf({place.chunk.base() + kPage, kPage}).is_ok());  // no memory
  EXPECT_THAT(text(cpu_platform().export_dmabuf({nullptr, 0})), HasSubstr("cpu is not exported"));
  const FakeGpuSettings settings("DMABUF=0");
  EXPECT_THAT(
      text(gpu().export_dmabuf(place.chunk.range())),
      AllOf(HasSubstr("cannot export GPU memory as a dmabuf"),
            HasSubstr(said_by("cuMemGetHandleForAddressRange", "hsa_amd_portable_export_dmabuf"))));
}

}  // namespace
}  // namespace weft
