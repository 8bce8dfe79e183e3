// GPU memory that a program has already becomes symmetric where it is: mapped by handles or
// allocated, on hosts, in kernels and on streams. Over the fake drivers, as gpu_test.cpp, whose
// variables choose the driver and the way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <weft/device.hpp>
#include <weft/on_stream.hpp>
#include <weft/weft.hpp>

#include "src/base/status.hpp"
#include "tests/multi_pe/gpu_driver.hpp"
#include "tests/multi_pe/neighbours.hpp"
#include "tests/support/own_gpu_memory.hpp"
#include "tests/support/pe_group.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Word = std::uint64_t;

constexpr std::size_t kPage = std::size_t{2} << 20;
constexpr std::size_t kLamport = (kPage + (kPage >> 1)) / sizeof(Word);

enum class From { kMapped, kAllocated };

std::string way() {
  const char* const ways = std::getenv("FAKE_GPU_WAYS");
  return ways == nullptr ? "fd" : ways;
}

// A piece that begins elsewhere on each PE, and goes over an allocation's end if it is mapped. It
// lives on after the body: the runtime ends later.
thread_local std::vector<std::unique_ptr<OwnGpuMemory>> kept;
Word* make_words(const Runtime& rt, From from) {
  const auto type =
      way() == "fabric" ? gpu::abi::HandleType::kFabric : gpu::abi::HandleType::kPosixFd;
  kept.push_back(std::make_unique<OwnGpuMemory>(
      from == From::kMapped
          ? OwnGpuMemory::mapped(driver(), rt.gpu(), {kPage, 2 * kPage, kPage}, type)
          : OwnGpuMemory::allocated(driver(), rt.gpu(), 4 * kPage)));
  return reinterpret_cast<Word*>(kept.back()->base() + 4096 + 528 * static_cast<unsigned>(rt.pe()));
}

// The program accesses its memory by copies: loads and stores of the host need not reach it.
Word there(const Word* word) {
  Word value = 0;
  kept.back()->copy(&value, word, sizeof value);
  return value;
}
void write(Word* words, const std::vector<Word>& values) {
  kept.back()->copy(words, values.data(), values.size() * sizeof(Word));
}

OwnMemory piece(Word* words, std::string name = "words") {
  return {words, kLamport * sizeof(Word), std::move(name)};
}

struct Case {
  PeGroup group;
  From from;
};
std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  return pe_group_name({info.param.group, info.index}) +
         (info.param.from == From::kMapped ? "Mapped" : "Allocated");
}
std::vector<Case> cases() {
  Options options;
  library_of(options) = driver().file;
  options.gpu_heap_size = std::uint64_t{256} << 20;
  options.gpu_heap_chunk = std::uint64_t{16} << 20;
  choose_transports(options);
  std::vector<Case> all;
  for (const From from : {From::kMapped, From::kAllocated})
    for (const int npes : {1, 2, 4})
      for (const Pes pes : {Pes::kThreads, Pes::kProcesses})
        if (from == From::kAllocated || way() != "none")
          all.push_back({{pes, npes, options, {}}, from});
  return all;
}

class GpuAdoptTest : public ::testing::TestWithParam<Case> {
 protected:
  template <class Body>
  void run(Body body, bool check = false) {
    Case each = GetParam();
    each.group.options.check = check;
    EXPECT_OK(run_pes(each.group, [&](Runtime& rt) { return body(rt, each.from); }));
  }
};

Status check_transfers(Runtime& rt, Word* words) {
  Context& c = rt.context();
  ASSIGN_OR_RETURN(Word* const signal, rt.callocate<Word>(1));
  constexpr std::size_t kEnd = (kPage - 4096) / sizeof(Word);  // about where an allocation ends
  Word rounds = 0;
  for (const std::size_t at : {std::size_t{0}, kEnd - 600, kLamport - 1000}) {
    const auto mine = marks(rt.pe(), 1000), theirs = marks(previous_of(rt), 1000);
    RETURN_IF_ERROR(c.put(words + at, mine.data(), mine.size(), next_of(rt), add(signal, 1)));
    RETURN_IF_ERROR(wait_until(c, signal, Cmp::kGe, ++rounds));
    std::vector<Word> got(1000);
    RETURN_IF_ERROR(c.get(got.data(), words + at, got.size(), rt.pe()));
    EXPECT_EQ(got, theirs);
    EXPECT_EQ(there(words + at + 999), theirs[999]) << "where the program has it";
    RETURN_IF_ERROR(c.get(got.data(), words + at, got.size(), next_of(rt)));
    EXPECT_EQ(got, mine);
    RETURN_IF_ERROR(rt.barrier());
  }
  return rt.free(signal);
}

