#include "host/memory/heap.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <future>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "host/memory/poison.hpp"
#include "tests/support/idle_platform.hpp"
#include "tests/support/random.hpp"

namespace weft {
namespace {

using testing::HasSubstr;

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;

Options sized(std::size_t heap, std::size_t chunk) {
  Options options;
  options.heap_size = heap;
  options.heap_chunk = chunk;
  return options;
}

std::unique_ptr<Heap> make(std::size_t heap = 4 * kMiB, std::size_t chunk = 64 * kKiB) {
  auto made = Heap::create(cpu_platform(), host_heap(sized(heap, chunk)));
  EXPECT_TRUE(made) << made.status().to_string();
  return std::move(made).value();
}

std::byte* take(Heap& heap, std::size_t bytes, std::size_t align = 0) {
  const auto memory = heap.allocate(bytes, align);
  EXPECT_TRUE(memory) << memory.status().to_string();
  return memory ? static_cast<std::byte*>(*memory) : nullptr;
}

std::string text(const Status& status) { return std::string(status.text()); }

TEST(Heap, IsAddressSpaceUntilTheFirstAllocation) {
  const auto heap = make(std::size_t{16} << 30, 256 * kMiB);
  EXPECT_EQ(heap->committed(), 0u);
  EXPECT_EQ(heap->range().bytes, std::size_t{16} << 30);
  int growths = 0;
  heap->on_growth([&](std::uint64_t offset, const Result<Memory>& chunk) {
    ++growths;
    EXPECT_EQ(offset, 0u);
    EXPECT_TRUE(chunk);
    EXPECT_EQ(chunk->base(), heap->range().base);
    EXPECT_EQ(chunk->bytes(), 256 * kMiB);
    return Status::ok();
  });
  std::memset(take(*heap, 100), 1, 100);
  EXPECT_EQ(growths, 1);
  EXPECT_EQ(heap->committed(), 256 * kMiB);
}

TEST(Heap, GrowsByChunksAndByWhatALargeRequestNeeds) {
  const auto heap = make();
  std::vector<std::pair<std::uint64_t, std::size_t>> chunks;
  heap->on_growth([&](std::uint64_t offset, const Result<Memory>& chunk) {
    chunks.emplace_back(offset, chunk->bytes());
    return Status::ok();
  });
  take(*heap, 60 * kKiB);
  take(*heap, 64 * kKiB);        // 4 KiB are left at the end, so 60 KiB are missing: one chunk
  take(*heap, 1000 * kKiB + 1);  // larger than a chunk; uses the free end, rounded to pages
  using Pair = std::pair<std::uint64_t, std::size_t>;
  EXPECT_THAT(chunks, testing::ElementsAre(Pair(0, 64 * kKiB), Pair(64 * kKiB, 64 * kKiB),
                                           Pair(128 * kKiB, 1000 * kKiB)));
  EXPECT_EQ(heap->committed(), 1128 * kKiB);
}

TEST(Heap, EverythingIsWritableAndApart) {
  const std::uint64_t seed = test_seed();
  std::mt19937_64 random(seed);
  const auto heap = make(8 * kMiB, 64 * kKiB);
  std::map<std::byte*, std::pair<std::size_t, int>> live;
  for (int step = 0; step < 3000; ++step) {
    if (random() % 3 != 0) {
      const std::size_t bytes = 1 + random() % (random() % 50 == 0 ? 300 * kKiB : 900);
      const std::size_t align = std::size_t{1} << random() % 17;
      const auto memory = heap->allocate(bytes, align);
      if (!memory) {
        ASSERT_TRUE(memory.status().is(Code::kOutOfMemory)) << memory.status().to_string();
        continue;
      }
      auto* const at = static_cast<std::byte*>(*memory);
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(at) % std::max<std::size_t>(align, 64), 0u);
      const int fill = static_cast<int>(random() % 255);
      std::memset(at, fill, bytes);
      live[at] = {bytes, fill};
    } else if (!live.empty()) {
      auto victim = live.begin();
      std::advance(victim, static_cast<std::ptrdiff_t>(random() % live.size()));
      const auto& [at, facts] = *victim;
      ASSERT_EQ(heap->size_of(at).value_or(0), facts.first);
      const std::vector<std::byte> expected(facts.first, static_cast<std::byte>(facts.second));
      ASSERT_EQ(std::memcmp(at, expected.data(), facts.first), 0) << "written by another block";
      ASSERT_TRUE(heap->free(at));
      live.erase(victim);
    }
  }
  for (const auto& [at, facts] : live) ASSERT_TRUE(heap->free(at));
  EXPECT_EQ(heap->in_use(), 0u);
}

TEST(Heap, TheSameCallsGiveTheSameOffsets) {
  const std::uint64_t seed = test_seed();
  std::vector<std::vector<std::uint64_t>> offsets(2);
  for (auto& mine : offsets) {
    std::mt19937_64 random(seed);
    const auto heap = make(8 * kMiB, 64 * kKiB);
    std::vector<std::byte*> live;
    for (int step = 0; step < 1000; ++step) {
      if (random() % 3 != 0 || live.empty()) {
        const std::size_t bytes = 1 + random() % 3000;
        const auto memory = heap->allocate(bytes, std::size_t{1} << random() % 12);
        mine.push_back(memory ? to_u64(*heap->offset_of(*memory, 1)) : Heap::kNoOffset);
        if (memory) live.push_back(static_cast<std::byte*>(*memory));
      } else {
        std::swap(live[random() % live.size()], live.back());
        ASSERT_TRUE(heap->free(live.back()));
        live.pop_back();
      }
    }
  }
  EXPECT_EQ(offsets[0], offsets[1]);
}

TEST(Heap, AlignsUpToTwoMiB) {
  const auto heap = make(32 * kMiB, 64 * kKiB);
  take(*heap, 1);
  for (std::size_t align = 1; align <= Heap::kMaxAlign; align *= 2) {
    const auto address = reinterpret_cast<std::uintptr_t>(take(*heap, 3, align));
    EXPECT_EQ(address % align, 0u) << align;
  }
  for (const std::size_t bad : {std::size_t{3}, std::size_t{65}, 4 * kMiB, ~std::size_t{0}}) {
    const auto refused = heap->allocate(1, bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_TRUE(refused.status().is(Code::kInvalidArgument));
    EXPECT_THAT(text(refused.status()), HasSubstr("power of two and at most 2097152"));
  }
}

TEST(Heap, NothingIsNull) {
  const auto heap = make();
  const auto nothing = heap->allocate(0, 0);
  ASSERT_TRUE(nothing);
  EXPECT_EQ(*nothing, nullptr);
  EXPECT_EQ(heap->committed(), 0u);
  EXPECT_TRUE(heap->free(nullptr));
}

TEST(Heap, FullSaysHowFullAndHowToMendIt) {
  const auto heap = make(1 * kMiB, 64 * kKiB);
  std::byte* const half = take(*heap, 512 * kKiB);
  for (const std::size_t bytes : {513 * kKiB, 2 * kMiB, ~std::size_t{0}, ~std::size_t{0} - 4096}) {
    const auto refused = heap->allocate(bytes, 0);
    ASSERT_FALSE(refused) << bytes;
    EXPECT_TRUE(refused.status().is(Code::kOutOfMemory));
    EXPECT_THAT(text(refused.status()), HasSubstr(std::to_string(bytes) + " bytes asked for"));
    EXPECT_THAT(text(refused.status()), HasSubstr("524288 in use, 524288 committed"));
    EXPECT_THAT(text(refused.status()), HasSubstr("1048576 at most (WEFT_HEAP_SIZE)"));
  }
  EXPECT_EQ(heap->committed(), 512 * kKiB) << "a failure changes nothing";
  take(*heap, 512 * kKiB);  // the last byte can be had
  EXPECT_FALSE(heap->allocate(1, 0));
  EXPECT_TRUE(heap->free(half));
  take(*heap, 512 * kKiB);
}

TEST(Heap, AChunkThatFailsForAPeerIsGivenBack) {
  const auto heap = make();
  bool fail = true;
  int calls = 0;
  heap->on_growth([&](std::uint64_t, const Result<Memory>& chunk) {
    ++calls;
    EXPECT_TRUE(chunk);
    return fail ? Status::error(Code::kPeerLost, "PE 3 could not map it") : Status::ok();
  });
  const auto refused = heap->allocate(100, 0);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.status().is(Code::kPeerLost));
  EXPECT_EQ(text(refused.status()), "PE 3 could not map it");
  EXPECT_EQ(heap->committed(), 0u);
  EXPECT_EQ(heap->in_use(), 0u);
  EXPECT_FALSE(heap->offset_of(heap->range().base, 1));

  fail = false;  // the same range can be had again
  std::byte* const memory = take(*heap, 100);
  EXPECT_EQ(memory, heap->range().base);
  std::memset(memory, 7, 100);
  EXPECT_EQ(calls, 2);

  fail = true;  // a later chunk: the first one is as it was
  EXPECT_FALSE(heap->allocate(100 * kKiB, 0));
  EXPECT_EQ(heap->committed(), 64 * kKiB);
  EXPECT_EQ(memory[99], std::byte{7});
  EXPECT_TRUE(heap->allocate(1, 0));
}

// --- adopted memory ------------------------------------------------------------------------------

TEST(Heap, AdoptedMemoryHasOffsetsBehindTheHeap) {
  const std::size_t page = cpu_platform().granularity();
  const auto heap = make();
  const Memory own = *cpu_platform().host_visible(4 * page);
  std::memset(own.base(), 7, page + 1);
  std::vector<std::uint64_t> announced;
  heap->on_growth([&](std::uint64_t offset, const Result<Memory>& chunk) {
    EXPECT_TRUE(chunk);
    announced.push_back(offset);
    return Status::ok();
  });
  ASSERT_TRUE(heap->adopt({own.base() + 2 * page, page}).is_ok());
  ASSERT_TRUE(heap->adopt({own.base(), 2 * page}).is_ok());
  const std::uint64_t begin = heap->range().bytes;
  EXPECT_THAT(announced, testing::ElementsAre(begin, begin + page));
  EXPECT_EQ(heap->try_offset(own.base() + 2 * page, page), begin);
  EXPECT_EQ(heap->try_offset(own.base(), 1), begin + page);
  // One piece lies before the other in memory and behind it in offsets: no range spans both.
  EXPECT_EQ(heap->try_offset(own.base() + 2 * page - 1, 2), Heap::kNoOffset);
  EXPECT_EQ(heap->try_offset(own.base() + 3 * page, 1), Heap::kNoOffset);
  // Two views of one memory, its contents kept.
  std::byte* const view = heap->space().base + begin + page;
  EXPECT_EQ(view[page], std::byte{7});
  EXPECT_EQ(view[page + 1], std::byte{0});
  view[5] = std::byte{8};
  EXPECT_EQ(own.base()[5], std::byte{8});
  EXPECT_TRUE(heap->check_live(own.base(), 2 * page).is_ok());
  EXPECT_THAT(text(heap->free(own.base())), HasSubstr("is not in the symmetric heap"));
  EXPECT_EQ(heap->in_use(), 0u);
}

TEST(Heap, AdoptedMemoryIsPrivateAgainWhenTheHeapGoes) {
  const std::size_t page = cpu_platform().granularity();
  const Memory own = *cpu_platform().host_visible(page);
  for (int round = 1; round <= 3; ++round) {
    const auto heap = make();
    ASSERT_TRUE(heap->adopt({own.base(), page}).is_ok());
    EXPECT_FALSE(make()->adopt({own.base(), page}).is_ok());  // by another one meanwhile
    heap->space().base[heap->range().bytes] = static_cast<std::byte>(round);
    EXPECT_EQ(own.base()[0], static_cast<std::byte>(round));
  }
  EXPECT_EQ(own.base()[0], std::byte{3});
}

TEST(Heap, AFailedAdoptionLeavesRoomForAnother) {
  const std::size_t page = cpu_platform().granularity();
  const auto heap = make();
  const Memory own = *cpu_platform().host_visible(page);
  own.base()[9] = std::byte{9};
  heap->on_growth([&](std::uint64_t, const Result<Memory>&) {
    return Status::error(Code::kPeerLost, "PE 1 could not");
  });
  EXPECT_FALSE(heap->adopt({own.base(), page}).is_ok());
  EXPECT_TRUE(heap->adopted().empty());
  EXPECT_EQ(heap->try_offset(own.base(), 1), Heap::kNoOffset);
  heap->on_growth(nullptr);
  EXPECT_TRUE(heap->adopt({own.base(), page}).is_ok());
  EXPECT_EQ(heap->try_offset(own.base(), 1), heap->range().bytes);
  EXPECT_EQ(own.base()[9], std::byte{9});
}

// A platform that leaves adopted memory where it is, as GPUs' do, and lends address space.
class InPlacePlatform final : public test::IdlePlatform {
 public:
  bool adopts_where_told() const override { return false; }
  Result<Memory> reserve(std::size_t bytes) override { return cpu_platform().reserve(bytes); }
  Result<Memory> adopt(Range own, Range where) override {
    EXPECT_EQ(where.base, nullptr);
    return Memory(own, held);
  }
  std::shared_ptr<int> held = std::make_shared<int>(0);
};

TEST(Heap, PiecesThatStayWhereTheyAreComeAndGo) {
  InPlacePlatform platform;
  const auto heap = *Heap::create(platform, host_heap(sized(kMiB, kMiB)));
  alignas(16) static std::byte own[4096];
  std::byte* const table[1] = {};
  ASSERT_TRUE(heap->adopt({own, 100}, table).is_ok());
  ASSERT_TRUE(heap->adopt({own + 112, 200}).is_ok());
  const AdoptedRange* const first = heap->piece_of(own + 99, 1);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->peer, table);
  EXPECT_EQ(heap->try_offset(own + 5, 95), first->offset + 5);
  const std::uint64_t second = heap->try_offset(own + 112, 200);
  EXPECT_GE(second, first->offset + 100);
  EXPECT_EQ(second % 16, 0u) << "words lie in offsets as they do in memory";
  EXPECT_THAT(text(heap->adopt({own + 96, 16})), HasSubstr("overlap 100 bytes"));
  EXPECT_THAT(text(heap->adopt({own + 300, 300})), HasSubstr("overlap 200 bytes"));
  EXPECT_EQ(platform.held.use_count(), 3);
  heap->disown(*first);
  EXPECT_EQ(platform.held.use_count(), 2);
  EXPECT_EQ(heap->try_offset(own, 0), Heap::kNoOffset);
  EXPECT_EQ(heap->try_offset(own, 1), Heap::kNoOffset);
  EXPECT_FALSE(heap->may_hold(nullptr));
  EXPECT_EQ(heap->try_offset(own + 112, 200), second);
  // Its place among the pieces is used again, its offsets are not.
  ASSERT_TRUE(heap->adopt({own, 16}).is_ok());
  EXPECT_EQ(heap->adopted().size(), 2u);
  EXPECT_GT(heap->try_offset(own, 16), second);
}

