#include "host/transport/apply.hpp"

#include <cstring>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/random.hpp"

namespace weft {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kHeap = 1 << 17;

std::uint64_t address(const void* p) { return reinterpret_cast<std::uint64_t>(p); }

class ApplyTest : public ::testing::Test {
 protected:
  std::mt19937_64 random{test_seed()};
  std::vector<std::byte> storage = random_bytes(random, kHeap + 64);
  std::byte* heap = reinterpret_cast<std::byte*>((address(storage.data()) + 63) / 64 * 64);
};

constexpr std::size_t kSizes[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 63, 64, 65, 4096, 65537};

TEST_F(ApplyTest, PutWritesItsBytesAndNoOthers) {
  for (const std::size_t bytes : kSizes) {
    for (const std::size_t remote : {64u, 65u, 66u, 68u, 71u}) {
      const std::vector<std::byte> before(heap, heap + kHeap);
      const std::vector<std::byte> source = random_bytes(random, bytes);
      Op op;
      op.kind = OpKind::kPut;
      op.bytes = bytes;
      op.local = address(source.data());
      op.remote = remote;
      apply_op(op, heap);
      std::vector<std::byte> wanted = before;
      std::copy(source.begin(), source.end(), wanted.begin() + static_cast<std::ptrdiff_t>(remote));
      ASSERT_EQ(std::memcmp(wanted.data(), heap, kHeap), 0) << bytes << " at " << remote;
    }
  }
}

TEST_F(ApplyTest, GetReadsItsBytesAndWritesNoOthers) {
  for (const std::size_t bytes : kSizes) {
    for (const std::size_t remote : {0u, 1u, 2u, 4u, 7u}) {
      std::vector<std::byte> mine = random_bytes(random, bytes + 2);
      const std::vector<std::byte> before = mine;
      Op op;
      op.kind = OpKind::kGet;
      op.bytes = bytes;
      op.local = address(mine.data() + 1);
      op.remote = remote;
      apply_op(op, heap);
      ASSERT_EQ(mine.front(), before.front());
      ASSERT_EQ(mine.back(), before.back());
      ASSERT_TRUE(std::equal(heap + remote, heap + remote + bytes, mine.data() + 1)) << bytes;
    }
  }
}

TEST_F(ApplyTest, PutToMyselfMayOverlap) {
  const std::vector<std::byte> before(heap, heap + 100);
  Op op;
  op.kind = OpKind::kPut;
  op.bytes = 100;
  op.local = address(heap);
  op.remote = 3;
  apply_op(op, heap);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), heap + 3));
}

// The word that each atomic leaves behind, told independently of the code under test.
std::uint64_t wanted_word(OpKind kind, std::uint64_t old, std::uint64_t value,
                          std::uint64_t compare) {
  switch (kind) {
    case OpKind::kAmoSet:
    case OpKind::kAmoSwap: return value;
    case OpKind::kAmoAdd:
    case OpKind::kAmoFetchAdd: return old + value;
    case OpKind::kAmoAnd:
    case OpKind::kAmoFetchAnd: return old & value;
    case OpKind::kAmoOr:
    case OpKind::kAmoFetchOr: return old | value;
    case OpKind::kAmoXor:
    case OpKind::kAmoFetchXor: return old ^ value;
    case OpKind::kAmoCompareSwap: return old == compare ? value : old;
    default: return old;
  }
}

TEST_F(ApplyTest, EveryAtomicOfBothWidths) {
  for (int round = 0; round < 50; ++round) {
    for (int k = static_cast<int>(OpKind::kAmoSet); k <= static_cast<int>(OpKind::kAmoFetchXor);
         ++k) {
      for (const std::uint8_t width : {std::uint8_t{4}, std::uint8_t{8}}) {
        const std::uint64_t mask = width == 4 ? 0xffffffffu : ~std::uint64_t{0};
        const std::vector<std::byte> before(heap, heap + 256);
        std::uint64_t old = 0;
        std::memcpy(&old, heap + 128, width);
        std::uint64_t result[2] = {random(), random()};
        const std::uint64_t poison[2] = {result[0], result[1]};
        Op op;
        op.kind = static_cast<OpKind>(k);
        op.width = width;
        op.remote = 128;
        op.value = random();
        op.compare = round % 2 == 0 ? old : random();
        op.result = address(result);
        apply_op(op, heap);

        std::uint64_t now = 0;
        std::memcpy(&now, heap + 128, width);
        const std::uint64_t wanted =
            wanted_word(op.kind, old, op.value & mask, op.compare & mask) & mask;
        ASSERT_EQ(now, wanted) << to_string(op.kind) << " " << int{width};
        ASSERT_TRUE(std::equal(before.begin(), before.begin() + 128, heap));
        ASSERT_TRUE(std::equal(before.begin() + 128 + width, before.end(), heap + 128 + width));
        // The old value, `width` bytes of it, or nothing at all.
        std::uint64_t expected[2] = {poison[0], poison[1]};
        if (is_fetching(op.kind)) std::memcpy(expected, &old, width);
        ASSERT_EQ(std::memcmp(result, expected, sizeof(result)), 0) << to_string(op.kind);
      }
    }
  }
}

