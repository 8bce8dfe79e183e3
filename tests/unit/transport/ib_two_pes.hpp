// Two PEs of this process over the fake library's two devices, each with its service: what the
// parts of a lane of ib need of others.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "host/transport/ib/connection.hpp"
#include "host/transport/ib/lane_env.hpp"
#include "host/transport/ib/service.hpp"
#include "tests/support/fake_verbs/fake_verbs.hpp"
#include "tests/support/status.hpp"

namespace weft::ib::test {

class IbPe {
 public:
  static constexpr std::size_t kWords = 512;

  explicit IbPe(int pe) : pe_(pe) {
    options_.ib_library = FAKE_VERBS_LIBRARY;
    options_.ib_device = "fake0,fake1";
  }
  ~IbPe() { service.reset(); }

  Status open() {
    ASSIGN_OR_RETURN(Rails opened, Rails::open(options_, {}));
    rails.emplace(std::move(opened));
    ASSIGN_OR_RETURN(
        service, Service::create(
                     rails->ports(), pe_,
                     {.execute = [](const Request&, int, std::uint64_t*) { return Status::ok(); },
                      .replied = [this](const ConnectMessage& reply,
                                        std::size_t rail) { keep(reply, rail); }}));
    ASSIGN_OR_RETURN(registered, rails->add_heap(reinterpret_cast<std::byte*>(words.data()),
                                                 sizeof(std::uint64_t) * words.size()));
    return Status::ok();
  }
  PeAddress address() const { return {.key = 7, .endpoints = service->addresses()}; }
  LaneEnv env() {
    return {.rails = &*rails,
            .peers = &peers,
            .heaps = &heaps,
            .own = network::OwnMemory(heaps, nullptr),
            .windows = &windows,
            .service = service.get(),
            .staging = &staging,
            .reported = &reported,
            .connect_timeout = 60};  // only ends what hangs
  }
  // The replies since the last call, and by which rail they came.
  std::vector<std::pair<ConnectMessage, std::size_t>> take_replies() {
    const std::lock_guard lock(mutex_);
    return std::exchange(replies_, {});
  }

 private:
  void keep(const ConnectMessage& reply, std::size_t rail) {
    const std::lock_guard lock(mutex_);
    replies_.emplace_back(reply, rail);
  }

  const int pe_;
  Options options_;
  const TransportEnv transport_{.pe = pe_, .npes = 2, .options = &options_};
  std::mutex mutex_;
  std::vector<std::pair<ConnectMessage, std::size_t>> replies_;

 public:
  std::optional<Rails> rails;
  std::vector<std::uint64_t> words = std::vector<std::uint64_t>(kWords);  // the heap
  network::Registered registered;
  Heaps heaps{"ib", transport_};
  Windows windows{pe_, 2};
  Staging staging{
      [this](std::byte* base, std::size_t bytes) { return rails->add_own(base, bytes); }};
  ReportedFailures reported;
  std::vector<PeAddress> peers;
  std::unique_ptr<Service> service;
};

class IbTwoPesTest : public ::testing::Test {
 protected:
  IbTwoPesTest() { ::setenv("FAKE_VERBS_DEVICES", "2", 1); }
  ~IbTwoPesTest() override { ::unsetenv("FAKE_VERBS_DEVICES"); }

  void SetUp() override {
    for (IbPe* pe : {&mine, &theirs}) ASSERT_OK(pe->open());
    for (IbPe* pe : {&mine, &theirs}) pe->peers = {mine.address(), theirs.address()};
    ASSERT_OK(mine.service->start(mine.peers));
    const std::size_t bytes = sizeof(std::uint64_t) * IbPe::kWords;
    const auto exposed = theirs.heaps.add_mine(
        {0, Memory({reinterpret_cast<std::byte*>(theirs.words.data()), bytes}, nullptr)},
        theirs.registered);
    ASSERT_OK(mine.heaps.add_theirs(1, 0, bytes, exposed));
    env.emplace(mine.env());
    connections.emplace(*env, 0);
    ASSERT_OK(connections->open());
  }
  void TearDown() override {
    for (const int device : {0, 1}) fake_verbs_mend(device);
  }
  // The other PE answers from here on.
  void answer() { ASSERT_OK(theirs.service->start(theirs.peers)); }
  // Connects a path, for which the other PE has to answer.
  Status connect(QueuePair& path) {
    for (;;) {
      Status ready = path.make_ready();
      if (!ready.is(Code::kBusy)) return ready;
      for (const auto& [reply, rail] : mine.take_replies())
        RETURN_IF_ERROR(connections->to(1).paths()[rail]->replied(reply));
    }
  }

  IbPe mine{0}, theirs{1};
  std::optional<LaneEnv> env;
  std::optional<Connections> connections;
};

}  // namespace weft::ib::test
