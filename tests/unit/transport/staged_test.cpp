// staged over platforms of the host that fail when a test says so: what is refused, and that a
// failure ends an op without leaving a copy behind.
#include "host/transport/transports.hpp"

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/transport/transport.hpp"
#include "tests/support/idle_platform.hpp"
#include "tests/support/random.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kHeap = std::size_t{4} << 20;

const Blob kPiece(2);  // what shares adopted memory

Status broken() { return Status::error(Code::kIo, "broken"); }

// A GPU whose memory is here, and whose copies run when the stream is waited for.
class Gpu final : public test::IdlePlatform {
 public:
  std::string_view name() const override { return "gpu"; }
  bool is_host_accessible() const override { return false; }
  bool maps_where_told() const override { return false; }
  std::string why_not_owned(const Blob&) const override { return hidden; }
  Result<Platform*> owner(const Blob&) override { return peer; }
  bool adopts_where_told() const override { return false; }
  Result<Memory> open(const Blob& blob, Range where) override {
    if (blob == kPiece) return Memory({piece.data(), where.bytes}, nullptr);
    return Memory({heap.data(), heap.size()}, nullptr);
  }
  Result<Memory> host_visible(std::size_t bytes) override {
    auto block = std::make_shared<std::vector<std::byte>>(bytes);
    std::byte* const base = block->data();
    return Memory({base, bytes}, std::move(block));
  }
  Status copy(void* dst, const void* src, std::size_t bytes, Stream) override {
    if (fails_at != 0 && --fails_at == 0) return broken();
    queued.push_back({dst, src, bytes});
    return Status::ok();
  }
  Status synchronize(Stream) override {
    for (const Copy& copy : queued) std::memcpy(copy.dst, copy.src, copy.bytes);
    queued.clear();
    return Status::ok();
  }
  Status check_launch() const override { return launches ? Status::ok() : broken(); }

  struct Copy {
    void* dst;
    const void* src;
    std::size_t bytes;
  };
  std::vector<std::byte> heap = std::vector<std::byte>(kHeap);
  std::vector<std::byte> piece = std::vector<std::byte>(1000);
  std::vector<Copy> queued;
  std::string hidden;
  Gpu* peer = nullptr;
  int fails_at = 0;  // which copy, from 1
  bool launches = true;
};

class StagedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    mine.peer = &theirs;
    TransportEnv env;
    env.npes = 2;
    env.platform = &mine;
    env.heap = {mine.heap.data(), kHeap};
    env.options = &options;
    env.is_gpu = true;
    env.adopted_at = kHeap;
    staged = make_staged(env);
    const Blob address = *staged->address();
    ASSERT_OK(staged->connect(std::vector<Blob>{address, address}));
  }
  void attach() { ASSERT_OK(staged->attach(1, 0, kHeap, Blob(1))); }
  Op op(OpKind kind, std::uint64_t remote, void* local, std::size_t bytes) const {
    Op op;
    op.kind = kind;
    op.pe = 1;
    op.remote = remote;
    op.local = reinterpret_cast<std::uint64_t>(local);
    op.bytes = bytes;
    return op;
  }

  Options options;
  Gpu mine, theirs;
  std::unique_ptr<Transport> staged;
};

TEST_F(StagedTest, LargeOpsGoInHalvesAndKeepTheirBytes) {
  attach();
  std::mt19937_64 random(test_seed());
  for (const std::size_t bytes :
       {std::size_t{1}, std::size_t{1} << 20, (std::size_t{3} << 20) + 7}) {
    std::vector<std::byte> source(bytes), back(bytes);
    for (std::byte& each : source) each = static_cast<std::byte>(random());
    EXPECT_OK(staged->post(host_lane(0), op(OpKind::kPut, 5, source.data(), bytes)));
    EXPECT_EQ(std::memcmp(theirs.heap.data() + 5, source.data(), bytes), 0);
    EXPECT_OK(staged->post(host_lane(0), op(OpKind::kGet, 5, back.data(), bytes)));
    EXPECT_EQ(back, source);
  }
  EXPECT_EQ(staged->completed(host_lane(0)), 6u);
}