TEST_F(ApplyTest, NotifySetsOrAddsAndZeroBytesIsAPlainSignal) {
  std::uint64_t before = 0;
  std::memcpy(&before, heap + 8, 8);
  Op op;
  op.kind = OpKind::kPut;
  op.signal = 8;
  op.notify = NotifyOp::kAdd;
  op.value = 5;
  apply_op(op, heap);
  std::uint64_t now = 0;
  std::memcpy(&now, heap + 8, 8);
  EXPECT_EQ(now, before + 5);
  op.notify = NotifyOp::kSet;
  apply_op(op, heap);
  std::memcpy(&now, heap + 8, 8);
  EXPECT_EQ(now, 5u);
}

// Without the release on the notify, ThreadSanitizer reports the reader; without the order, so does
// a machine with weakly ordered stores.
TEST_F(ApplyTest, WhoSeesTheNotifySeesTheData) {
  constexpr int kRounds = 200;
  auto* signal = reinterpret_cast<std::uint64_t*>(heap);
  auto* reply = reinterpret_cast<std::uint64_t*>(heap + 64);
  *signal = *reply = 0;
  std::thread writer([&] {
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      const std::vector<std::uint64_t> data(9, round);
      Op op;
      op.kind = OpKind::kPut;
      op.bytes = 72;
      op.local = address(data.data());
      op.remote = 128;
      op.signal = 0;
      op.notify = round % 2 == 0 ? NotifyOp::kSet : NotifyOp::kAdd;
      op.value = round % 2 == 0 ? round : 1;
      apply_op(op, heap);
      while (__atomic_load_n(reply, __ATOMIC_ACQUIRE) != round) std::this_thread::yield();
    }
  });
  int wrong = 0;
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    while (__atomic_load_n(signal, __ATOMIC_ACQUIRE) != round) std::this_thread::yield();
    for (int i = 0; i < 9; ++i) {
      std::uint64_t word = 0;
      std::memcpy(&word, heap + 128 + 8 * i, 8);
      if (word != round) ++wrong;
    }
    __atomic_store_n(reply, round, __ATOMIC_RELEASE);
  }
  writer.join();
  EXPECT_EQ(wrong, 0);
}

// The same through a put of one aligned word, of each width, as the flag. The data is written and
// read as words: ThreadSanitizer loses sight of neighbouring bytes.
TEST_F(ApplyTest, AnAlignedWordPutIsAFlag) {
  auto* data = reinterpret_cast<std::uint64_t*>(heap + 128);
  auto* reply = reinterpret_cast<std::uint64_t*>(heap + 64);
  *reply = 0;
  std::memset(heap, 0, 8);
  constexpr std::uint8_t kRounds = 100;
  std::thread writer([&] {
    for (std::uint8_t round = 1; round <= kRounds; ++round) {
      for (int i = 0; i < 5; ++i) data[i] = round;
      const std::uint64_t flag = round;
      Op op;
      op.kind = OpKind::kPut;
      op.bytes = std::size_t{1} << (round % 4);
      op.local = address(&flag);
      apply_op(op, heap);
      while (__atomic_load_n(reply, __ATOMIC_ACQUIRE) != round) std::this_thread::yield();
    }
  });
  int wrong = 0;
  for (std::uint8_t round = 1; round <= kRounds; ++round) {
    std::uint64_t seen = 0;
    while (seen != round) {  // polled as a get does it
      Op op;
      op.kind = OpKind::kGet;
      op.bytes = std::size_t{1} << (round % 4);
      op.local = address(&seen);
      apply_op(op, heap);
      std::this_thread::yield();
    }
    for (int i = 0; i < 5; ++i) wrong += data[i] != round;
    __atomic_store_n(reply, round, __ATOMIC_RELEASE);
  }
  writer.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(ApplyTest, AtomicsOfManyThreadsLoseNothing) {
  std::memset(heap, 0, 16);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      Op op;
      op.kind = OpKind::kAmoAdd;
      op.value = 1;
      for (int i = 0; i < 5000; ++i) {
        op.width = 8;
        op.remote = 0;
        apply_op(op, heap);
        op.width = 4;
        op.remote = 8;
        apply_op(op, heap);
      }
    });
  for (std::thread& thread : threads) thread.join();
  std::uint64_t wide = 0;
  std::uint32_t narrow = 0;
  std::memcpy(&wide, heap, 8);
  std::memcpy(&narrow, heap + 8, 4);
  EXPECT_EQ(wide, 20000u);
  EXPECT_EQ(narrow, 20000u);
}

// --- what is refused ------------------------------------------------------------------------

Op good_put() {
  static std::uint64_t source[8];
  Op op;
  op.kind = OpKind::kPut;
  op.pe = 1;
  op.bytes = 64;
  op.local = address(source);
  op.remote = 0x40;
  return op;
}

void expect_refused(const Op& op, Code code, const std::string& text) {
  const Status status = check_op(op, 4, {.heap = 1024});
  EXPECT_EQ(status.code(), code) << status.to_string();
  EXPECT_THAT(std::string(status.text()), HasSubstr(text));
}

