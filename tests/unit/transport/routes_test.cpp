#include "host/transport/routes.hpp"

#include <functional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/status.hpp"
#include "tests/support/recording_transport.hpp"

namespace weft {
namespace {

using ::testing::HasSubstr;

// A transport that fails where a test wants it to.
class Fragile final : public Transport {
 public:
  explicit Fragile(int my_pe, Link link = Link::kSharedMemory)
      : my_pe_(my_pe), caps_{.maps = true, .link = link} {}
  std::string_view name() const override { return "fragile"; }
  const Caps& caps() const override { return caps_; }
  Result<Blob> address() override {
    if (fail_address) return Status::error(Code::kIo, "no address");
    return Blob(1, static_cast<std::byte>(my_pe_));
  }
  Status connect(std::span<const Blob> all) override {
    for (const Blob& blob : all) connected.push_back(static_cast<int>(blob.at(0)));
    return Status::ok();
  }
  bool reaches(int pe) const override { return pe != unreachable; }
  std::string why_not(int pe) const override { return reaches(pe) ? "" : "the door is shut"; }
  Result<Blob> expose(const Region& region) override {
    if (fail_expose) return Status::error(Code::kOutOfMemory, "no handle");
    return Blob(region.offset + 1, static_cast<std::byte>(my_pe_));
  }
  Result<Mapping> attach(int pe, std::uint64_t offset, std::uint64_t, const Blob& blob) override {
    if (pe == fail_attach) return Status::error(Code::kIo, "mapping refused");
    EXPECT_EQ(blob, Blob(offset + 1, static_cast<std::byte>(pe)));
    attached.push_back(pe);
    return Mapping{reinterpret_cast<std::byte*>(std::uintptr_t{0x1000} * (pe + 1))};
  }
  void detach(int pe, std::uint64_t) override { std::erase(attached, pe); }
  Status check(const Op&) const override { return Status::ok(); }
  Status post(Lane, const Op&) override { return Status::ok(); }
  Status progress(Lane) override { return Status::ok(); }
  std::uint64_t completed(Lane) const override { return 0; }
  Status flush(Lane) override { return Status::ok(); }

  bool fail_address = false, fail_expose = false;
  int unreachable = -1, fail_attach = -1;
  std::vector<int> connected, attached;

 private:
  int my_pe_;
  Caps caps_;
};

struct Pe {
  Fragile* transport = nullptr;
  Status connected, attached;
  Routes routes;
};

// Three PEs as threads, each with one Fragile that `prepare` may break.
std::vector<Pe> wire(const std::function<void(int pe, Fragile&)>& prepare) {
  auto bootstraps = make_local_bootstraps(3, Options{});
  std::vector<Pe> pes(3);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 3; ++i)
    threads.emplace_back([&, i] {
      auto owned = std::make_unique<Fragile>(static_cast<int>(i));
      pes[i].transport = owned.get();
      prepare(static_cast<int>(i), *owned);
      std::vector<std::unique_ptr<Transport>> transports;
      transports.push_back(std::move(owned));
      auto routes = connect_routes(std::move(transports), *bootstraps[i]);
      pes[i].connected = routes.status();
      if (!routes.is_ok()) return;
      pes[i].routes = std::move(*routes);
      const Memory chunk({reinterpret_cast<std::byte*>(0x10000), 4096}, nullptr);
      pes[i].attached = attach_chunk(pes[i].routes, *bootstraps[i], 5, chunk);
    });
  for (std::thread& thread : threads) thread.join();
  return pes;
}

TEST(Routes, EverybodyMeetsAndAttachesEverybody) {
  const auto pes = wire([](int, Fragile&) {});
  for (const Pe& pe : pes) {
    ASSERT_TRUE(pe.connected.is_ok()) << pe.connected.to_string();
    ASSERT_TRUE(pe.attached.is_ok()) << pe.attached.to_string();
    EXPECT_THAT(pe.transport->connected, ::testing::ElementsAre(0, 1, 2));
    EXPECT_THAT(pe.transport->attached, ::testing::ElementsAre(0, 1, 2));
    EXPECT_EQ(pe.routes.peer[2], reinterpret_cast<std::byte*>(0x3000));
    EXPECT_EQ(pe.routes.reason[1], "fragile");
  }
}

// A PE that could not even make its transports: all hear why, and nobody waits for it.
TEST(Routes, AFailureInsteadOfTransportsIsOneOfAll) {
  auto bootstraps = make_local_bootstraps(3, Options{});
  std::vector<Status> results(3);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 3; ++i)
    threads.emplace_back([&, i] {
      std::vector<std::unique_ptr<Transport>> transports;
      transports.push_back(std::make_unique<Fragile>(static_cast<int>(i)));
      Result<std::vector<std::unique_ptr<Transport>>> mine(std::move(transports));
      if (i == 1) mine = Status::error(Code::kOutOfMemory, "no room");
      results[i] = connect_routes(std::move(mine), *bootstraps[i]).status();
    });
  for (std::thread& thread : threads) thread.join();
  for (const Status& result : results) {
    EXPECT_TRUE(result.is(Code::kOutOfMemory)) << result.to_string();
    EXPECT_THAT(std::string(result.text()), ::testing::HasSubstr("no room"));
  }
  EXPECT_THAT(std::string(results[0].text()), ::testing::HasSubstr("PE 1"));
}