Status check_signals_and_atomics(Runtime& rt, Word* words) {
  Context& c = rt.context();
  const Word zeros[4] = {};
  RETURN_IF_ERROR(c.put(words, zeros, 4, rt.pe()));
  RETURN_IF_ERROR(rt.barrier());
  const Word value = mark(rt.pe());
  RETURN_IF_ERROR(c.put(words + 8, &value, 1, next_of(rt), set(words, 7)));
  RETURN_IF_ERROR(wait_until(c, words, Cmp::kEq, Word{7}));
  RETURN_IF_ERROR(c.put(words + 9, &value, 1, next_of(rt), add(words + 1, 3)));
  RETURN_IF_ERROR(wait_until(c, words + 1, Cmp::kEq, Word{3}));
  EXPECT_EQ(there(words + 9), mark(previous_of(rt)));
  for (int i = 0; i < 3; ++i) RETURN_IF_ERROR(c.atomic_add(words + 2, Word{2}, 0));
  RETURN_IF_ERROR(c.atomic_fetch_inc(words + 3, rt.npes() - 1).status());
  RETURN_IF_ERROR(rt.barrier());
  ASSIGN_OR_RETURN(const Word all, c.atomic_fetch(words + 2, 0));
  EXPECT_EQ(all, 6u * static_cast<unsigned>(rt.npes()));
  ASSIGN_OR_RETURN(const Word last, c.atomic_fetch(words + 3, rt.npes() - 1));
  EXPECT_EQ(last, static_cast<Word>(rt.npes()));
  return rt.barrier();
}

Status check_addresses(Runtime& rt, Word* words) {
  const auto offset = rt.offset_of(words + 5, 8);
  EXPECT_TRUE(offset.has_value());
  EXPECT_EQ(rt.offset_of(words, kLamport * sizeof(Word) + 1), std::nullopt);
  EXPECT_EQ(rt.offset_of(words - 1, 8), std::nullopt);
  EXPECT_EQ(rt.context().ptr(words + 5, rt.pe()), words + 5);
  write(words + 5, {mark(rt.pe(), 5)});
  RETURN_IF_ERROR(rt.barrier());
  const auto* const theirs = static_cast<const Word*>(rt.context().ptr(words + 5, next_of(rt)));
  if (theirs != nullptr) {
    EXPECT_EQ(there(theirs), mark(next_of(rt), 5));
  }
  return rt.barrier();
}

TEST_P(GpuAdoptTest, HostThreadsTakeItsAddresses) {
  for (const bool check : {false, true})
    run(
        [](Runtime& rt, From from) -> Status {
          Word* const words = make_words(rt, from);
          write(words + kLamport - 1, {mark(rt.pe())});
          RETURN_IF_ERROR(rt.adopt({piece(words)}));
          EXPECT_EQ(there(words + kLamport - 1), mark(rt.pe())) << "contents stay";
          ASSIGN_OR_RETURN(const Word theirs, rt.context().g(words + kLamport - 1, next_of(rt)));
          EXPECT_EQ(theirs, mark(next_of(rt)));
          RETURN_IF_ERROR(check_transfers(rt, words));
          RETURN_IF_ERROR(check_signals_and_atomics(rt, words));
          RETURN_IF_ERROR(check_addresses(rt, words));
          // A second piece, and the heap grows beside them.
          Word* const more = make_words(rt, from);
          RETURN_IF_ERROR(rt.adopt({piece(more, "more")}));
          ASSIGN_OR_RETURN(Word* const big, rt.callocate_device<Word>(std::size_t{4} << 20));
          RETURN_IF_ERROR(check_transfers(rt, more));
          RETURN_IF_ERROR(check_transfers(rt, big));
          return check_transfers(rt, words);
        },
        check);
}

