// The symmetric heap as a job sees it: same offsets, growth, failures that are the same on all PEs,
// and arguments that are wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <map>
#include <vector>

#include <weft/weft.hpp>

#include "src/base/status.hpp"
#include "tests/multi_pe/values.hpp"
#include "tests/support/pe_group.hpp"
#include "tests/support/random.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Options small_chunks() {
  Options options;
  options.heap_size = 16 << 20;
  options.heap_chunk = 64 << 10;
  return options;
}

// The text of a failure; "" if there is none.
template <class T>
std::string text_of(const T& result) {
  return std::string(status_of(result).text());
}

class HeapTest : public ::testing::TestWithParam<PeGroup> {};

// A random walk that all PEs take alike: every block has the same offset everywhere, whichever
// chunk it lies in, and keeps what a neighbour has put there.
TEST_P(HeapTest, GrowsAlikeEverywhere) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(auto* const base, rt.callocate<std::byte>(8));
    ASSIGN_OR_RETURN(auto* const offsets,
                     rt.allocate<std::int64_t>(static_cast<std::size_t>(rt.npes())));
    Random random(test_seed());  // the same on all PEs
    struct Block {
      std::byte* memory;
      std::size_t bytes;
      std::byte mark;
    };
    std::vector<Block> live;
    const int next = (rt.pe() + 1) % rt.npes();
    for (int step = 0; step < 120; ++step) {
      if (!live.empty() && random() % 3 == 0) {
        const std::size_t victim = random() % live.size();
        RETURN_IF_ERROR(rt.barrier());  // nobody uses it any more
        const Block& block = live[victim];
        EXPECT_EQ(std::count(block.memory, block.memory + block.bytes, block.mark),
                  static_cast<std::ptrdiff_t>(block.bytes));
        RETURN_IF_ERROR(rt.free(block.memory));
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(victim));
        continue;
      }
      const std::size_t bytes = 1 + random() % (random() % 10 == 0 ? 300'000 : 5'000);
      const std::size_t align = std::size_t{1} << random() % 13;
      ASSIGN_OR_RETURN(void* const memory, rt.allocate_bytes(bytes, align));
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % align, 0u);
      const auto mark = static_cast<std::byte>(step);
      live.push_back({static_cast<std::byte*>(memory), bytes, mark});
      // My offset to PE 0, and my mark into the neighbour's block.
      const std::int64_t offset = live.back().memory - base;
      RETURN_IF_ERROR(rt.context().p(offsets + rt.pe(), offset, 0));
      RETURN_IF_ERROR(rt.barrier());
      const std::vector<std::byte> marks(bytes, mark);
      RETURN_IF_ERROR(rt.context().put(live.back().memory, marks.data(), bytes, next));
      for (int pe = 0; rt.pe() == 0 && pe < rt.npes(); ++pe) EXPECT_EQ(offsets[pe], offset);
      RETURN_IF_ERROR(rt.barrier());
    }
    return rt.barrier();
  }));
}

// Full: every PE is told, nothing is lost, and what is freed can be had again.
TEST_P(HeapTest, FullHeapFailsAlike) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    std::vector<void*> blocks;
    Status full;
    while (blocks.size() < 1000) {
      auto block = rt.allocate_bytes(1 << 20);
      if (!block) {
        full = block.status();
        break;
      }
      blocks.push_back(*block);
    }
    EXPECT_CODE(full, Code::kOutOfMemory);
    EXPECT_THAT(text_of(full), AllOf(HasSubstr("1048576"), HasSubstr("WEFT_HEAP_SIZE")));
    EXPECT_GE(blocks.size(), 10u);
    auto small = rt.allocate_bytes(64);  // small ones still fit
    EXPECT_OK(small);
    EXPECT_CODE(rt.allocate_bytes(std::size_t{1} << 60), Code::kOutOfMemory);
    for (void* const block : blocks) RETURN_IF_ERROR(rt.free(block));
    for (void*& block : blocks) {
      ASSIGN_OR_RETURN(block, rt.allocate_bytes(1 << 20));
    }
    for (void* const block : blocks) RETURN_IF_ERROR(rt.free(block));
    return rt.barrier();
  }));
}