TEST(CheckOp, TakesWhatIsRight) {
  Op op = good_put();
  EXPECT_TRUE(check_op(op, 4, {.heap = 1024}).is_ok());
  op.remote = 1024 - 64;  // the last bytes
  EXPECT_TRUE(check_op(op, 4, {.heap = 1024}).is_ok());
  op.bytes = 0;  // nothing to move, so nothing to look at
  op.local = 0;
  op.remote = 1 << 20;
  EXPECT_TRUE(check_op(op, 4, {.heap = 1024}).is_ok());
  op = Op{};
  op.kind = OpKind::kFence;
  op.pe = kAllPes;
  EXPECT_TRUE(check_op(op, 4, {}).is_ok());
}

TEST(CheckOp, TakesAdoptedMemoryBehindTheHeap) {
  const Extent extent{.heap = 1024, .adopted_at = 8192, .adopted_end = 8192 + 256};
  Op op = good_put();
  for (const std::uint64_t offset : {0, 1024 - 64, 8192, 8192 + 256 - 64}) {
    op.remote = offset;
    EXPECT_TRUE(check_op(op, 4, extent).is_ok()) << offset;
  }
  for (const std::uint64_t offset : {1024 - 63, 1024, 8191, 8192 + 256 - 63, 1 << 20}) {
    op.remote = offset;
    EXPECT_EQ(check_op(op, 4, extent).code(), Code::kOutOfRange) << offset;
  }
}

TEST(CheckOp, NamesAWrongPe) {
  Op op = good_put();
  op.pe = 4;
  expect_refused(op, Code::kOutOfRange, "PEs 0 to 3; PE 4 does not exist");
  op.pe = kAllPes;  // for fences only
  expect_refused(op, Code::kOutOfRange, "does not exist");
  op.kind = OpKind::kFence;
  op.pe = 7;
  expect_refused(op, Code::kOutOfRange, "PE 7");
}

TEST(CheckOp, NamesARangeThatLeavesTheHeap) {
  Op op = good_put();
  op.remote = 1024 - 63;
  expect_refused(op, Code::kOutOfRange, "64 bytes at offset 0x3c1");
  op.remote = ~std::uint64_t{0} - 8;  // the sum wraps
  expect_refused(op, Code::kOutOfRange, "do not lie in the 1024 bytes");
  op.remote = 0;
  op.bytes = ~std::uint64_t{0};
  expect_refused(op, Code::kOutOfRange, "18446744073709551615 bytes");
}

TEST(CheckOp, NamesNullAndBadSignals) {
  Op op = good_put();
  op.local = 0;
  expect_refused(op, Code::kInvalidArgument, "null");
  op = good_put();
  op.notify = NotifyOp::kSet;
  op.signal = 12;
  expect_refused(op, Code::kInvalidArgument, "0xc is not a multiple of 8");
  op.signal = 1024;
  expect_refused(op, Code::kOutOfRange, "offset 0x400");
  op.signal = 8;
  op.notify = static_cast<NotifyOp>(9);
  expect_refused(op, Code::kInvalidArgument, "notify 9");
  op.notify = NotifyOp::kSet;
  op.kind = OpKind::kGet;
  expect_refused(op, Code::kInvalidArgument, "a put takes");
}

TEST(CheckOp, NamesBadAtomics) {
  Op op;
  op.kind = OpKind::kAmoAdd;
  op.remote = 8;
  for (const int width : {0, 1, 2, 3, 5, 16, 255}) {
    op.width = static_cast<std::uint8_t>(width);
    expect_refused(op, Code::kInvalidArgument, "4 or 8 bytes");
  }
  op.width = 8;
  op.remote = 12;
  expect_refused(op, Code::kInvalidArgument, "0xc is not a multiple");
  op.remote = 1024;
  expect_refused(op, Code::kOutOfRange, "0x400");
  op.remote = 8;
  op.kind = OpKind::kAmoFetchAdd;
  expect_refused(op, Code::kInvalidArgument, "old value is null");
}

TEST(CheckOp, NamesAKindThatDoesNotExist) {
  Op op;
  expect_refused(op, Code::kInvalidArgument, "kind 0");
  for (const int kind : {16, 17, 200, 255}) {
    op.kind = static_cast<OpKind>(kind);
    expect_refused(op, Code::kInvalidArgument, "does not exist");
  }
}

TEST(DescribeOp, SaysWhatItDoes) {
  Op op = good_put();
  op.notify = NotifyOp::kAdd;
  op.signal = 0x80;
  op.value = 3;
  EXPECT_EQ(describe(op), "put of 64 bytes to PE 1 at heap offset 0x40, then add 3 to 0x80");
  op.bytes = 0;
  EXPECT_EQ(describe(op), "signal to PE 1, add 3 at heap offset 0x80");
  op = Op{};
  op.kind = OpKind::kFence;
  op.pe = kAllPes;
  EXPECT_EQ(describe(op), "fence to every PE");
}

}  // namespace
}  // namespace weft
