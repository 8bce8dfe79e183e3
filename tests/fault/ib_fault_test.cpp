// Whole runtimes by ib over a library of verbs that loses datagrams, refuses calls and pulls
// cables: every wait ends, with a text that says what, where and whom to, and nothing is left
// behind.
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <weft/weft.hpp>

#include "host/transport/ib/ib.hpp"
#include "src/base/status.hpp"
#include "tests/fault/ib_test.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

TEST_F(IbTest, JobsOfSeveralSizes) {
  for (const int npes : {1, 2, 3, 6}) EXPECT_OK(run_local(npes, talk, by_ib()));
}

TEST_F(IbTest, AddressedByLid) {
  const Setting link("FAKE_VERBS_LINK", "ib");
  EXPECT_OK(run_local(3, talk, by_ib()));
}

TEST_F(IbTest, DatagramsAreLost) {
  const Setting lost("FAKE_VERBS_DROP_UD", "3");
  EXPECT_OK(run_local(3, talk, by_ib()));
}

TEST_F(IbTest, APortOfOnesOwnChoice) {
  const Setting two("FAKE_VERBS_DEVICES", "2");
  Options options = by_ib();
  options.ib_device = "fake1:1";
  options.ib_gid_index = 1;
  EXPECT_OK(run_local(2, talk, options));
}

TEST_F(IbTest, SeveralPortsOfOnesOwnChoice) {
  const Setting three("FAKE_VERBS_DEVICES", "3");
  Options options = by_ib();
  options.ib_device = "fake2,fake0:1,fake7";  // of which one is not there
  EXPECT_OK(run_local(3, talk, options));
  EXPECT_EQ(*ib_port(options),
            "fake2 port 1, RoCE v2 (10.0.2.1) by GID 3, atomics by the owner of the word, and "
            "fake0 port 1, RoCE v2 (10.0.0.1) by GID 3, atomics by the owner of the word");
}

TEST_F(IbTest, WhatDoesNotExistIsNamed) {
  const struct {
    const char* device;
    long gid;
    const char* text;
  } wrong[] = {
      {"fake7", -1, "WEFT_IB_DEVICE=fake7: fake0 is not asked for"},
      {"fake0:2", -1, "WEFT_IB_DEVICE=fake0:2"},
      {"fake0:x", -1, "a device, or a device and a port (mlx5_0:1,mlx5_1), is accepted"},
      {"fake0,", -1, "; \"\" is neither a device nor a device and a port"},
      {"fake0,fake0:1", -1, "WEFT_IB_DEVICE names fake0 port 1 twice"},
      {"a,b,c,d,e", -1, "up to 4 of a device"},
      {"auto", 9, "WEFT_IB_GID_INDEX=9: fake0 port 1 has no such GID; it has\n  0 RoCE v1 (fe80"},
  };
  for (const auto& each : wrong) {
    Options options = by_ib();
    options.ib_device = each.device;
    options.ib_gid_index = each.gid;
    const Status status = run_local(2, talk, options);
    EXPECT_CODE(status, Code::kUnsupported);
    EXPECT_THAT(std::string(status.text()), HasSubstr(each.text));
  }
  Options options = by_ib();
  options.ib_library = "libnothere.so";
  EXPECT_THAT(std::string(run_local(2, talk, options).text()), HasSubstr("libnothere.so"));
}

TEST_F(IbTest, WhatWouldBeChosenCanBeAsked) {
  const auto port = ib_port(by_ib());
  ASSERT_OK(port);
  EXPECT_EQ(*port, "fake0 port 1, RoCE v2 (10.0.0.1) by GID 3, atomics by the owner of the word");
  const Setting atomics("FAKE_VERBS_ATOMICS", "glob");
  EXPECT_THAT(*ib_port(by_ib()), HasSubstr("atomics by the device"));
}

// Words that processors and devices change at the same time, in every way there is. With a device
// whose atomics are its own affair, the owner executes all of them.
void share_words(bool by_device) {
  const Setting atomics("FAKE_VERBS_ATOMICS", by_device ? "glob" : "hca");
  const std::size_t before = fake_verbs_atomics();
  const auto body = [](Runtime& rt) -> Status {
    Context& ctx = rt.context();
    ASSIGN_OR_RETURN(Word* const words, rt.callocate<Word>(4));
    ASSIGN_OR_RETURN(auto* const half, rt.callocate<std::uint32_t>(2));
    constexpr Word kRounds = 100;
    const auto npes = static_cast<Word>(rt.npes());
    for (Word round = 0; round < kRounds; ++round) {
      for (int pe = 0; pe < rt.npes(); ++pe) {
        RETURN_IF_ERROR(ctx.atomic_add(words, Word{1}, pe));
        RETURN_IF_ERROR(ctx.atomic_xor(words + 1, Word{1} << rt.pe(), pe));
        RETURN_IF_ERROR(ctx.atomic_add(half, std::uint32_t{1}, pe));
        const Word mine = round;
        RETURN_IF_ERROR(ctx.put(words + 3, &mine, 1, pe, add(words + 2, 1)));
        for (Word seen = 0;;) {  // one more, whoever else adds
          ASSIGN_OR_RETURN(const Word old, ctx.atomic_compare_swap(words, seen, seen + 1, pe));
          if (old == seen) break;
          seen = old;
        }
      }
    }
    RETURN_IF_ERROR(ctx.quiet());
    RETURN_IF_ERROR(rt.barrier());
    EXPECT_EQ(words[0], 2 * kRounds * npes);
    EXPECT_EQ(words[1], 0u) << "each bit was turned an even number of times";
    EXPECT_EQ(words[2], kRounds * npes);
    EXPECT_EQ(half[0], kRounds * npes);
    return rt.barrier();
  };
  EXPECT_OK(run_local(3, body, by_ib()));
  EXPECT_EQ(fake_verbs_atomics() != before, by_device);
}
TEST_F(IbTest, DevicesThatAreAtomicWithProcessorsDoAtomics) { share_words(true); }
TEST_F(IbTest, DevicesThatAreAtomicAmongThemselvesDoNone) { share_words(false); }