// --- kernels -------------------------------------------------------------------------------------

struct Ring {
  DeviceContext handle;
  Word *data, *words;
  std::size_t count;
  WEFT_DEVICE void operator()() const {
    dev::Context ctx(handle);
    const dev::Block block;
    const int next = (ctx.pe() + 1) % ctx.npes();
    ctx.put(block, data + count, data, count, next, add(words, 1));
    ctx.wait_until(block, words, Cmp::kGe, Word{1});
    if (block.rank() != 0) return;
    ctx.atomic_add(words + 1, Word{1}, 0);
    ctx.p(words + 2, static_cast<Word>(ctx.pe()), next);
    words[3] = ctx.g(data, next);
    if (Word* const theirs = ctx.ptr(words + 4, next)) *theirs = Word{9};
    ctx.quiet(dev::Thread{});
  }
};

struct AddUp {
  DeviceContext handle;
  Team team;
  Word *sums, *values;
  WEFT_DEVICE void operator()() const {
    dev::Context ctx(handle);
    dev::reduce<ReduceOp::kSum>(ctx, dev::Block{}, team, sums, values, 3);
    dev::barrier(ctx, dev::Block{}, team);
  }
};

Status check_kernels(Runtime& rt, const DeviceContext& handle, Word* words) {
  constexpr std::size_t kCount = 100;
  Word* const data = words + kLamport - 2 * kCount;
  const auto mine = marks(rt.pe(), kCount);
  const Word zeros[5] = {};
  RETURN_IF_ERROR(rt.context().put(data, mine.data(), kCount, rt.pe()));
  RETURN_IF_ERROR(rt.context().put(words, zeros, 5, rt.pe()));
  RETURN_IF_ERROR(rt.barrier());
  RETURN_IF_ERROR(dev::launch({1, 6}, Ring{handle, data, words, kCount}));
  RETURN_IF_ERROR(dev::synchronize());
  RETURN_IF_ERROR(rt.barrier());
  for (std::size_t i = 0; i < kCount; ++i)
    EXPECT_EQ(there(data + kCount + i), mark(previous_of(rt), i));
  EXPECT_EQ(there(words + 1), rt.pe() == 0 ? static_cast<Word>(rt.npes()) : 0);
  EXPECT_EQ(there(words + 2), static_cast<Word>(previous_of(rt)));
  EXPECT_EQ(there(words + 3), mark(next_of(rt), 0));
  EXPECT_EQ(there(words + 4), rt.context().ptr(words, previous_of(rt)) != nullptr ? 9u : 0u);
  RETURN_IF_ERROR(rt.barrier());
  const auto first = static_cast<Word>(rt.pe());
  write(words, {first, first + 1, first + 2});
  RETURN_IF_ERROR(dev::launch({1, 5}, AddUp{handle, rt.world(), words + 8, words}));
  RETURN_IF_ERROR(dev::synchronize());
  const auto n = static_cast<Word>(rt.npes());
  for (Word i = 0; i < 3; ++i) EXPECT_EQ(there(words + 8 + i), n * i + n * (n - 1) / 2);
  RETURN_IF_ERROR(rt.barrier());
  return rt.health();
}

TEST_P(GpuAdoptTest, KernelsTakeItsAddresses) {
  for (const bool check : {false, true})
    run(
        [](Runtime& rt, From from) -> Status {
          ASSIGN_OR_RETURN(const DeviceContext before, rt.context().device());
          Word* const words = make_words(rt, from);
          RETURN_IF_ERROR(rt.adopt({piece(words)}));
          RETURN_IF_ERROR(check_kernels(rt, before, words));
          Word* const more = make_words(rt, from);
          RETURN_IF_ERROR(rt.adopt({piece(more)}));
          ASSIGN_OR_RETURN(const DeviceContext after, rt.context().device());
          RETURN_IF_ERROR(check_kernels(rt, after, more));
          return check_kernels(rt, after, words);
        },
        check);
}

