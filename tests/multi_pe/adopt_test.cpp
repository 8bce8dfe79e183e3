// Memory that PEs have already becomes symmetric where it is: every family of operations takes it,
// and what cannot be adopted is refused on all PEs alike.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include <weft/device.hpp>
#include <weft/weft.hpp>

#include "src/base/status.hpp"
#include "tests/multi_pe/neighbours.hpp"
#include "tests/support/pe_group.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::size_t page() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

// Pages of a PE's own, at an address that is not its neighbour's.
class Pages {
 public:
  explicit Pages(std::size_t pages) : bytes_(pages * page()) {
    void* const got =
        ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    base_ = got == MAP_FAILED ? nullptr : static_cast<std::byte*>(got);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { ::munmap(base_, bytes_); }
  std::byte* base() const { return base_; }
  std::size_t bytes() const { return bytes_; }
  OwnMemory piece(std::string name = "pages") const { return {base_, bytes_, std::move(name)}; }
  std::uint64_t* words(std::size_t first = 0) const {
    return reinterpret_cast<std::uint64_t*>(base_) + first;
  }

 private:
  std::size_t bytes_;
  std::byte* base_;
};

// Where each body's pages live: they must outlive the runtime, which ends after the body.
Pages& keep(std::vector<std::unique_ptr<Pages>>& all, std::size_t pages) {
  all.push_back(std::make_unique<Pages>(pages));
  return *all.back();
}
thread_local std::vector<std::unique_ptr<Pages>> kept;

class AdoptTest : public ::testing::TestWithParam<PeGroup> {};

Status check_transfers(Runtime& rt, std::uint64_t* words) {
  Context& ctx = rt.context();
  std::vector<std::uint64_t> mine(100);
  for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = mark(rt.pe(), i);
  RETURN_IF_ERROR(rt.barrier());
  RETURN_IF_ERROR(ctx.put(words, mine.data(), mine.size(), next_of(rt)));
  RETURN_IF_ERROR(ctx.iput(words + 100, mine.data(), 3, 2, 20, next_of(rt)));
  RETURN_IF_ERROR(ctx.p(words + 200, mark(rt.pe()), next_of(rt)));
  RETURN_IF_ERROR(rt.barrier());
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(words[i], mark(previous_of(rt), i));
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(words[100 + 3 * i], mark(previous_of(rt), 2 * i));
  EXPECT_EQ(words[200], mark(previous_of(rt)));
  std::vector<std::uint64_t> got(100);
  RETURN_IF_ERROR(ctx.get(got.data(), words, 100, next_of(rt)));
  EXPECT_EQ(got, mine);
  ASSIGN_OR_RETURN(const std::uint64_t one, ctx.g(words + 7, next_of(rt)));
  EXPECT_EQ(one, mine[7]);
  return rt.barrier();
}

// The heap's words tell of adopted ones and the other way round.
Status check_signals(Runtime& rt, std::uint64_t* words, std::uint64_t* in_heap) {
  words[0] = words[1] = *in_heap = 0;
  RETURN_IF_ERROR(rt.barrier());
  Context& ctx = rt.context();
  const std::uint64_t value = mark(rt.pe());
  RETURN_IF_ERROR(ctx.put(words + 300, &value, 1, next_of(rt), set(words, 1)));
  RETURN_IF_ERROR(signal_wait_until(ctx, words, Cmp::kEq, 1).status());
  RETURN_IF_ERROR(show_order(rt));
  EXPECT_EQ(words[300], mark(previous_of(rt)));
  RETURN_IF_ERROR(ctx.put(in_heap + 1, &value, 1, next_of(rt), add(words + 1, 5)));
  RETURN_IF_ERROR(signal_wait_until(ctx, words + 1, Cmp::kEq, 5).status());
  RETURN_IF_ERROR(show_order(rt));
  EXPECT_EQ(in_heap[1], mark(previous_of(rt)));
  RETURN_IF_ERROR(ctx.put(words + 301, &value, 1, next_of(rt), set(in_heap, 3)));
  RETURN_IF_ERROR(signal_wait_until(ctx, in_heap, Cmp::kEq, 3).status());
  EXPECT_EQ(words[301], mark(previous_of(rt)));
  return rt.barrier();
}

Status check_atomics(Runtime& rt, std::uint64_t* words) {
  words[0] = words[1] = 0;
  auto* const narrow = reinterpret_cast<std::int32_t*>(words + 1);
  RETURN_IF_ERROR(rt.barrier());
  Context& ctx = rt.context();
  for (int i = 0; i < 100; ++i) {
    RETURN_IF_ERROR(ctx.atomic_add(words, std::uint64_t{1}, 0));
    RETURN_IF_ERROR(ctx.atomic_fetch_inc(words, 0).status());
    RETURN_IF_ERROR(ctx.atomic_inc(narrow, rt.npes() - 1));
  }
  RETURN_IF_ERROR(rt.barrier());
  ASSIGN_OR_RETURN(const std::uint64_t all, ctx.atomic_fetch(words, 0));
  EXPECT_EQ(all, 200u * static_cast<unsigned>(rt.npes()));
  ASSIGN_OR_RETURN(const std::int32_t few, ctx.atomic_fetch(narrow, rt.npes() - 1));
  EXPECT_EQ(few, 100 * rt.npes());
  RETURN_IF_ERROR(rt.barrier());
  ASSIGN_OR_RETURN(const std::uint64_t seen, ctx.atomic_compare_swap(words, all, mark(rt.pe()), 0));
  RETURN_IF_ERROR(rt.barrier());
  ASSIGN_OR_RETURN(const std::uint64_t winner, ctx.atomic_fetch(words, 0));
  EXPECT_EQ(seen == all, winner == mark(rt.pe()));
  return rt.barrier();
}

Status check_collectives(Runtime& rt, std::uint64_t* words) {
  const auto n = static_cast<std::size_t>(rt.npes());
  std::uint64_t* const src = words;
  std::uint64_t* const dst = words + 1024;
  for (std::size_t i = 0; i < 64 * n; ++i) src[i] = mark(rt.pe(), i);
  RETURN_IF_ERROR(rt.barrier());
  Context& ctx = rt.context();
  RETURN_IF_ERROR(broadcast(ctx, rt.world(), dst, src, 64, rt.npes() - 1));
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(dst[i], mark(rt.npes() - 1, i));
  RETURN_IF_ERROR(rt.barrier());
  RETURN_IF_ERROR(fcollect(ctx, rt.world(), dst, src, 7));
  for (std::size_t i = 0; i < 7 * n; ++i) EXPECT_EQ(dst[i], mark(static_cast<int>(i / 7), i % 7));
  RETURN_IF_ERROR(rt.barrier());
  RETURN_IF_ERROR(collect(ctx, rt.world(), dst, src, static_cast<std::size_t>(rt.pe())));
  std::size_t at = 0;
  for (int pe = 0; pe < rt.npes(); ++pe)
    for (std::size_t i = 0; i < static_cast<std::size_t>(pe); ++i)
      EXPECT_EQ(dst[at++], mark(pe, i));
  RETURN_IF_ERROR(rt.barrier());
  RETURN_IF_ERROR(alltoall(ctx, rt.world(), dst, src, 9));
  for (std::size_t i = 0; i < 9 * n; ++i)
    EXPECT_EQ(dst[i], mark(static_cast<int>(i / 9), static_cast<std::size_t>(rt.pe()) * 9 + i % 9));
  RETURN_IF_ERROR(rt.barrier());
  for (const std::size_t count : {std::size_t{1}, std::size_t{500}}) {
    RETURN_IF_ERROR(reduce(ctx, rt.world(), dst, src, count, ReduceOp::kSum));
    for (std::size_t i = 0; i < count && i < 64; ++i) {
      std::uint64_t sum = 0;
      for (int pe = 0; pe < rt.npes(); ++pe) sum += mark(pe, i);
      EXPECT_EQ(dst[i], sum) << "element " << i << " of " << count;
    }
    RETURN_IF_ERROR(rt.barrier());
  }
  return Status::ok();
}

Status check_addresses(Runtime& rt, std::uint64_t* words) {
  Context& ctx = rt.context();
  EXPECT_EQ(ctx.ptr(words + 3, rt.pe()), words + 3);
  auto* const theirs = static_cast<std::uint64_t*>(ctx.ptr(words + 3, next_of(rt)));
  words[3] = mark(rt.pe());
  RETURN_IF_ERROR(rt.barrier());
  if (theirs != nullptr) {
    EXPECT_EQ(*theirs, mark(next_of(rt)));
  }
  EXPECT_CODE(rt.free(words), Code::kNotSymmetric);
  return rt.barrier();
}

Status all_families(Runtime& rt) {
  Pages& one = keep(kept, 1);
  Pages& many = keep(kept, 8);
  one.words()[5] = mark(rt.pe(), 5);  // contents stay
  many.words()[1] = 0;
  ASSIGN_OR_RETURN(auto* const in_heap, rt.callocate<std::uint64_t>(2));
  RETURN_IF_ERROR(rt.adopt({one.piece("one"), many.piece("many")}));
  EXPECT_EQ(one.words()[5], mark(rt.pe(), 5));
  ASSIGN_OR_RETURN(const std::uint64_t theirs, rt.context().g(one.words(5), next_of(rt)));
  EXPECT_EQ(theirs, mark(next_of(rt), 5));
  for (std::uint64_t* const words : {many.words(), one.words()})
    RETURN_IF_ERROR(check_transfers(rt, words));
  RETURN_IF_ERROR(check_signals(rt, many.words(), in_heap));
  RETURN_IF_ERROR(check_atomics(rt, one.words(8)));
  RETURN_IF_ERROR(check_collectives(rt, many.words()));
  RETURN_IF_ERROR(check_addresses(rt, many.words()));
  Pages& later = keep(kept, 2);  // a second call, and a context that was there before
  RETURN_IF_ERROR(rt.adopt({later.piece("later")}));
  RETURN_IF_ERROR(check_transfers(rt, later.words()));
  // Growth of the heap stays possible.
  ASSIGN_OR_RETURN(auto* const big, rt.callocate<std::uint64_t>(1 << 16));
  return check_transfers(rt, big);
}

TEST_P(AdoptTest, EveryFamilyTakesItsAddresses) { EXPECT_OK(run_pes(GetParam(), all_families)); }

TEST_P(AdoptTest, SoItDoesWithChecks) {
  PeGroup group = GetParam();
  group.options.check = true;
  EXPECT_OK(run_pes(group, all_families));
}

// The ends of a piece are ends, whatever lies behind them.
TEST_P(AdoptTest, NothingOutsideIsSymmetric) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    Pages& pages = keep(kept, 3);
    const OwnMemory middle{pages.base() + page(), page(), "the middle"};
    RETURN_IF_ERROR(rt.adopt({middle}));
    Context& ctx = rt.context();
    std::byte byte{1};
    const int next = next_of(rt);
    RETURN_IF_ERROR(ctx.put(pages.base() + page(), &byte, 1, next));
    RETURN_IF_ERROR(ctx.put(pages.base() + 2 * page() - 1, &byte, 1, next));
    EXPECT_CODE(ctx.put(pages.base() + page() - 1, &byte, 1, next), Code::kNotSymmetric);
    EXPECT_CODE(ctx.put(pages.base() + 2 * page(), &byte, 1, next), Code::kOutOfRange);
    EXPECT_CODE(ctx.put(pages.base() + 2 * page() + 1, &byte, 1, next), Code::kNotSymmetric);
    const std::vector<std::byte> two(2);
    EXPECT_CODE(ctx.put(pages.base() + 2 * page() - 1, two.data(), 2, next), Code::kOutOfRange);
    EXPECT_EQ(ctx.ptr(pages.base(), rt.pe()), nullptr);
    thread_local std::uint64_t mine = 0;
    const Status refused = ctx.atomic_add(&mine, std::uint64_t{1}, next);
    EXPECT_CODE(refused, Code::kNotSymmetric);
    EXPECT_THAT(std::string(refused.text()), HasSubstr("thread-local"));
    return rt.barrier();
  }));
}

