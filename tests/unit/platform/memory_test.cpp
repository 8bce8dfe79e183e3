// reserve and commit in one process.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

#include "src/platform/cpu/available_memory.hpp"
#include "src/platform/platform.hpp"
#include "tests/support/random.hpp"
#include "tests/unit/platform/child.hpp"
#include "tests/support/sanitizer.hpp"

namespace weft {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

constexpr std::size_t kMiB = 1 << 20;
const MemoryHints kHints;

std::size_t page() { return cpu_platform().granularity(); }

// Whether the kernel can read there: no signal, no sanitizer in between.
bool accessible(const std::byte* at) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const UniqueFd read(ends[0]), write(ends[1]);
  return ::write(write.get(), at, 1) == 1;
}

std::size_t resident_pages(Range range) {
  std::vector<unsigned char> pages(range.bytes / page());
  EXPECT_EQ(::mincore(range.base, range.bytes, pages.data()), 0) << std::strerror(errno);
  return static_cast<std::size_t>(
      std::count_if(pages.begin(), pages.end(), [](unsigned char p) { return (p & 1) != 0; }));
}

Memory reserve(std::size_t bytes) {
  auto reserved = cpu_platform().reserve(bytes);
  EXPECT_TRUE(reserved) << reserved.status().to_string();
  return reserved.value_or(Memory());
}

Memory commit(Range where, const MemoryHints& hints = kHints) {
  auto committed = cpu_platform().commit(where, hints);
  EXPECT_TRUE(committed) << committed.status().to_string();
  return committed.value_or(Memory());
}

std::string text(const Status& status) { return std::string(status.text()); }

TEST(CpuMemory, ReservesAddressesOnly) {
  // ThreadSanitizer keeps most addresses for itself.
  const std::size_t large = std::size_t{1} << (kTsan ? 36 : 40);
  for (const std::size_t bytes : {std::size_t{1}, page(), 3 * kMiB + 5, large}) {
    const Memory reserved = reserve(bytes);
    EXPECT_GE(reserved.bytes(), bytes);
    EXPECT_EQ(reserved.bytes() % page(), 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(reserved.base()) % kReserveAlign, 0u);
    EXPECT_FALSE(accessible(reserved.base()));
    EXPECT_FALSE(accessible(reserved.base() + reserved.bytes() - 1));
  }
  EXPECT_FALSE(cpu_platform().reserve(0));
  const auto refused = cpu_platform().reserve(std::size_t{1} << 60);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.status().is(Code::kOutOfMemory));
  EXPECT_THAT(text(refused.status()), HasSubstr("WEFT_HEAP_SIZE"));
  EXPECT_FALSE(cpu_platform().reserve(~std::size_t{0}));
}

TEST(CpuMemory, CommitsZeroedMemoryAndTakesItBack) {
  const Memory reserved = reserve(4 * kMiB);
  const Range where{reserved.base() + page(), 7 * page()};
  for (int again = 0; again < 3; ++again) {
    {
      const Memory chunk = commit(where);
      EXPECT_EQ(chunk.base(), where.base);
      EXPECT_EQ(chunk.bytes(), where.bytes);
      for (std::size_t i = 0; i < where.bytes; ++i) ASSERT_EQ(chunk.base()[i], std::byte{0});
      std::memset(chunk.base(), 0xa5, where.bytes);
      EXPECT_FALSE(accessible(where.base - 1));
      EXPECT_FALSE(accessible(where.base + where.bytes));
    }
    EXPECT_FALSE(accessible(where.base));
    EXPECT_FALSE(accessible(where.base + where.bytes - 1));
  }
}