// One process cannot get memory: the chunk fails on all, with its name; later it works, and the
// offsets still agree.
TEST(HeapFailure, OnePeWithoutMemoryFailsAllAlike) {
  const PeGroup group{Pes::kProcesses, 3, small_chunks(), {}};
  EXPECT_OK(run_pes(group, [](Runtime& rt) -> Status {
    rlimit before{};
    if (rt.pe() == 1) {
      std::signal(SIGXFSZ, SIG_IGN);
      getrlimit(RLIMIT_FSIZE, &before);
      rlimit none = before;
      none.rlim_cur = 4096;
      setrlimit(RLIMIT_FSIZE, &none);
    }
    auto failed = rt.allocate_bytes(5 << 20);
    if (rt.pe() == 1) setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_FALSE(failed.is_ok()) << "PE " << rt.pe();
    if (rt.pe() != 1) {
      EXPECT_THAT(text_of(failed), HasSubstr("PE 1"));
    }
    ASSIGN_OR_RETURN(auto* const words, rt.callocate<std::uint64_t>(1 << 18));
    const int next = (rt.pe() + 1) % rt.npes();
    RETURN_IF_ERROR(rt.context().signal(set(words + (1 << 18) - 1, 5), next));
    return signal_wait_until(rt.context(), words + (1 << 18) - 1, Cmp::kEq, 5).status();
  }));
}

TEST_P(HeapTest, CallocateZeroesUsedMemory) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    for (const std::size_t bytes : {1u, 64u, 1000u, 200'000u}) {
      ASSIGN_OR_RETURN(void* const dirty, rt.allocate_bytes(bytes));
      poison_bytes(dirty, bytes);
      RETURN_IF_ERROR(rt.free(dirty));
      ASSIGN_OR_RETURN(void* const clean, rt.callocate_bytes(bytes, 1));
      const auto* const first = static_cast<const char*>(clean);
      EXPECT_EQ(std::count(first, first + bytes, 0), static_cast<std::ptrdiff_t>(bytes));
      RETURN_IF_ERROR(rt.free(clean));
    }
    ASSIGN_OR_RETURN(void* const nothing, rt.callocate_bytes(0, 8));
    EXPECT_EQ(nothing, nullptr);
    EXPECT_CODE(rt.callocate_bytes(~std::size_t{0} / 2, 3), Code::kOutOfRange);
    EXPECT_CODE(rt.allocate<double>(~std::size_t{0} / 4), Code::kOutOfRange);
    return rt.barrier();
  }));
}

TEST_P(HeapTest, ReallocateKeepsContents) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    Random random(test_seed());
    ASSIGN_OR_RETURN(void* memory, rt.reallocate_bytes(nullptr, 100));
    std::vector<std::byte> wanted = random_bytes(random, 100);
    std::copy(wanted.begin(), wanted.end(), static_cast<std::byte*>(memory));
    for (const std::size_t bytes : {1000u, 999u, 1u, 300'000u, 64u}) {
      ASSIGN_OR_RETURN(memory, rt.reallocate_bytes(memory, bytes));
      auto* const first = static_cast<std::byte*>(memory);
      const std::size_t kept = std::min(bytes, wanted.size());
      EXPECT_TRUE(
          std::equal(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(kept), first));
      wanted = random_bytes(random, bytes);
      std::copy(wanted.begin(), wanted.end(), first);
    }
    // A failure leaves the block as it was.
    EXPECT_CODE(rt.reallocate_bytes(memory, std::size_t{1} << 60), Code::kOutOfMemory);
    EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), static_cast<std::byte*>(memory)));
    int local = 0;
    EXPECT_CODE(rt.reallocate_bytes(&local, 8), Code::kNotSymmetric);
    ASSIGN_OR_RETURN(void* const gone, rt.reallocate_bytes(memory, 0));
    EXPECT_EQ(gone, nullptr);
    EXPECT_CODE(rt.free(memory), Code::kInvalidArgument);
    return rt.barrier();
  }));
}

TEST_P(HeapTest, WrongFreesAndAlignments) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    int local = 0;
    EXPECT_OK(rt.free(nullptr));
    EXPECT_CODE(rt.free(&local), Code::kNotSymmetric);
    ASSIGN_OR_RETURN(auto* const block, rt.allocate<std::byte>(256));
    EXPECT_CODE(rt.free(block + 64), Code::kInvalidArgument);
    EXPECT_THAT(text_of(rt.free(block + 64)), HasSubstr("64 bytes inside an allocation"));
    RETURN_IF_ERROR(rt.free(block));
    EXPECT_CODE(rt.free(block), Code::kInvalidArgument);
    EXPECT_THAT(text_of(rt.free(block)), HasSubstr("freed"));
    EXPECT_CODE(rt.allocate_bytes(8, 3), Code::kInvalidArgument);
    EXPECT_THAT(text_of(rt.allocate_bytes(8, 48)), HasSubstr("power of two"));
    ASSIGN_OR_RETURN(void* const nothing, rt.allocate_bytes(0));
    EXPECT_EQ(nothing, nullptr);
    return rt.barrier();
  }));
}

std::vector<PeGroup> small_groups() { return pe_groups({1, 3}, small_chunks()); }

INSTANTIATE_TEST_SUITE_P(Pes, HeapTest, ::testing::ValuesIn(small_groups()), pe_group_name);

// --- wrong arguments of transfers ----------------------------------------------------------------