TEST_P(AdoptTest, WhatCannotBeIsRefusedOnAll) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    Pages& pages = keep(kept, 2);
    const auto text = [&](const OwnMemory& piece, Code code) {
      const Status status = rt.adopt({piece});
      EXPECT_CODE(status, code);
      return std::string(status.text());
    };
    EXPECT_THAT(text({pages.base() + 8, page(), "odd"}, Code::kInvalidArgument),
                AllOf(HasSubstr("odd"), HasSubstr("whole pages")));
    EXPECT_THAT(text({pages.base(), page() + 1, "odd"}, Code::kInvalidArgument),
                HasSubstr("whole pages"));
    EXPECT_THAT(text({pages.base(), 0, "none"}, Code::kInvalidArgument), HasSubstr("whole pages"));
    EXPECT_THAT(text({nullptr, page(), "null"}, Code::kInvalidArgument),
                HasSubstr("no memory behind"));
    EXPECT_THAT(text({pages.base(), std::size_t{1} << 40, "huge"}, Code::kOutOfMemory),
                HasSubstr("WEFT_ADOPT_SIZE"));
    RETURN_IF_ERROR(rt.adopt({pages.piece()}));
    EXPECT_OK(rt.adopt({pages.piece("again")}));
    EXPECT_OK(rt.adopt({{pages.base() + page(), page(), "a part"}}));
    EXPECT_THAT(text({pages.base() - page(), 2 * page(), "more"}, Code::kInvalidArgument),
                HasSubstr("adopted already"));
    EXPECT_OK(rt.disown({pages.piece()}));
    EXPECT_CODE(rt.disown({{&pages, 8, "else"}}), Code::kNotSymmetric);
    // One PE's name differs: all hear of both.
    if (rt.npes() > 1) {
      Pages& more = keep(kept, 1);
      EXPECT_THAT(text(more.piece(rt.pe() == 1 ? "program b" : "program a"), Code::kNotSymmetric),
                  AllOf(HasSubstr("program a"), HasSubstr("program b"), HasSubstr("PE 1")));
    }
    return check_transfers(rt, pages.words());
  }));
}