// Under way and afterwards: the peer, the port and the cause.
TEST_F(IbTest, ACableIsPulled) {
  const auto body = [](Runtime& rt) -> Status {
    RETURN_IF_ERROR(talk(rt));
    ASSIGN_OR_RETURN(Word* const words, rt.callocate<Word>(4));
    RETURN_IF_ERROR(rt.barrier());
    if (rt.pe() != 0) return Status::ok();
    fake_verbs_cut(0);
    const auto lost = [&](const Status& status) {
      EXPECT_CODE(status, Code::kPeerLost);
      EXPECT_THAT(std::string(status.text()),
                  AllOf(HasSubstr("fake0 port 1 to PE 1 on "), HasSubstr("retry"),
                        HasSubstr("Its process may have ended")));
    };
    Status status = rt.context().p(words, Word{1}, 1);
    if (status.is_ok()) status = rt.context().quiet();
    lost(status);
    lost(rt.context().atomic_fetch(words, 1).status());
    fake_verbs_mend(0);
    return Status::ok();
  };
  // Ending the job finds the way still cut off on one of its lanes, which is no news.
  run_local(2, body, by_ib()).ignore();
}

// A device may sleep over a queue that is not empty until something is posted there again, whoever
// it is that has nothing more to post: whoever asks, or the owner with its answer.
Status talk_to_sleepers(Runtime& rt) {
  for (std::size_t nth = 1; nth <= 12; ++nth) {
    RETURN_IF_ERROR(talk(rt));
    if (rt.pe() == 0) fake_verbs_doze(0, nth, 1);
  }
  RETURN_IF_ERROR(talk(rt));
  if (rt.pe() == 0) fake_verbs_doze(0, 0, 0);
  return rt.barrier();
}
Options impatient(const char* atomics) {
  Options options = by_ib();
  options.ib_atomics = atomics;
  options.wait_timeout = 20;
  return options;
}
TEST_F(IbTest, ADeviceThatSleepsOverItsQueueIsRungAgain) {
  EXPECT_OK(run_local(2, talk_to_sleepers, impatient("owner")));
}
TEST_F(IbTest, ADeviceThatSleepsOverAtomicsIsRungAgain) {
  EXPECT_OK(run_local(2, talk_to_sleepers, impatient("nic")));
}

// One that nothing wakes: a wait that ends by its deadline names what it waits for.
TEST_F(IbTest, AReportNamesTheOldestOperation) {
  Options options = impatient("nic");
  options.wait_timeout = 3;
  std::string text;
  std::atomic<bool> is_over{false};
  const auto body = [&](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(Word* const word, rt.callocate<Word>(1));
    RETURN_IF_ERROR(talk(rt));
    RETURN_IF_ERROR(rt.context().quiet());
    RETURN_IF_ERROR(rt.barrier());
    RETURN_IF_ERROR(rt.context().quiet());
    if (rt.pe() == 1) {  // nothing of this PE's may take the other's place in front of the device
      while (!is_over.load()) std::this_thread::yield();
      return Status::ok();
    }
    fake_verbs_doze(0, 1, 1000);
    RETURN_IF_ERROR(rt.context().p(word, Word{1}, 1));
    text = rt.context().quiet().text();
    is_over.store(true);
    return Status::ok();
  };
  run_local(2, body, options).ignore();
  EXPECT_THAT(text, AllOf(HasSubstr("1 operations of lane 0 are not complete; the oldest by ib: "
                                    "put of 8 bytes to PE 1 at heap offset "),
                          HasSubstr("fake0 port 1 to PE 1 on "),
                          HasSubstr("has been handed to the device")));
}

// Whatever call fails: all PEs hear, or nobody needed it.
TEST_F(IbTest, EveryCallMayFail) {
  const char* const calls[] = {"ibv_get_device_list",     "ibv_open_device", "ibv_query_device",
                               "ibv_query_port",          "ibv_alloc_pd",    "ibv_reg_mr",
                               "ibv_create_comp_channel", "ibv_create_cq",   "ibv_create_srq",
                               "ibv_create_qp",           "ibv_modify_qp",   "ibv_create_ah"};
  for (const char* call : calls) {
    for (int nth = 1; nth <= 6; ++nth) {
      SCOPED_TRACE(std::string(call) + " " + std::to_string(nth));
      fake_verbs_fail(call, nth, ENOMEM);
      Options options = by_ib();
      options.start_timeout = 2;
      options.wait_timeout = 2;
      const Status status = run_local(2, talk, options);
      fake_verbs_fail(call, 0, 0);
      if (!status.is_ok())
        EXPECT_THAT(std::string(status.text()),
                    AnyOf(HasSubstr("(errno 12)"), HasSubstr("could not make a queue pair"),
                          HasSubstr("no RDMA device"), HasSubstr("PE ")));
      FakeVerbsLive live{};
      fake_verbs_live(&live);
      EXPECT_EQ(live, FakeVerbsLive{});
    }
  }
}

}  // namespace
}  // namespace weft