class ArgumentTest : public ::testing::TestWithParam<PeGroup> {};

// Always refused, whatever the options, on mapped and on unmapped peers; nothing is done.
TEST_P(ArgumentTest, AlwaysChecked) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    Context& ctx = rt.context();
    ASSIGN_OR_RETURN(auto* const words, rt.callocate<std::uint64_t>(16));
    std::uint64_t local = 3;
    const int n = rt.npes();
    for (const int pe : {-1, n, n + 1000, -2147483647 - 1}) {
      const Status status = ctx.put(words, &local, 1, pe);
      EXPECT_CODE(status, Code::kOutOfRange);
      EXPECT_THAT(text_of(status), AllOf(HasSubstr("put"), HasSubstr(std::to_string(pe)),
                                         HasSubstr("PEs 0 to " + std::to_string(n - 1))));
      EXPECT_CODE(ctx.get(&local, words, 1, pe), Code::kOutOfRange);
      EXPECT_CODE(ctx.atomic_add(words, std::uint64_t{1}, pe), Code::kOutOfRange);
      EXPECT_CODE(ctx.atomic_fetch(words, pe), Code::kOutOfRange);
      EXPECT_CODE(ctx.signal(set(words, 1), pe), Code::kOutOfRange);
      EXPECT_CODE(ctx.iput(words, &local, 1, 1, 1, pe), Code::kOutOfRange);
      EXPECT_CODE(ctx.fence(pe), Code::kOutOfRange);
      EXPECT_CODE(ctx.g(words, pe), Code::kOutOfRange);
      EXPECT_CODE(ctx.quiet(pe), Code::kOutOfRange);
    }
    const int pe = n - 1;
    EXPECT_CODE(ctx.put(&local, words, 1, pe), Code::kNotSymmetric);
    EXPECT_THAT(text_of(ctx.put(&local, words, 1, pe)), AllOf(HasSubstr("put"), HasSubstr("dst")));
    EXPECT_CODE(ctx.get(words, &local, 1, pe), Code::kNotSymmetric);
    EXPECT_THAT(text_of(ctx.get(words, &local, 1, pe)), AllOf(HasSubstr("get"), HasSubstr("src")));
    EXPECT_CODE(ctx.atomic_inc(&local, pe), Code::kNotSymmetric);
    EXPECT_CODE(ctx.signal(set(&local, 1), pe), Code::kNotSymmetric);
    std::uint64_t* const null = nullptr;
    EXPECT_CODE(ctx.put(null, &local, 1, pe), Code::kInvalidArgument);
    EXPECT_CODE(ctx.put(words, null, 1, pe), Code::kInvalidArgument);
    EXPECT_CODE(ctx.get(null, words, 1, pe), Code::kInvalidArgument);
    EXPECT_CODE(ctx.atomic_inc(null, pe), Code::kInvalidArgument);
    EXPECT_CODE(ctx.signal(set(null, 1), pe), Code::kInvalidArgument);
    EXPECT_CODE(ctx.put(words, &local, ~std::size_t{0}, pe), Code::kOutOfRange);
    EXPECT_CODE(ctx.put_bytes(words, &local, std::size_t{1} << 50, pe), Code::kOutOfRange);
    EXPECT_CODE(ctx.get_bytes(&local, words, std::size_t{1} << 50, pe), Code::kOutOfRange);
    auto* const odd = reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::byte*>(words) + 4);
    EXPECT_CODE(ctx.signal(set(odd, 1), pe), Code::kInvalidArgument);
    EXPECT_CODE(ctx.amo_bytes(Amo::kAdd, odd, 8, 1, 0, nullptr, pe), Code::kInvalidArgument);
    EXPECT_THAT(text_of(ctx.amo_bytes(Amo::kAdd, odd, 8, 1, 0, nullptr, pe)),
                HasSubstr("multiple"));
    EXPECT_CODE(ctx.amo_bytes(Amo::kAdd, words, 2, 1, 0, nullptr, pe), Code::kInvalidArgument);
    EXPECT_CODE(ctx.amo_bytes(Amo::kFetch, words, 8, 0, 0, nullptr, pe), Code::kInvalidArgument);
    EXPECT_CODE(ctx.amo_bytes(Amo::kFetchAdd, words, 8, 1, 0, nullptr, pe), Code::kInvalidArgument);
    EXPECT_CODE(ctx.iput(words, &local, 0, 1, 2, pe), Code::kInvalidArgument);
    EXPECT_CODE(ctx.iget(&local, words, 1, -1, 2, pe), Code::kInvalidArgument);
    EXPECT_CODE(ctx.iput(words, &local, std::ptrdiff_t{1} << 62, 1, 5, pe), Code::kOutOfRange);
    EXPECT_CODE(wait_until(ctx, &local, Cmp::kEq, std::uint64_t{1}), Code::kNotSymmetric);
    EXPECT_CODE(test(ctx, &local, Cmp::kEq, std::uint64_t{1}), Code::kNotSymmetric);
    // 0 bytes are fine, with any address.
    EXPECT_OK(ctx.put(null, null, 0, pe));
    EXPECT_OK(ctx.get(null, null, 0, pe));
    RETURN_IF_ERROR(ctx.quiet());  // nothing of it was done, so nothing failed
    RETURN_IF_ERROR(rt.barrier());
    EXPECT_EQ(std::count(words, words + 16, 0u), 16);
    EXPECT_EQ(local, 3u);
    return rt.barrier();
  }));
}