TEST(CpuMemory, OnlyWholePagesOfAReservationThatHaveNoMemoryYet) {
  const Memory reserved = reserve(kMiB);
  const Memory chunk = commit({reserved.base() + 4 * page(), 4 * page()});
  std::vector<std::byte> stranger(3 * page());
  std::byte* const inside = reinterpret_cast<std::byte*>(
      (reinterpret_cast<std::uintptr_t>(stranger.data()) + page() - 1) / page() * page());
  const std::vector<std::pair<Range, const char*>> wrong = {
      {{reserved.base(), 0}, "whole pages"},
      {{reserved.base() + 1, page()}, "whole pages"},
      {{reserved.base(), page() + 1}, "whole pages"},
      {{inside, page()}, "reserved address space"},
      {{reserved.base(), 2 * kMiB}, "reserved address space"},
      {{reserved.base() + kMiB, page()}, "reserved address space"},
      {{nullptr, page()}, "reserved address space"},
      {{reserved.base() + 4 * page(), page()}, "have memory"},
      {{reserved.base() + 7 * page(), 2 * page()}, "have memory"},
      {{reserved.base() + 3 * page(), 2 * page()}, "have memory"},
      {{reserved.base(), kMiB}, "have memory"},
  };
  chunk.base()[0] = std::byte{9};
  for (const auto& [where, why] : wrong) {
    const auto refused = cpu_platform().commit(where, kHints);
    ASSERT_FALSE(refused) << why;
    EXPECT_TRUE(refused.status().is(Code::kInvalidArgument));
    EXPECT_THAT(text(refused.status()), HasSubstr(why));
  }
  EXPECT_EQ(chunk.base()[0], std::byte{9});
  commit({reserved.base() + 3 * page(), page()});
  commit({reserved.base() + 8 * page(), page()});
}

TEST(CpuMemory, AChunkKeepsItsReservation) {
  Memory chunk;
  std::byte* base = nullptr;
  {
    const Memory reserved = reserve(kMiB);
    base = reserved.base();
    chunk = commit({base, page()});
  }
  EXPECT_TRUE(accessible(base));
  const Memory other = reserve(kMiB);  // cannot be given the same addresses
  EXPECT_NE(other.base(), base);
  chunk = Memory();
  EXPECT_FALSE(cpu_platform().commit({base, page()}, kHints)) << "the reservation is gone";
}

TEST(CpuMemory, AGibibyteCostsNothingUntilTouched) {
  const Memory reserved = reserve(std::size_t{16} << 30);
  const Memory chunk = commit({reserved.base(), std::size_t{1} << 30});
  EXPECT_EQ(resident_pages(chunk.range()), 0u);
  chunk.base()[512 * kMiB] = std::byte{1};
  EXPECT_GE(resident_pages(chunk.range()), 1u);
  EXPECT_LE(resident_pages(chunk.range()), 512u) << "one page, or one huge page";
}

TEST(CpuMemory, RefusesWhatTheMachineCannotHold) {
  const std::size_t bytes = 4 * std::bit_ceil(cpu::available_memory().most / 2 + 1);
  auto reserved = cpu_platform().reserve(bytes);
  if (!reserved) GTEST_SKIP() << "no such address space: " << reserved.status().to_string();
  const auto refused = cpu_platform().commit(reserved->range(), kHints);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.status().is(Code::kOutOfMemory));
  EXPECT_THAT(text(refused.status()), HasSubstr(cpu::show_bytes(bytes) + " of memory asked for"));
  EXPECT_THAT(text(refused.status()), HasSubstr("available ("));
  EXPECT_FALSE(accessible(reserved->base()));
  MemoryHints little = kHints;
  little.needed_bytes = kMiB;
  const auto granted = cpu_platform().commit(reserved->range(), little);
  ASSERT_TRUE(granted) << "only what is needed counts: " << granted.status().to_string();
  granted->base()[0] = std::byte{1};
}

TEST(CpuMemory, HugePagesAreThereOrTheErrorSaysHowToGetThem) {
  MemoryHints needed;
  needed.huge_pages_needed = true;
  const Memory reserved = reserve(16 * kMiB);
  const auto got = cpu_platform().commit({reserved.base(), 8 * kMiB}, needed);
  if (got) {
    got->base()[0] = std::byte{1};
    EXPECT_GE(resident_pages(got->range()), 1u);
  } else {
    EXPECT_TRUE(got.status().is(Code::kUnsupported));
    EXPECT_THAT(text(got.status()), HasSubstr("shmem_enabled"));
    EXPECT_THAT(text(got.status()), HasSubstr("WEFT_HUGE_PAGES=auto"));
    EXPECT_FALSE(accessible(reserved.base())) << "a failed commit leaves nothing";
  }
  const auto small = cpu_platform().commit({reserved.base() + 8 * kMiB, kMiB}, needed);
  ASSERT_FALSE(small);
  EXPECT_THAT(text(small.status()), HasSubstr("smaller than a huge page"));
}