TEST_P(GpuAdoptTest, StreamsAndCollectivesTakeItsAddresses) {
  run([](Runtime& rt, From from) -> Status {
    Word* const words = make_words(rt, from);
    RETURN_IF_ERROR(rt.adopt({piece(words)}));
    const auto npes = static_cast<std::size_t>(rt.npes());
    constexpr std::size_t kMany = 40'000;  // a grid that reads where the others' lie
    write(words, marks(rt.pe(), kMany));
    RETURN_IF_ERROR(rt.barrier());
    Platform& platform = platform_of(rt);
    ASSIGN_OR_RETURN(const Stream stream, platform.create_stream());
    OnStream queue(rt.context(), stream);
    RETURN_IF_ERROR(queue.reduce(rt.world(), words + kMany, words, kMany, ReduceOp::kSum));
    RETURN_IF_ERROR(queue.put(words + 2 * kMany, words, 500, next_of(rt)));
    RETURN_IF_ERROR(queue.barrier(rt.world()));
    RETURN_IF_ERROR(platform.synchronize(stream));
    RETURN_IF_ERROR(platform.destroy_stream(stream));
    RETURN_IF_ERROR(show_order(rt));
    for (const std::size_t i : {std::size_t{0}, kMany - 1}) {
      Word sum = 0;
      for (std::size_t pe = 0; pe < npes; ++pe) sum += mark(static_cast<int>(pe), i);
      EXPECT_EQ(there(words + kMany + i), sum);
    }
    EXPECT_EQ(there(words + 2 * kMany + 499), mark(previous_of(rt), 499));
    RETURN_IF_ERROR(rt.barrier());
    RETURN_IF_ERROR(fcollect(rt.context(), rt.world(), words + kMany, words, 3));
    for (std::size_t i = 0; i < 3 * npes; ++i)
      EXPECT_EQ(there(words + kMany + i), mark(static_cast<int>(i / 3), i % 3));
    return rt.barrier();
  });
}

// --- again, and no longer ------------------------------------------------------------------------

TEST_P(GpuAdoptTest, APieceMayBeAdoptedAgainAndGivenUp) {
  run([](Runtime& rt, From from) -> Status {
    // More often than there can be pieces.
    for (int round = 0; round < 300; ++round) {
      Word* const words = make_words(rt, from);
      RETURN_IF_ERROR(rt.adopt({piece(words)}));
      if (round % 100 == 0) RETURN_IF_ERROR(check_transfers(rt, words));
      RETURN_IF_ERROR(rt.disown({piece(words)}));
      EXPECT_EQ(rt.offset_of(words), std::nullopt);
      kept.pop_back();
    }
    Word* const words = make_words(rt, from);
    const OwnMemory part{words + 16, 4096, "a part"};
    RETURN_IF_ERROR(rt.adopt({piece(words)}));
    RETURN_IF_ERROR(rt.adopt({piece(words)}));
    RETURN_IF_ERROR(rt.adopt({part}));
    RETURN_IF_ERROR(rt.disown({piece(words)}));
    RETURN_IF_ERROR(check_transfers(rt, words));
    RETURN_IF_ERROR(rt.disown({part}));
    RETURN_IF_ERROR(check_transfers(rt, words));
    RETURN_IF_ERROR(rt.disown({piece(words)}));
    EXPECT_CODE(rt.disown({piece(words)}), Code::kNotSymmetric);
    const Word one = 1;
    EXPECT_CODE(rt.context().put(words, &one, 1, next_of(rt)), Code::kNotSymmetric);
    RETURN_IF_ERROR(rt.adopt({piece(words)}));
    return check_kernels(rt, *rt.context().device(), words);
  });
}

// --- freed before it was given up ---------------------------------------------------------------