INSTANTIATE_TEST_SUITE_P(Pes, ArgumentTest, ::testing::ValuesIn(pe_groups({1, 2})), pe_group_name);

// --- WEFT_CHECK=1 --------------------------------------------------------------------------------

class CheckTest : public ::testing::TestWithParam<PeGroup> {};

TEST_P(CheckTest, DifferentArgumentsAreNamed) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    const bool odd = rt.pe() == 1;
    auto memory = rt.allocate_bytes(odd ? 64 : 128);
    EXPECT_CODE(memory, Code::kNotSymmetric);
    EXPECT_THAT(text_of(memory), AllOf(HasSubstr("bytes 64"), HasSubstr("bytes 128"),
                                       HasSubstr("PE 1"), HasSubstr("PE 0")));
    EXPECT_CODE(rt.allocate_bytes(64, odd ? 64 : 128), Code::kNotSymmetric);
    ASSIGN_OR_RETURN(void* const a, rt.allocate_bytes(64));
    ASSIGN_OR_RETURN(void* const b, rt.allocate_bytes(64));
    EXPECT_CODE(rt.free(odd ? a : b), Code::kNotSymmetric);
    auto mixed = odd ? rt.callocate_bytes(1, 64) : rt.allocate_bytes(64);
    EXPECT_CODE(mixed, Code::kNotSymmetric);
    EXPECT_THAT(text_of(mixed), AllOf(HasSubstr("callocate"), HasSubstr("allocate")));
    RETURN_IF_ERROR(rt.free(b));
    return rt.free(a);
  }));
}

TEST_P(CheckTest, FreedOverlappingAndForeignMemory) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    Context& ctx = rt.context();
    ASSIGN_OR_RETURN(auto* const words, rt.callocate<std::uint64_t>(16));
    ASSIGN_OR_RETURN(auto* const gone, rt.callocate<std::uint64_t>(16));
    std::uint64_t local = 0;
    const int pe = (rt.pe() + 1) % rt.npes();
    RETURN_IF_ERROR(rt.free(gone));
    const Status freed = ctx.put(gone, &local, 1, pe);
    EXPECT_CODE(freed, Code::kInvalidArgument);
    EXPECT_THAT(text_of(freed), AllOf(HasSubstr("put"), HasSubstr("dst"), HasSubstr("freed")));
    EXPECT_CODE(ctx.put(words, gone, 1, pe), Code::kInvalidArgument);
    EXPECT_CODE(ctx.get(&local, gone, 1, pe), Code::kInvalidArgument);
    EXPECT_CODE(ctx.get(gone, words, 1, pe), Code::kInvalidArgument);
    EXPECT_CODE(ctx.atomic_inc(gone, pe), Code::kInvalidArgument);
    EXPECT_CODE(ctx.signal(add(gone, 1), pe), Code::kInvalidArgument);
    EXPECT_CODE(test(ctx, gone, Cmp::kEq, std::uint64_t{0}), Code::kInvalidArgument);
    EXPECT_THAT(text_of(ctx.put(words, words, 100, pe)), HasSubstr("past the end"));
    const Status overlap = ctx.put(words + 1, words, 4, rt.pe());
    EXPECT_CODE(overlap, Code::kInvalidArgument);
    EXPECT_THAT(text_of(overlap), HasSubstr("overlap"));
    EXPECT_CODE(ctx.get(words, words + 1, 4, rt.pe()), Code::kInvalidArgument);
    EXPECT_OK(ctx.put(words + 4, words, 4, rt.pe()));
    RETURN_IF_ERROR(rt.barrier());
    if (rt.pe() == 0 && pe != 0) {  // the same addresses on another PE are other memory
      EXPECT_OK(ctx.put(words + 1, words, 4, pe));
    }
    RETURN_IF_ERROR(rt.barrier());
    return rt.free(words);
  }));
}

std::vector<PeGroup> checked_groups() {
  Options options;
  options.check = true;
  return pe_groups({2, 3}, options);
}

INSTANTIATE_TEST_SUITE_P(Pes, CheckTest, ::testing::ValuesIn(checked_groups()), pe_group_name);

}  // namespace
}  // namespace weft