// Two networks, of which the first may not reach a PE.
TEST(Routes, ASecondNetworkIsOpenedOnlyIfSomebodyNeedsIt) {
  for (const int lacking : {-1, 2}) {
    auto bootstraps = make_local_bootstraps(3, Options{});
    std::vector<Status> results(3);
    std::vector<std::size_t> connected(3);
    std::vector<std::string> reasons(3);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < 3; ++i)
      threads.emplace_back([&, i] {
        std::vector<std::unique_ptr<Transport>> transports;
        auto first = std::make_unique<Fragile>(static_cast<int>(i), Link::kNetwork);
        auto second = std::make_unique<Fragile>(static_cast<int>(i), Link::kNetwork);
        if (static_cast<int>(i) == lacking) first->unreachable = 0;
        const Fragile* const asked = second.get();
        transports.push_back(std::move(first));
        transports.push_back(std::move(second));
        const auto routes = connect_routes(std::move(transports), *bootstraps[i]);
        results[i] = routes.status();
        if (!routes.is_ok()) return;
        connected[i] = asked->connected.size();
        reasons[i] = routes->reason[0];
      });
    for (std::thread& thread : threads) thread.join();
    for (std::size_t i = 0; i < 3; ++i) {
      ASSERT_TRUE(results[i].is_ok()) << results[i].to_string();
      EXPECT_EQ(connected[i], lacking < 0 ? 0u : 3u);
      EXPECT_EQ(reasons[i],
                static_cast<int>(i) == lacking ? "fragile (fragile: the door is shut)" : "fragile");
    }
  }
}

TEST(Routes, AMissingAddressFailsEverywhereWithItsText) {
  const auto pes = wire([](int pe, Fragile& fragile) { fragile.fail_address = pe == 2; });
  for (const Pe& pe : pes) {
    EXPECT_EQ(pe.connected.code(), Code::kIo);
    EXPECT_THAT(std::string(pe.connected.text()), HasSubstr("no address"));
  }
  EXPECT_THAT(std::string(pes[0].connected.text()), HasSubstr("PE 2"));
}

TEST(Routes, APeOutOfReachFailsEverywhereWithTheReason) {
  const auto pes = wire([](int pe, Fragile& fragile) { fragile.unreachable = pe == 1 ? 0 : -1; });
  for (const Pe& pe : pes) {
    EXPECT_EQ(pe.connected.code(), Code::kUnsupported);
    EXPECT_THAT(std::string(pe.connected.text()),
                HasSubstr("no transport reaches PE 0 from PE 1: fragile: the door is shut"));
  }
}

TEST(Routes, AChunkThatFailsOnOnePeIsForgottenOnAll) {
  for (const bool at_expose : {true, false}) {
    const auto pes = wire([&](int pe, Fragile& fragile) {
      if (pe != 1) return;
      fragile.fail_expose = at_expose;
      fragile.fail_attach = at_expose ? -1 : 2;
    });
    for (const Pe& pe : pes) {
      EXPECT_TRUE(pe.connected.is_ok());
      EXPECT_EQ(pe.attached.code(), at_expose ? Code::kOutOfMemory : Code::kIo);
      EXPECT_THAT(
          std::string(pe.attached.text()),
          HasSubstr(at_expose ? "no handle"
                              : "PE 2's memory at heap offset 0x5, through fragile: mapping "
                                "refused"));
      EXPECT_TRUE(pe.transport->attached.empty());
    }
  }
}

TEST(Routes, DifferentTransportsAreSaidSo) {
  auto bootstraps = make_local_bootstraps(2, Options{});
  std::vector<Status> results(2);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 2; ++i)
    threads.emplace_back([&, i] {
      std::vector<std::unique_ptr<Transport>> transports;
      for (std::size_t t = 0; t <= i; ++t)
        transports.push_back(std::make_unique<Fragile>(static_cast<int>(i)));
      results[i] = connect_routes(std::move(transports), *bootstraps[i]).status();
    });
  for (std::thread& thread : threads) thread.join();
  for (const Status& result : results) {
    EXPECT_EQ(result.code(), Code::kInvalidArgument);
    EXPECT_THAT(std::string(result.text()), HasSubstr("WEFT_TRANSPORTS"));
  }
}

}  // namespace
}  // namespace weft