INSTANTIATE_TEST_SUITE_P(Pes, AdoptTest, ::testing::ValuesIn(pe_groups({1, 2, 3, 7})),
                         pe_group_name);

// --- kernels -------------------------------------------------------------------------------------

struct Ring {
  DeviceContext handle;
  std::uint64_t *words, *signal;
  WEFT_DEVICE void operator()() const {
    dev::Context ctx(handle);
    const int next = (ctx.pe() + 1) % ctx.npes();
    const std::uint64_t me = static_cast<std::uint64_t>(ctx.pe());
    ctx.put(dev::Thread{}, words, &me, 1, next, set(signal, 1));
    ctx.wait_until(dev::Thread{}, signal, Cmp::kEq, std::uint64_t{1});
    ctx.atomic_add(words + 1, std::uint64_t{1}, 0);
    ctx.p(words + 2, me, next);
    ctx.quiet(dev::Thread{});
  }
};

TEST_P(AdoptTest, KernelsTakeItsAddresses) {
  PeGroup group = GetParam();
  for (const bool check : {false, true}) {
    group.options.check = check;
    EXPECT_OK(run_pes(group, [](Runtime& rt) -> Status {
      ASSIGN_OR_RETURN(const DeviceContext handle, rt.context().device());  // before the adoption
      Pages& pages = keep(kept, 1);
      RETURN_IF_ERROR(rt.adopt({pages.piece()}));
      RETURN_IF_ERROR(dev::launch({1, 1, 0}, Ring{handle, pages.words(), pages.words(64)}));
      RETURN_IF_ERROR(dev::synchronize());
      RETURN_IF_ERROR(rt.barrier());
      const auto previous = static_cast<std::uint64_t>(previous_of(rt));
      EXPECT_EQ(pages.words()[0], previous);
      EXPECT_EQ(pages.words()[2], previous);
      if (rt.pe() == 0) {
        EXPECT_EQ(pages.words()[1], static_cast<std::uint64_t>(rt.npes()));
      }
      return rt.health();
    }));
  }
}