TEST(CpuMemory, HostVisibleIsZeroed) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{4097}, kMiB}) {
    const auto memory = cpu_platform().host_visible(bytes);
    ASSERT_TRUE(memory);
    EXPECT_EQ(memory->bytes(), bytes);
    for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(memory->base()[i], std::byte{0});
    std::memset(memory->base(), 1, bytes);
  }
  EXPECT_FALSE(cpu_platform().host_visible(0));
  EXPECT_FALSE(cpu_platform().host_visible(std::size_t{1} << 60));
}

TEST(CpuMemory, LeavesNothingBehind) {
  const auto names = [] {
    std::vector<std::string> found;
    for (const char* folder : {"/dev/shm", "/tmp"}) {
      for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const std::string name = entry.path().filename();
        if (name.find("weft-heap") != std::string::npos) found.push_back(name);
      }
    }
    return found;
  };
  EXPECT_TRUE(names().empty());
  const auto round = [&] {
    const Memory reserved = reserve(8 * kMiB);
    const Memory first = commit({reserved.base(), kMiB});
    const Memory second = commit({reserved.base() + 3 * kMiB, kMiB});
    first.base()[0] = second.base()[0] = std::byte{1};
    EXPECT_TRUE(cpu_platform().share(first));
    EXPECT_TRUE(names().empty());
  };
  round();
  const std::size_t descriptors = test::open_descriptors();
  const std::size_t maps = test::mappings();
  for (int i = 0; i < 50; ++i) round();
  EXPECT_EQ(test::open_descriptors(), descriptors);
  if (!kTsan) {  // which maps something for each new thread
    EXPECT_LT(test::mappings(), maps + 25) << "less than one for two rounds";
  }
}

TEST(CpuMemory, ThreadsMayCommitInOneReservation) {
  const Memory reserved = reserve(64 * kMiB);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const Memory chunk = commit({reserved.base() + t * 16 * kMiB, 4 * page()});
        ASSERT_EQ(chunk.base()[5], std::byte{0});
        chunk.base()[5] = std::byte{1};
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// --- limits of the process: in a child, which lowers its own --------------------------------

TEST(CpuMemory, OutOfDescriptorsIsAnError) {
  const Memory reserved = reserve(kMiB);
  test::Child child([&](const test::Line&) -> bool {
    const rlimit few{test::open_descriptors(), test::open_descriptors()};
    ::setrlimit(RLIMIT_NOFILE, &few);
    std::vector<UniqueFd> all;
    while (const int fd = ::dup(2)) {
      if (fd < 0) break;
      all.emplace_back(fd);
    }
    const auto refused = cpu_platform().commit({reserved.base(), page()}, kHints);
    bool well = test::expect(!refused, "a chunk without a descriptor");
    well &= test::expect(text(refused.status()).find("ulimit -n") != std::string::npos,
                         refused.status().to_string());
    all.clear();
    return well && test::expect(bool(cpu_platform().commit({reserved.base(), page()}, kHints)),
                                "the second try");
  });
  EXPECT_TRUE(child.wait());
}

TEST(CpuMemory, OutOfAddressSpaceIsAnError) {
  if (kAsan || kTsan) GTEST_SKIP() << "sanitizers need all the address space";
  test::Child child([&](const test::Line&) -> bool {
    const rlimit small{std::size_t{1} << 30, std::size_t{1} << 30};
    ::setrlimit(RLIMIT_AS, &small);
    const auto refused = cpu_platform().reserve(std::size_t{4} << 30);
    bool well = test::expect(!refused, "4 GiB of addresses within 1 GiB");
    well &= test::expect(text(refused.status()).find("ulimit -v") != std::string::npos,
                         refused.status().to_string());
    return well && test::expect(bool(cpu_platform().reserve(kMiB)), "a small reservation");
  });
  EXPECT_TRUE(child.wait());
}

TEST(CpuMemory, FileSizeLimitIsAnError) {
  const Memory reserved = reserve(8 * kMiB);
  test::Child child([&](const test::Line&) -> bool {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{kMiB, kMiB};
    ::setrlimit(RLIMIT_FSIZE, &small);
    const auto refused = cpu_platform().commit({reserved.base(), 4 * kMiB}, kHints);
    bool well = test::expect(!refused, "4 MiB in files of at most 1 MiB");
    return well && test::expect(text(refused.status()).find("ulimit -f") != std::string::npos,
                                refused.status().to_string());
  });
  EXPECT_TRUE(child.wait());
}

}  // namespace
}  // namespace weft