TEST_F(StagedTest, AdoptedMemoryIsFoundApartUntilItIsNoLonger) {
  attach();
  constexpr std::uint64_t kAt = kHeap + 512;
  const auto mapping = staged->attach(1, kAt, 1000, kPiece);
  ASSERT_OK(mapping);
  EXPECT_EQ(mapping->apart, theirs.piece.data());
  std::byte byte{7};
  EXPECT_OK(staged->post(host_lane(0), op(OpKind::kPut, kAt + 999, &byte, 1)));
  EXPECT_EQ(theirs.piece[999], std::byte{7});
  Op notified = op(OpKind::kPut, 64, &byte, 1);
  notified.notify = NotifyOp::kSet;
  notified.signal = kAt + 8;
  notified.value = 5;
  EXPECT_OK(staged->post(host_lane(0), notified));
  EXPECT_EQ(theirs.heap[64], std::byte{7});
  EXPECT_EQ(theirs.piece[8], std::byte{5});
  const auto text = [&](std::uint64_t at) {
    const Status refused = staged->post(host_lane(0), op(OpKind::kPut, at, &byte, 1));
    EXPECT_CODE(refused, Code::kOutOfRange);
    return std::string(refused.text());
  };
  EXPECT_THAT(text(kAt - 1), HasSubstr("was adopted memory, and is no longer"));
  EXPECT_THAT(text(kAt + 1000), HasSubstr("do not lie in"));
  staged->detach(1, kAt);
  EXPECT_THAT(text(kAt), HasSubstr("was adopted memory, and is no longer"));
  EXPECT_CODE(staged->post(host_lane(0), notified), Code::kOutOfRange);
  EXPECT_OK(staged->post(host_lane(0), op(OpKind::kPut, 5, &byte, 1)));
}

TEST_F(StagedTest, ACopyThatFailsEndsTheOpAndNothingIsLeftOnAStream) {
  attach();
  std::vector<std::byte> source(std::size_t{3} << 20);
  for (Gpu* const gpu : {&mine, &theirs}) {
    for (int at = 1; at <= 3; ++at) {
      gpu->fails_at = at;
      const Status failed =
          staged->post(host_lane(0), op(OpKind::kPut, 0, source.data(), source.size()));
      EXPECT_CODE(failed, Code::kIo);
      EXPECT_TRUE(mine.queued.empty() && theirs.queued.empty()) << at;
    }
  }
  EXPECT_EQ(staged->completed(host_lane(0)), 0u);
  EXPECT_OK(staged->post(host_lane(0), op(OpKind::kPut, 0, source.data(), source.size())));
}

TEST_F(StagedTest, WithoutKernelsAtomicsAreRefusedBeforeAnythingMoves) {
  attach();
  theirs.launches = false;
  std::uint64_t value = 5;
  Op put = op(OpKind::kPut, 0, &value, 8);
  put.signal = 64;
  put.value = 9;
  put.notify = NotifyOp::kAdd;
  const Status refused = staged->post(host_lane(0), put);
  EXPECT_CODE(refused, Code::kIo);
  EXPECT_THAT(std::string(refused.text()),
              HasSubstr("put of 8 bytes to PE 1 at heap offset 0x0, then add 9 to 0x40: atomics on "
                        "a GPU that mine does not reach are kernels of libweft there, and broken"));
  EXPECT_EQ(theirs.heap[0], std::byte{0});
  Op fetch = op(OpKind::kAmoFetch, 0, nullptr, 0);
  fetch.width = 8;
  fetch.result = reinterpret_cast<std::uint64_t>(&value);
  EXPECT_CODE(staged->post(host_lane(0), fetch), Code::kIo);
  put.notify = NotifyOp::kSet;
  EXPECT_OK(staged->post(host_lane(0), put));
  EXPECT_EQ(theirs.heap[0], std::byte{5});
  EXPECT_EQ(theirs.heap[64], std::byte{9});
}

TEST_F(StagedTest, BeforeAChunkIsAttachedOpsAreOutOfRange) {
  std::uint64_t value = 5;
  EXPECT_CODE(staged->post(host_lane(0), op(OpKind::kPut, 0, &value, 8)), Code::kOutOfRange);
  Op add = op(OpKind::kAmoAdd, 0, nullptr, 0);
  add.width = 8;
  EXPECT_CODE(staged->post(host_lane(0), add), Code::kOutOfRange);
}

TEST_F(StagedTest, AGpuThatIsHiddenIsOutOfReach) {
  mine.hidden = "it is hidden";
  const Blob address = *staged->address();
  ASSERT_OK(staged->connect(std::vector<Blob>{address, address}));
  EXPECT_FALSE(staged->reaches(1));
  EXPECT_EQ(staged->why_not(1), "it is hidden");
}

TEST(StagedOnHosts, MemoryOfTheHostIsLeftToOthers) {
  Options options;
  TransportEnv env;
  env.platform = &cpu_platform();
  env.options = &options;
  const auto staged = make_staged(env);
  ASSERT_OK(staged->connect(std::vector<Blob>{*staged->address()}));
  EXPECT_THAT(staged->why_not(0), HasSubstr("memory of the cpu is mapped or out of reach"));
}

}  // namespace
}  // namespace weft
