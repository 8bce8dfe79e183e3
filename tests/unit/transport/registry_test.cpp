#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bootstrap/bootstrap.hpp"
#include "host/transport/routes.hpp"
#include "host/transport/transport.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

using ::testing::HasSubstr;

class RegistryTest : public ::testing::Test {
 protected:
  Result<std::vector<std::string>> names(const std::string& transports, const std::string& fault) {
    options.transports = transports;
    options.fault = fault;
    auto made = make_transports(env());
    if (!made.is_ok()) return made.status();
    std::vector<std::string> names;
    for (const auto& transport : *made) names.emplace_back(transport->name());
    return names;
  }
  TransportEnv env() const {
    TransportEnv env;
    env.npes = 2;
    env.options = &options;
    return env;
  }
  Options options;
};

TEST_F(RegistryTest, MakesWhatIsNamedInThatOrder) {
  EXPECT_THAT(*names("p2p,loopback", ""), ::testing::ElementsAre("p2p", "loopback"));
  EXPECT_THAT(*names(" loopback , p2p", ""), ::testing::ElementsAre("loopback", "p2p"));
  EXPECT_THAT(*names("loopback", ""), ::testing::ElementsAre("loopback"));
}

TEST_F(RegistryTest, GpuMemoryHasAListOfItsOwn) {
  TransportEnv of_gpu = env();
  of_gpu.is_gpu = true;
  options.gpu_transports = "staged";
  const auto made = make_transports(of_gpu);
  ASSERT_OK(made);
  ASSERT_EQ(made->size(), 1u);
  EXPECT_EQ((*made)[0]->name(), "staged");
  options.gpu_transports = "nvlink";
  EXPECT_THAT(std::string(make_transports(of_gpu).status().text()),
              HasSubstr("WEFT_GPU_TRANSPORTS=nvlink: transport 'nvlink' does not exist"));
}

// Every op is complete as soon as it is posted, a word that is asked for is 0, and no job of hosts
// is built on it.
TEST_F(RegistryTest, NullTakesAllAndBringsNothing) {
  options.transports = options.gpu_transports = "null";
  TransportEnv of_gpu = env();
  of_gpu.is_gpu = true;
  auto made = make_transports(of_gpu);
  ASSERT_OK(made);
  Transport& null = *made->front();
  EXPECT_TRUE(null.reaches(1));
  EXPECT_FALSE(null.reaches(0));
  ASSERT_OK(null.attach(1, 0, 4096, {}));
  std::uint64_t word = 7, old = 7;
  Op put;
  put.kind = OpKind::kPut;
  put.pe = 1;
  put.bytes = sizeof word;
  put.remote = 64;
  put.local = reinterpret_cast<std::uint64_t>(&word);
  EXPECT_OK(null.post(Lane(1), put));
  Op fetch;
  fetch.kind = OpKind::kAmoFetchAdd;
  fetch.pe = 1;
  fetch.width = 8;
  fetch.remote = 64;
  fetch.result = reinterpret_cast<std::uint64_t>(&old);
  EXPECT_OK(null.post(Lane(1), fetch));
  EXPECT_EQ(old, 0u);
  EXPECT_EQ(null.completed(Lane(1)), 2u);
  put.remote = 4096;
  EXPECT_CODE(null.post(Lane(1), put), Code::kOutOfRange);

  const auto of_host = make_transports(env());
  ASSERT_OK(of_host);
  EXPECT_FALSE((*of_host)[0]->reaches(1));
  EXPECT_THAT((*of_host)[0]->why_not(1), HasSubstr("WEFT_GPU_TRANSPORTS"));
}

TEST_F(RegistryTest, PutsEachIntoAFaultInjectorIfAsked) {
  EXPECT_THAT(*names("p2p,loopback", "late=1"),
              ::testing::ElementsAre("fault:p2p", "fault:loopback"));
  auto made = make_transports(env());
  for (const auto& transport : *made) {
    EXPECT_FALSE(transport->caps().maps);
    EXPECT_FALSE(transport->caps().in_order);
    EXPECT_TRUE(transport->caps().needs_progress);
  }
}

TEST_F(RegistryTest, AnUnknownNameIsAnErrorThatListsTheKnownOnes) {
  for (const char* bad : {"sockets", "", "p2p,", "p2p,,loopback", "P2P"}) {
    const auto made = names(bad, "");
    ASSERT_FALSE(made.is_ok()) << bad;
    EXPECT_EQ(made.status().code(), Code::kInvalidArgument);
    const std::string text(made.status().text());
    EXPECT_THAT(text, HasSubstr(std::string("WEFT_TRANSPORTS=") + bad));
    for (const TransportRow& row : transport_registry()) EXPECT_THAT(text, HasSubstr(row.name));
  }
  EXPECT_THAT(std::string(names("sockets", "").status().text()), HasSubstr("'sockets'"));
  EXPECT_THAT(std::string(names("p2p,p2p", "").status().text()), HasSubstr("twice"));
}

TEST_F(RegistryTest, APeThatNothingServesIsToldWhatWould) {
  auto heap = cpu_platform().reserve(kReserveAlign);
  ASSERT_OK(heap);
  options.transports = "p2p";
  TransportEnv alone = env();
  alone.npes = 1;
  alone.platform = &cpu_platform();
  alone.heap = heap->range();
  auto bootstraps = make_local_bootstraps(1, options);
  const auto routes = connect_routes(make_transports(alone), *bootstraps[0]);
  EXPECT_EQ(routes.status().code(), Code::kUnsupported);
  EXPECT_THAT(std::string(routes.status().text()),
              HasSubstr("p2p: that is this PE itself; name loopback too"));
}

TEST_F(RegistryTest, ABadFaultSpecIsAnError) {
  EXPECT_THAT(std::string(names("p2p", "lat=1").status().text()), HasSubstr("'lat'"));
}

}  // namespace
}  // namespace weft