// A platform that has no memory left.
class EmptyPlatform final : public test::IdlePlatform {
 public:
  std::size_t granularity() const override { return cpu_platform().granularity(); }
  Result<Memory> reserve(std::size_t bytes) override { return cpu_platform().reserve(bytes); }
  Result<Memory> commit(Range, const MemoryHints&) override {
    return Status::error(Code::kOutOfMemory, "nothing left on this host");
  }
};

TEST(Heap, ThePeersHearOfAFailedCommit) {
  EmptyPlatform platform;
  auto heap = Heap::create(platform, host_heap(sized(kMiB, 64 * kKiB)));
  ASSERT_TRUE(heap);
  bool heard = false;
  (*heap)->on_growth([&](std::uint64_t offset, const Result<Memory>& chunk) {
    heard = true;
    EXPECT_EQ(offset, 0u);
    EXPECT_FALSE(chunk);
    EXPECT_EQ(text(chunk.status()), "nothing left on this host");
    return Status::ok();  // even if nobody minded, there is no memory
  });
  const auto refused = (*heap)->allocate(1, 0);
  EXPECT_TRUE(heard);
  ASSERT_FALSE(refused);
  EXPECT_EQ(text(refused.status()), "nothing left on this host");
  EXPECT_EQ((*heap)->committed(), 0u);
}