// By one PE: whoever has a mapping of the old memory must not keep it.
TEST_P(GpuAdoptTest, MemoryThatWasFreedIsAdoptedAnew) {
  run([](Runtime& rt, From from) -> Status {
    Word* const words = make_words(rt, from);
    RETURN_IF_ERROR(rt.adopt({piece(words)}));
    RETURN_IF_ERROR(rt.adopt({piece(words)}));
    for (int round = 0; round < 3; ++round) {
      RETURN_IF_ERROR(check_transfers(rt, words));
      const std::byte* const before = kept.back()->base();
      if (rt.pe() == rt.npes() - 1) kept.back()->renew();
      if (kept.back()->base() != before) return Status::ok();  // a driver's, that is free to
      RETURN_IF_ERROR(rt.barrier());
      RETURN_IF_ERROR(rt.adopt({piece(words)}));
      RETURN_IF_ERROR(check_transfers(rt, words));
      RETURN_IF_ERROR(check_kernels(rt, *rt.context().device(), words));
      // A part of what was, and some that was none.
      if (rt.pe() == 0) kept.back()->renew();
      RETURN_IF_ERROR(rt.barrier());
      Word* const moved = words - 100;
      if (kept.back()->base() == before) RETURN_IF_ERROR(rt.adopt({piece(moved)}));
      RETURN_IF_ERROR(check_transfers(rt, moved));
      RETURN_IF_ERROR(rt.disown({piece(moved)}));
      RETURN_IF_ERROR(rt.adopt({piece(words)}));
    }
    return rt.health();
  });
}

TEST_P(GpuAdoptTest, FreedMemoryIsGivenUp) {
  run([](Runtime& rt, From from) -> Status {
    Word* const words = make_words(rt, from);
    RETURN_IF_ERROR(rt.adopt({piece(words)}));
    if (rt.pe() == 0) kept.back()->free();
    RETURN_IF_ERROR(rt.barrier());
    RETURN_IF_ERROR(rt.disown({piece(words)}));
    EXPECT_EQ(rt.offset_of(words), std::nullopt);
    Word* const more = make_words(rt, from);
    RETURN_IF_ERROR(rt.adopt({piece(more)}));
    return check_transfers(rt, more);
  });
}

TEST_P(GpuAdoptTest, ChecksNoticeThatMyOwnMemoryWasFreed) {
  run(
      [](Runtime& rt, From from) -> Status {
        Word* const words = make_words(rt, from);
        RETURN_IF_ERROR(rt.adopt({piece(words)}));
        RETURN_IF_ERROR(rt.context().put(words, words + 8, 1, rt.pe()));
        RETURN_IF_ERROR(rt.barrier());
        kept.back()->free();
        const Word one = 1;
        const Status put = rt.context().put(words, &one, 1, rt.pe());
        EXPECT_CODE(put, Code::kInvalidArgument);
        EXPECT_THAT(std::string(put.text()), HasSubstr("adopted and freed since"));
        RETURN_IF_ERROR(rt.barrier());
        return rt.disown({piece(words)});
      },
      true);
}

// --- what is refused -----------------------------------------------------------------------------

