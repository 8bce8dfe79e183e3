#include "host/transport/transports.hpp"

#include <cstdio>
#include <cstring>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/topology/facts.hpp"
#include "src/base/status.hpp"
#include "tests/support/idle_platform.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

using test::IdlePlatform;

using ::testing::HasSubstr;

// Memory that is never touched, and peers that refuse when told to.
class FakePlatform final : public IdlePlatform {
 public:
  bool is_host_accessible() const override { return host_accessible; }
  Blob identity() const override { return Blob(5, std::byte{9}); }
  std::string why_not_mapped(const Blob& peer) const override {
    EXPECT_EQ(peer, identity());
    return refuse_peer;
  }
  Result<Memory> reserve(std::size_t bytes) override {
    if (!refuse_reserve.empty()) return Status::error(Code::kOutOfMemory, refuse_reserve);
    ++reservations;
    return Memory({reinterpret_cast<std::byte*>(0x100000), bytes}, nullptr);
  }
  Result<Blob> share(const Memory&) override {
    ++shared;
    return Blob(3, std::byte{7});
  }
  Result<Memory> open(const Blob& blob, Range where) override {
    if (!refuse_open.empty()) return Status::error(Code::kIo, refuse_open);
    EXPECT_EQ(blob, Blob(3, std::byte{7}));
    opened.push_back(where);
    return Memory(where, std::make_shared<Count>(&open_chunks));
  }

  struct Count {
    explicit Count(int* n) : n_(n) { ++*n_; }
    ~Count() { --*n_; }
    int* n_;
  };
  std::string refuse_reserve, refuse_open, refuse_peer;
  bool host_accessible = true;
  int reservations = 0, shared = 0, open_chunks = 0;
  std::vector<Range> opened;
};

class P2pTest : public ::testing::Test {
 protected:
  P2pTest() {
    env.pe = 0;
    env.npes = 3;
    env.platform = &platform;
    env.heap = {reinterpret_cast<std::byte*>(0x700000), 1 << 20};
    env.options = &options;
    p2p = make_p2p(env);
    mine = *p2p->address();
  }
  // My own address, as another PE's would differ from it. Facts come first.
  Blob other(const std::function<void(Facts&)>& change) const {
    Facts facts;
    std::memcpy(&facts, mine.data(), sizeof(facts));
    facts.process[3] ^= std::byte{1};
    change(facts);
    Blob blob = mine;
    std::memcpy(blob.data(), &facts, sizeof(facts));
    return blob;
  }
  Blob other_process() const {
    return other([](Facts&) {});
  }
  void connect(const Blob& one, const Blob& two) {
    const std::vector<Blob> all = {mine, one, two};
    ASSERT_OK(p2p->connect(all));
  }
  void expect_not_reached(int pe, const std::string& why) {
    EXPECT_FALSE(p2p->reaches(pe));
    EXPECT_THAT(p2p->why_not(pe), HasSubstr(why));
  }

  Options options;
  FakePlatform platform;
  TransportEnv env;
  std::unique_ptr<Transport> p2p;
  Blob mine;
  const Blob handle = Blob(3, std::byte{7});
};

TEST_F(P2pTest, BeforeConnectNobodyIsReached) { expect_not_reached(1, "connect"); }

TEST_F(P2pTest, AThreadOfMyProcessIsReachedAtItsOwnAddressWithoutAHandle) {
  connect(mine, mine);
  EXPECT_TRUE(p2p->reaches(1));
  EXPECT_EQ(p2p->why_not(1), "");
  const auto exposed = p2p->expose({0, Memory({env.heap.base, 4096}, nullptr)});
  ASSERT_OK(exposed);
  EXPECT_EQ(platform.shared, 0);
  const auto mapping = p2p->attach(1, 0, 4096, *exposed);
  ASSERT_OK(mapping);
  EXPECT_EQ(mapping->heap, env.heap.base);
  EXPECT_EQ(platform.reservations, 0);
}

TEST_F(P2pTest, MemoryOfGpusIsMappedAnewEvenWithinAProcess) {
  platform.host_accessible = false;
  connect(mine, mine);
  EXPECT_EQ(*p2p->expose({0, Memory()}), handle);
  ASSERT_OK(p2p->attach(1, 0, 4096, handle));
  EXPECT_EQ(platform.opened.back().base, reinterpret_cast<std::byte*>(0x100000));
  EXPECT_CODE(p2p->attach(2, 0, 4096, Blob()).status(), Code::kInternal);
}

TEST_F(P2pTest, PeersLieAtEqualDistancesWhereThereIsAPlaceForEach) {
  TransportEnv placed = env;
  placed.places = Memory({reinterpret_cast<std::byte*>(0x70000000), 3 << 20}, nullptr);
  p2p = make_p2p(placed);
  mine = *p2p->address();
  connect(other_process(), other_process());
  for (const int pe : {1, 2}) {
    const auto mapping = p2p->attach(pe, 4096, 4096, handle);
    ASSERT_OK(mapping);
    EXPECT_EQ(mapping->heap, placed.places.base() + (pe << 20));
    EXPECT_EQ(platform.opened.back().base, mapping->heap + 4096);
  }
  EXPECT_EQ(platform.reservations, 0);
}