TEST(Heap, FreeSaysWhatIsWrong) {
  const auto heap = make();
  std::byte* const memory = take(*heap, 1000);
  int local = 0;
  const Status foreign = heap->free(&local);
  EXPECT_TRUE(foreign.is(Code::kNotSymmetric));
  EXPECT_THAT(text(foreign), HasSubstr("not in the symmetric heap"));

  const Status interior = heap->free(memory + 10);
  EXPECT_TRUE(interior.is(Code::kInvalidArgument));
  EXPECT_THAT(text(interior), HasSubstr("lies 10 bytes inside an allocation of 1000 bytes"));

  EXPECT_TRUE(heap->free(memory));
  const Status twice = heap->free(memory);
  EXPECT_TRUE(twice.is(Code::kInvalidArgument));
  EXPECT_THAT(text(twice), HasSubstr("not allocated; was it freed before?"));
  EXPECT_FALSE(heap->size_of(memory));

  const Status uncommitted = heap->free(heap->range().base + 2 * kMiB);
  EXPECT_TRUE(uncommitted.is(Code::kNotSymmetric));
  EXPECT_FALSE(heap->free(heap->range().base + heap->committed()));
}

TEST(Heap, RangesAreCheckedToTheByte) {
  const auto heap = make();
  std::byte* const base = take(*heap, 64 * kKiB);
  const std::size_t end = heap->committed();
  EXPECT_EQ(to_u64(*heap->offset_of(base, end)), 0u);
  EXPECT_EQ(to_u64(*heap->offset_of(base + 1, end - 1)), 1u);
  EXPECT_EQ(to_u64(*heap->offset_of(base + end, 0)), end);

  const auto past = heap->offset_of(base + 1, end);
  ASSERT_FALSE(past);
  EXPECT_TRUE(past.status().is(Code::kOutOfRange));
  EXPECT_THAT(text(past.status()), HasSubstr("65536 bytes at "));
  EXPECT_THAT(text(past.status()), HasSubstr("(heap offset 0x1) run past the end"));

  int local = 0;
  for (const void* address :
       {static_cast<const void*>(nullptr), static_cast<const void*>(&local),
        static_cast<const void*>(base - 1), static_cast<const void*>(base + end + 1)}) {
    const auto outside = heap->offset_of(address, 4);
    ASSERT_FALSE(outside) << address;
    EXPECT_TRUE(outside.status().is(Code::kNotSymmetric));
    EXPECT_EQ(heap->try_offset(address, 4), Heap::kNoOffset);
  }
  for (const std::size_t huge : {~std::size_t{0}, ~std::size_t{0} - end, std::size_t{1} << 63}) {
    EXPECT_EQ(heap->try_offset(base + 64, huge), Heap::kNoOffset) << huge;
  }
}