TEST_P(GpuAdoptTest, WhatCannotBeIsRefusedOnAll) {
  run([](Runtime& rt, From from) -> Status {
    Word* const words = make_words(rt, from);
    const auto text = [&](const OwnMemory& wrong, Code code) {
      const Status status = rt.adopt({wrong});
      EXPECT_CODE(status, code);
      return std::string(status.text());
    };
    EXPECT_THAT(text({words + 1, 64, "odd"}, Code::kInvalidArgument),
                AllOf(HasSubstr("odd"), HasSubstr("multiple of 16")));
    EXPECT_THAT(text({words, 0, "none"}, Code::kInvalidArgument), HasSubstr("has some"));
    EXPECT_THAT(text({words, 8 * kPage, "long"}, Code::kInvalidArgument), HasSubstr("long"));
    ASSIGN_OR_RETURN(Word* const heap, rt.callocate_device<Word>(64));
    EXPECT_THAT(text({heap, 64, "heap"}, Code::kInvalidArgument),
                HasSubstr("symmetric already, being in a heap"));
    if (from == From::kMapped) {
      make_words(rt, from);
      kept.back()->unmap();
      EXPECT_THAT(text({kept.back()->base(), 4096, "freed"}, Code::kInvalidArgument),
                  AllOf(HasSubstr("freed"), HasSubstr("cannot be adopted")));
    }
    RETURN_IF_ERROR(rt.adopt({piece(words)}));
    EXPECT_THAT(text({words - 16, 4096, "beside"}, Code::kInvalidArgument),
                HasSubstr("adopted already"));
    if (rt.npes() == 1) return Status::ok();
    Word* const more = make_words(rt, from);
    const bool odd = rt.pe() == 1;
    EXPECT_THAT(
        text({more, odd ? 128u : 64u, "more"}, Code::kNotSymmetric),
        AllOf(HasSubstr("128 bytes of more in GPU memory) on PE 1"), HasSubstr("64 bytes")));
    alignas(4096) static thread_local std::byte on_host[4096];
    EXPECT_THAT(text({odd ? static_cast<void*>(on_host) : more, 4096, "one"}, Code::kNotSymmetric),
                HasSubstr("adopt(4096 bytes of one) on PE 1"));
    // Once adopted on one PE, new on another.
    EXPECT_THAT(text(odd ? piece(words, "some") : piece(more, "some"), Code::kNotSymmetric),
                HasSubstr("adopted before at offset"));
    // A PE whose memory lies on another GPU than it uses.
    const int gpus = *gpu::count_gpus(driver());
    if (gpus > 1) {
      const OwnGpuMemory elsewhere =
          OwnGpuMemory::allocated(driver(), (rt.gpu() + 1) % gpus, kPage);
      const OwnMemory far{odd ? elsewhere.base() : reinterpret_cast<std::byte*>(more), 4096, "far"};
      EXPECT_THAT(text(far, Code::kInvalidArgument), HasSubstr("they are memory of GPU"));
      RETURN_IF_ERROR(rt.barrier());
    }
    return check_transfers(rt, words);
  });
}

// Nobody has adopted what one PE alone cannot open, and all can try again.
TEST_P(GpuAdoptTest, WhatFailsOnOnePeFailsOnAll) {
  if (driver().file.empty()) GTEST_SKIP() << "no real driver fails when told to";
  if (GetParam().group.pes != Pes::kProcesses || GetParam().group.npes == 1) return;
  run([](Runtime& rt, From from) -> Status {
    for (const char* calls : {"cuMemImportFromShareableHandle:1:304,cuIpcOpenMemHandle_v2:1:304",
                              "cuMemExportToShareableHandle:1:304,cuIpcGetMemHandle:1:304"}) {
      Word* const words = make_words(rt, from);
      RETURN_IF_ERROR(rt.barrier());
      if (rt.pe() == 1) fail_in(calls);
      const Status refused = rt.adopt({piece(words)});
      EXPECT_FALSE(refused.is_ok());
      EXPECT_THAT(std::string(refused.text()),
                  HasSubstr(rt.pe() == 1 ? "(304)" : "failed on PE 1"));
      EXPECT_EQ(rt.offset_of(words), std::nullopt);
      RETURN_IF_ERROR(rt.adopt({piece(words)}));
      RETURN_IF_ERROR(check_transfers(rt, words));
    }
    return rt.health();
  });
}

TEST(GpuAdoptFull, ThereIsAnEndToPieces) {
  Options options = cases().front().group.options;
  EXPECT_OK(run_pes({Pes::kThreads, 1, options, {}}, [](Runtime& rt) -> Status {
    const OwnGpuMemory mine = OwnGpuMemory::allocated(driver(), rt.gpu(), kPage);
    for (std::size_t i = 0; i < 256; ++i)
      RETURN_IF_ERROR(rt.adopt({{mine.base() + 64 * i, 64, "a line"}}));
    const OwnMemory last{mine.base() + 64 * 256, 64, "the last"};
    EXPECT_THAT(std::string(rt.adopt({last}).text()), HasSubstr("as many as there can be"));
    RETURN_IF_ERROR(rt.disown({{mine.base() + 64 * 9, 64, "a line"}}));
    RETURN_IF_ERROR(rt.adopt({last}));
    for (std::size_t i = 0; i <= 256; ++i)
      if (i != 9) RETURN_IF_ERROR(rt.disown({{mine.base() + 64 * i, 64, "a line"}}));
    return Status::ok();
  }));
}

INSTANTIATE_TEST_SUITE_P(Pes, GpuAdoptTest, ::testing::ValuesIn(cases()), name_of);

}  // namespace
}  // namespace weft