TEST_F(P2pTest, ThePlatformMayRuleAPeerOut) {
  platform.refuse_peer = "GPU 0 and GPU 1 cannot reach each other";
  connect(other_process(), other([](Facts& facts) { facts.uid += 1; }));
  expect_not_reached(1, "GPU 0 and GPU 1 cannot reach each other");
  expect_not_reached(2, "as user");
}

TEST_F(P2pTest, MemoryThatHostThreadsDoNotReachTakesNoOperations) {
  connect(mine, mine);
  ASSERT_OK(p2p->attach(1, 0, 4096, Blob()));
  Op op;
  op.kind = OpKind::kPut;
  op.pe = 1;
  EXPECT_OK(p2p->check(op));
  platform.host_accessible = false;
  EXPECT_CODE(p2p->check(op), Code::kUnsupported);
}

TEST_F(P2pTest, AProcessIsMappedIntoOneReservationChunkByChunk) {
  connect(other_process(), mine);
  EXPECT_TRUE(p2p->reaches(1));
  EXPECT_EQ(*p2p->expose({0, Memory()}), handle);
  for (const std::uint64_t offset : {0, 4096, 8192}) {
    const auto mapping = p2p->attach(1, offset, 4096, handle);
    ASSERT_OK(mapping);
    EXPECT_EQ(mapping->heap, reinterpret_cast<std::byte*>(0x100000));
    EXPECT_EQ(platform.opened.back().base, mapping->heap + offset);
  }
  EXPECT_EQ(platform.reservations, 1);
  EXPECT_EQ(platform.open_chunks, 3);
  p2p->detach(1, 8192);
  EXPECT_EQ(platform.open_chunks, 2);
  ASSERT_OK(p2p->attach(1, 8192, 4096, handle));  // the chunk is tried again
  EXPECT_EQ(platform.open_chunks, 3);
  p2p.reset();
  EXPECT_EQ(platform.open_chunks, 0);
}

TEST_F(P2pTest, EveryReasonNotToReachIsNamed) {
  expect_not_reached(0, "connect");
  connect(other([](Facts& facts) {
            std::snprintf(facts.boot_id, sizeof(facts.boot_id), "another-boot");
            std::snprintf(facts.host, sizeof(facts.host), "node9");
          }),
          other([](Facts& facts) { facts.uid += 1; }));
  expect_not_reached(0, "this PE itself");
  expect_not_reached(1, "another host, node9 (boot another-boot)");
  expect_not_reached(2, "as user");
  connect(other([](Facts& facts) { facts.netns += 1; }), mine);
  expect_not_reached(1, "network namespace");
  EXPECT_TRUE(p2p->reaches(2));
}

TEST_F(P2pTest, AHeapOfAnotherSizeIsNotReachedAndBothSizesAreNamed) {
  TransportEnv smaller = env;
  smaller.heap.bytes = 1 << 16;
  connect(*make_p2p(smaller)->address(), mine);
  expect_not_reached(1, "65536 bytes, mine to 1048576; set WEFT_HEAP_SIZE");
}

TEST_F(P2pTest, AnotherBuildIsAnError) {
  const std::vector<Blob> all = {mine, Blob(5), mine};
  const Status status = p2p->connect(all);
  EXPECT_CODE(status, Code::kVersionMismatch);
  EXPECT_THAT(std::string(status.text()), HasSubstr("PE 1 sent an address of 5 bytes"));
  EXPECT_CODE(p2p->connect(std::vector<Blob>{mine}), Code::kInternal);
}

TEST_F(P2pTest, ARefusedMappingSaysSoFromThenOn) {
  connect(other_process(), mine);
  platform.refuse_open = "the process of the chunk is gone";
  EXPECT_CODE(p2p->attach(1, 0, 4096, handle).status(), Code::kIo);
  expect_not_reached(1, "could not be mapped: the process of the chunk is gone");
  EXPECT_TRUE(p2p->reaches(2));
}

TEST_F(P2pTest, TooLittleAddressSpaceSaysSo) {
  connect(other_process(), mine);
  platform.refuse_reserve = "no address space";
  EXPECT_CODE(p2p->attach(1, 0, 4096, handle).status(), Code::kOutOfMemory);
  expect_not_reached(1, "no address space");
}

TEST_F(P2pTest, AHandleThatCannotBeRightIsRefused) {
  connect(other_process(), mine);
  EXPECT_CODE(p2p->attach(1, 0, 4096, Blob()).status(), Code::kInternal);
  EXPECT_CODE(p2p->attach(1, 1 << 20, 4096, handle).status(), Code::kInternal);
  EXPECT_CODE(p2p->attach(1, ~std::uint64_t{0}, 4096, handle).status(), Code::kInternal);
  EXPECT_TRUE(platform.opened.empty());
}

}  // namespace
}  // namespace weft