TEST(Heap, CheckLiveNamesWhatIsWrong) {
  const auto heap = make();
  std::byte* const first = take(*heap, 100);
  std::byte* const second = take(*heap, 100);
  EXPECT_TRUE(heap->check_live(first, 100));
  EXPECT_TRUE(heap->check_live(first + 99, 1));
  EXPECT_TRUE(heap->check_live(first + 50, 0));
  const Status over = heap->check_live(first + 90, 20);
  EXPECT_TRUE(over.is(Code::kInvalidArgument));
  EXPECT_THAT(text(over), HasSubstr("run 10 bytes past the end of the allocation"));
  EXPECT_FALSE(heap->check_live(first, static_cast<std::size_t>(second - first) + 1));
  EXPECT_TRUE(heap->free(second));
  const Status freed = heap->check_live(second, 1);
  EXPECT_TRUE(freed.is(Code::kInvalidArgument));
  EXPECT_THAT(text(freed), HasSubstr("not allocated; was it freed?"));
  EXPECT_TRUE(heap->check_live(heap->range().base + 3 * kMiB, 1).is(Code::kNotSymmetric));
}

// A thread that checks a range while another one grows the heap: no wait for the exchange, no race.
TEST(Heap, ChecksGoOnWhileItGrows) {
  const auto heap = make();
  std::byte* const memory = take(*heap, 100);
  std::promise<void> growing, checked;
  heap->on_growth([&](std::uint64_t, const Result<Memory>&) {
    growing.set_value();
    checked.get_future().wait();
    return Status::ok();
  });
  std::thread grower([&] { EXPECT_TRUE(heap->allocate(200 * kKiB, 0)); });
  growing.get_future().wait();
  EXPECT_TRUE(heap->check_live(memory, 100));
  EXPECT_TRUE(heap->size_of(memory));
  EXPECT_EQ(heap->try_offset(memory, 100), 0u);
  EXPECT_EQ(heap->in_use(), 128u);
  checked.set_value();
  grower.join();
}