// --- life ----------------------------------------------------------------------------------------

alignas(65536) std::uint64_t table[65536 / sizeof(std::uint64_t)] = {7, 8, 9};

// A process's variables go through several jobs and keep their contents; a child has its own.
TEST(AdoptLife, OutlivesRuntimesAndForks) {
  EXPECT_OK(run_pes({Pes::kProcesses, 3, {}, {}}, [](Runtime& rt) -> Status {
    RETURN_IF_ERROR(rt.adopt({{table, sizeof(table), "the table"}}));
    EXPECT_EQ(table[1], 8u);
    RETURN_IF_ERROR(rt.context().p(table + 2, mark(rt.pe()), next_of(rt)));
    RETURN_IF_ERROR(rt.barrier());
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
      const bool well = table[2] == mark(previous_of(rt)) && table[0] == 7;
      table[0] = 1;
      table[100] = 1;
      ::_exit(well ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(table[0], 7u);
    EXPECT_EQ(table[100], 0u);
    return rt.barrier();
  }));
}

TEST(AdoptLife, IsAdoptedAnewByTheNextRuntime) {
  static Pages pages(2);
  for (int round = 0; round < 3; ++round) {
    auto rt = Runtime::create();
    ASSERT_OK(rt);
    ASSERT_OK(rt->adopt({pages.piece()}));
    EXPECT_EQ(pages.words()[3], static_cast<std::uint64_t>(round));
    ASSERT_OK(rt->context().atomic_inc(pages.words(3), 0));
    EXPECT_EQ(pages.words()[3], static_cast<std::uint64_t>(round) + 1);
  }
  EXPECT_EQ(pages.words()[3], 3u);
}

// Pages that are not touched take no memory, before and after.
TEST(AdoptLife, ZerosTakeNoMemory) {
  const Pages pages((std::size_t{1} << 30) / page() / 4);
  Options options;
  options.adopt_size = pages.bytes();
  auto rt = Runtime::create(options);
  ASSERT_OK(rt);
  pages.words()[100'000] = 42;
  ASSERT_OK(rt->adopt({pages.piece()}));
  EXPECT_EQ(pages.words()[100'000], 42u);
  std::vector<unsigned char> resident(pages.bytes() / page());
  ASSERT_EQ(::mincore(pages.base(), pages.bytes(), resident.data()), 0);
  const auto there = std::count_if(resident.begin(), resident.end(), [](auto r) { return r & 1; });
  EXPECT_LE(there, 1024);  // one huge page at most, and what the system reads ahead
}

}  // namespace
}  // namespace weft
