// Whole runtimes by ofi over a libfabric that refuses calls, promises nothing, asks for more or
// loses connections: every wait ends, with a text that says what, where and whom to, and nothing is
// left behind.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <weft/weft.hpp>

#include "host/transport/ofi/ofi.hpp"
#include "src/base/status.hpp"
#include "tests/fault/talk.hpp"
#include "tests/support/faulty_fabric/faulty_fabric.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr int kOutOfMemory = 12;  // FI_ENOMEM

Options by_ofi() {
  Options options = options_by("ofi,loopback");
  options.ofi_library = FAULTY_FABRIC_LIBRARY;
  options.ofi_domain = "lo";
  return options;
}

class OfiTest : public ::testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(faulty_fabric_live(), 0) << "something was not closed";
    EXPECT_EQ(faulty_fabric_unregistered(), 0);
  }
};

TEST_F(OfiTest, JobsOfSeveralSizes) {
  for (const int npes : {1, 2, 3, 6}) EXPECT_OK(run_local(npes, talk, by_ofi()));
}

TEST_F(OfiTest, WhatAProviderMayBeLike) {
  for (const char* each :
       {"unordered", "strict", "offload", "nofile", "busy", "unordered,strict,offload,busy"}) {
    SCOPED_TRACE(each);
    const Setting setting("FAULTY_FABRIC", each);
    EXPECT_OK(run_local(3, talk, by_ofi()));
  }
}

TEST_F(OfiTest, WhatDoesNotExistIsNamed) {
  const struct {
    const char* provider;
    const char* domain;
    const char* library;
    const char* text;
  } wrong[] = {
      {"nothere", "auto", FAULTY_FABRIC_LIBRARY, "no provider of WEFT_OFI_PROVIDER=nothere"},
      {"auto", "eth77", FAULTY_FABRIC_LIBRARY, "WEFT_OFI_DOMAIN=eth77: libfabric has no such"},
      {"auto", "auto", "libnothere.so", "apt-get install libfabric1"},
  };
  for (const auto& each : wrong) {
    Options options = by_ofi();
    options.ofi_provider = each.provider;
    options.ofi_domain = each.domain;
    options.ofi_library = each.library;
    const Status status = run_local(2, talk, options);
    EXPECT_CODE(status, Code::kUnsupported);
    EXPECT_THAT(std::string(status.text()), HasSubstr(each.text));
  }
}

TEST_F(OfiTest, WhatWouldBeChosenCanBeAsked) {
  const auto network = ofi_network(by_ofi());
  ASSERT_OK(network);
  EXPECT_THAT(*network, AllOf(HasSubstr("tcp"), HasSubstr(" on lo (127.0.0.1)")));
}

TEST_F(OfiTest, SaysWhetherKeysCanBeGuessed) {
  const auto own = ofi_network(by_ofi());
  ASSERT_OK(own);
  EXPECT_THAT(*own, HasSubstr("memory keys of 64 random bits"));
  const Setting setting("FAULTY_FABRIC", "strict");
  const auto given = ofi_network(by_ofi());
  ASSERT_OK(given);
  EXPECT_THAT(*given, HasSubstr("of the provider's own making, which a stranger may guess"));
}

TEST_F(OfiTest, NothingIsOpenedWhereMemoryIsMapped) {
  Options options = by_ofi();
  options.transports = "p2p,loopback,ofi";
  faulty_fabric_fail("fi_getinfo", 1, kOutOfMemory);
  EXPECT_OK(run_local(2, talk, options));
  EXPECT_FALSE(ofi_network(options).is_ok()) << "somebody has asked before";
}

// Under way and afterwards: the peer, the network and the cause.
TEST_F(OfiTest, AConnectionIsLost) {
  const auto body = [](Runtime& rt) -> Status {
    RETURN_IF_ERROR(talk(rt));
    ASSIGN_OR_RETURN(Word* const words, rt.callocate<Word>(10'000));
    RETURN_IF_ERROR(rt.barrier());
    if (rt.pe() != 0) return Status::ok();
    const auto lost = [&](const Status& status) {
      EXPECT_CODE(status, Code::kPeerLost);
      EXPECT_THAT(std::string(status.text()),
                  AllOf(HasSubstr("on lo (127.0.0.1) to PE 1 on "), HasSubstr("reset"),
                        HasSubstr("Its process may have ended")));
    };
    faulty_fabric_cut(true);
    Status status = rt.context().put(words, std::vector<Word>(10'000).data(), 10'000, 1);
    if (status.is_ok()) status = rt.context().quiet();
    faulty_fabric_cut(false);
    lost(status);
    lost(rt.context().atomic_fetch(words, 1).status());
    return Status::ok();
  };
  // Ending the job finds the way still cut off on one of its lanes, which is no news.
  run_local(2, body, by_ofi()).ignore();
}

// With an answer half here: closing its connection must harm nobody.
TEST_F(OfiTest, AJobEndsWhileItReads) {
  constexpr std::size_t kWords = 500'000;
  std::vector<Word> back[] = {std::vector<Word>(kWords), std::vector<Word>(kWords)};
  const auto body = [&](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(Word* const words, rt.callocate<Word>(kWords));
    RETURN_IF_ERROR(rt.barrier());
    RETURN_IF_ERROR(rt.context().get_nbi(back[rt.pe()].data(), words, kWords, 1 - rt.pe()));
    return Status::error(Code::kInternal, "that is enough");
  };
  for (int i = 0; i < 20; ++i) EXPECT_CODE(run_local(2, body, by_ofi()), Code::kInternal);
}

// Whatever call fails: all PEs hear, or nobody needed it.
TEST_F(OfiTest, EveryCallMayFail) {
  const char* const calls[] = {"fi_getinfo",   "fi_fabric",   "fi_domain", "fi_av_open",
                               "fi_cq_open",   "fi_endpoint", "fi_enable", "fi_getname",
                               "fi_av_insert", "fi_mr_reg",   "fi_recv",   "fi_inject",
                               "fi_writemsg",  "fi_readmsg"};
  for (const char* call : calls) {
    for (int nth = 1; nth <= 6; ++nth) {
      SCOPED_TRACE(std::string(call) + " " + std::to_string(nth));
      faulty_fabric_fail(call, nth, kOutOfMemory);
      Options options = by_ofi();
      options.start_timeout = options.wait_timeout = options.ofi_timeout = 2;
      const Status status = run_local(2, talk, options);
      faulty_fabric_fail(call, 0, 0);
      if (!status.is_ok())
        EXPECT_THAT(std::string(status.text()),
                    AnyOf(HasSubstr("(libfabric error 12)"), HasSubstr("PE ")));
      EXPECT_EQ(faulty_fabric_live(), 0);
    }
  }
}

}  // namespace
}  // namespace weft