TEST(Heap, ThreadsMayAllocateAndAsk) {
  const auto heap = make(16 * kMiB, 64 * kKiB);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&heap, t] {
      for (std::size_t i = 1; i < 200; ++i) {
        std::byte* const memory = take(*heap, i * 37);
        std::memset(memory, t, i * 37);
        EXPECT_NE(heap->try_offset(memory, i * 37), Heap::kNoOffset);
        EXPECT_TRUE(heap->check_live(memory, i * 37));
        EXPECT_EQ(memory[i * 37 - 1], static_cast<std::byte>(t));
        EXPECT_TRUE(heap->free(memory));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(heap->in_use(), 0u);
}

TEST(Heap, RefusesHugePagesItCannotHaveOnlyWhenTheyAreNeeded) {
  Options options = sized(8 * kMiB, 64 * kKiB);
  options.huge_pages = "on";  // and a chunk that is smaller than one
  const auto heap = Heap::create(cpu_platform(), host_heap(options));
  ASSERT_TRUE(heap);
  const auto refused = (*heap)->allocate(1, 0);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.status().is(Code::kUnsupported));
  EXPECT_THAT(text(refused.status()), HasSubstr("WEFT_HEAP_CHUNK"));
  options.huge_pages = "off";
  EXPECT_TRUE((*Heap::create(cpu_platform(), host_heap(options)))->allocate(1, 0));
}

#ifdef WEFT_HEAP_POISON
TEST(Heap, AddressSanitizerSeesWhatIsNotAllocated) {
  const auto heap = make();
  const auto poisoned = [](const std::byte* at) { return __asan_address_is_poisoned(at) != 0; };
  std::byte* const memory = take(*heap, 100);
  EXPECT_FALSE(poisoned(memory));
  EXPECT_FALSE(poisoned(memory + 99));
  EXPECT_TRUE(poisoned(memory + 100)) << "the rest of the granule";
  EXPECT_TRUE(heap->free(memory));
  EXPECT_TRUE(poisoned(memory));
  EXPECT_EQ(take(*heap, 40), memory);
  EXPECT_FALSE(poisoned(memory + 39));
  EXPECT_TRUE(poisoned(memory + 40));
}
#endif

}  // namespace
}  // namespace weft
