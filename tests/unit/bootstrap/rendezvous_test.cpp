// The rules of a rendezvous, with a clock of our own.
#include "bootstrap/rendezvous.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bootstrap/pe_list.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

using namespace std::chrono_literals;
using Call = Rendezvous::Call;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Rendezvous::Time kStart{};

std::string text_of(const Status& status) { return std::string(status.text()); }

Rendezvous rendezvous_of(int npes) {
  Rendezvous rendezvous(npes, 10);
  for (int pe = 0; pe < npes; ++pe) {
    EXPECT_OK(rendezvous.join(pe, {100 + pe, "host"}, kStart));
  }
  return rendezvous;
}

Blob blob(std::size_t bytes, int value) { return Blob(bytes, static_cast<std::byte>(value)); }

TEST(NamePes, WritesListsAsPeopleDo) {
  EXPECT_EQ(name_pes({}), "no PE");
  EXPECT_EQ(name_pes({2}), "PE 2");
  EXPECT_EQ(name_pes({2, 3}), "PEs 2 and 3");
  EXPECT_EQ(name_pes({0, 2, 4}), "PEs 0, 2 and 4");
  EXPECT_EQ(name_pes({1, 4, 5, 6, 7, 8, 9, 12}), "PEs 1, 4-9 and 12");
  EXPECT_EQ(name_pes({0, 1, 2, 3}), "PEs 0-3");
  std::vector<int> even;
  for (int pe = 0; pe < 2000; pe += 2) even.push_back(pe);
  EXPECT_THAT(name_pes(even), HasSubstr("PEs 0, 2, 4"));
  EXPECT_THAT(name_pes(even), HasSubstr("and 985 more"));
}

TEST(Rendezvous, ACallEndsWithTheLastOneAndKeepsPeOrder) {
  Rendezvous rendezvous = rendezvous_of(3);
  rendezvous.enter(2, Call::kAllgather, 1, blob(3, 2), kStart);
  rendezvous.enter(0, Call::kAllgather, 1, blob(0, 0), kStart);
  EXPECT_EQ(rendezvous.completed(), 0u);
  rendezvous.enter(1, Call::kAllgather, 1, blob(1, 1), kStart);
  EXPECT_EQ(rendezvous.completed(), 1u);
  EXPECT_EQ(*rendezvous.gathered(), (std::vector<Blob>{blob(0, 0), blob(1, 1), blob(3, 2)}));
  EXPECT_EQ(rendezvous.deadline(), Rendezvous::Time::max());
  for (int pe = 0; pe < 3; ++pe) rendezvous.enter(pe, Call::kBarrier, 2, {}, kStart);
  EXPECT_EQ(rendezvous.completed(), 2u);
  EXPECT_OK(rendezvous.failure());
}

TEST(Rendezvous, RefusesWhoDoesNotFitAndDisturbsNobody) {
  Rendezvous rendezvous(2, 10);
  EXPECT_OK(rendezvous.join(1, {71, "here"}, kStart));
  EXPECT_CODE(rendezvous.join(2, {}, kStart), Code::kOutOfRange);
  EXPECT_CODE(rendezvous.join(-1, {}, kStart), Code::kOutOfRange);
  const Status taken = rendezvous.join(1, {72, "there"}, kStart);
  EXPECT_CODE(taken, Code::kInvalidArgument);
  EXPECT_THAT(text_of(taken), HasSubstr("PE 1 (pid 71 on here)"));
  const Status again = rendezvous.join(1, {71, "here"}, kStart);
  EXPECT_CODE(again, Code::kInvalidArgument);
  EXPECT_THAT(text_of(again), AllOf(HasSubstr("this process is PE 1 of the job already"),
                                    HasSubstr("Share that one"), Not(HasSubstr("WEFT_PE"))));
  EXPECT_OK(rendezvous.failure());
  EXPECT_OK(rendezvous.join(0, {}, kStart));
  EXPECT_TRUE(rendezvous.everybody_here());
}

TEST(Rendezvous, NamesWhoHasNotComeWhenTheStartIsOver) {
  Rendezvous rendezvous(4, 10);
  EXPECT_EQ(rendezvous.deadline(), Rendezvous::Time::max()) << "nobody waits yet";
  EXPECT_OK(rendezvous.join(1, {}, kStart + 1s));
  EXPECT_OK(rendezvous.join(0, {}, kStart + 5s));
  EXPECT_EQ(rendezvous.deadline(), kStart + 11s) << "from the first one that waits";
  rendezvous.expire(kStart + 10s);
  EXPECT_OK(rendezvous.failure());
  rendezvous.expire(kStart + 11s);
  EXPECT_CODE(rendezvous.failure(), Code::kTimeout);
  EXPECT_THAT(text_of(rendezvous.failure()),
              HasSubstr("PEs 2 and 3 of 4 have not come within 10 s"));
  EXPECT_CODE(rendezvous.join(2, {}, kStart + 12s), Code::kTimeout) << "who is late learns why";
}

// PEs that carry their bytes themselves, and say only that they wait.
TEST(Rendezvous, WhoGivesUpNamesWhoDoesNotWaitAndWhereItRuns) {
  Rendezvous rendezvous = rendezvous_of(3);
  rendezvous.wait(0, Call::kBarrier, 4);
  rendezvous.time_out(2, Call::kBarrier, 4);
  EXPECT_CODE(rendezvous.failure(), Code::kTimeout);
  EXPECT_THAT(text_of(rendezvous.failure()),
              HasSubstr("PE 1 of 3 has not come to barrier (call 4) within 10 s "
                        "(PE 1: pid 101 on host)"));
}

TEST(Rendezvous, WhoWaitsInACallThatIsOverSinceIsNotBlamed) {
  Rendezvous rendezvous = rendezvous_of(3);
  rendezvous.wait(0, Call::kBarrier, 4);
  rendezvous.wait(1, Call::kAllgather, 5);
  rendezvous.time_out(0, Call::kBarrier, 4);
  EXPECT_OK(rendezvous.failure());
  rendezvous.time_out(1, Call::kAllgather, 5);
  EXPECT_THAT(text_of(rendezvous.failure()), HasSubstr("PEs 0 and 2 of 3 have not come"));
}

TEST(Rendezvous, IfAllAreInTheCallTheNetworkIsBlamed) {
  Rendezvous rendezvous = rendezvous_of(2);
  rendezvous.wait(0, Call::kBarrier, 1);
  rendezvous.time_out(1, Call::kBarrier, 1);
  EXPECT_CODE(rendezvous.failure(), Code::kTimeout);
  EXPECT_THAT(text_of(rendezvous.failure()),
              AllOf(HasSubstr("cannot reach each other"), HasSubstr("strangers")));
}

TEST(Rendezvous, WhoLeftAfterTheCallIsNotMissedInIt) {
  Rendezvous rendezvous = rendezvous_of(2);
  rendezvous.leave_after(0, 3);
  rendezvous.wait(1, Call::kBarrier, 3);
  EXPECT_OK(rendezvous.failure());
  rendezvous.wait(1, Call::kBarrier, 4);
  EXPECT_CODE(rendezvous.failure(), Code::kPeerLost);
  EXPECT_THAT(text_of(rendezvous.failure()), HasSubstr("PE 0 has left the job while PE 1 waits"));
}

TEST(Rendezvous, NamesWhoIsLateForACall) {
  Rendezvous rendezvous = rendezvous_of(3);
  rendezvous.enter(1, Call::kAllgather, 1, {}, kStart + 100s);
  EXPECT_EQ(rendezvous.deadline(), kStart + 110s);
  rendezvous.enter(0, Call::kAllgather, 1, {}, kStart + 105s);
  EXPECT_EQ(rendezvous.deadline(), kStart + 110s);
  rendezvous.expire(kStart + 110s);
  EXPECT_CODE(rendezvous.failure(), Code::kTimeout);
  EXPECT_THAT(text_of(rendezvous.failure()),
              HasSubstr("PE 2 of 3 has not come to allgather (call 1) within 10 s"));
}

TEST(Rendezvous, ALostPeEndsTheJobAndIsNamed) {
  Rendezvous rendezvous = rendezvous_of(2);
  rendezvous.lose(1, "its cable was cut");
  EXPECT_CODE(rendezvous.failure(), Code::kPeerLost);
  EXPECT_THAT(text_of(rendezvous.failure()),
              HasSubstr("PE 1 (pid 101 on host) is lost: its cable was cut"));
  EXPECT_EQ(rendezvous.culprit(), 1);
  rendezvous.lose(0, "later");
  rendezvous.abort(0, 3, "too late");
  EXPECT_THAT(text_of(rendezvous.failure()), HasSubstr("PE 1")) << "the first reason stays";
  EXPECT_EQ(rendezvous.culprit(), 1);
  EXPECT_FALSE(rendezvous.abort_code());
}

TEST(Rendezvous, APeThatWillNeverComeIsLostToo) {
  Rendezvous rendezvous(2, 10);
  rendezvous.lose(1, "it ended at once");
  const Status late = rendezvous.join(0, {}, kStart);
  EXPECT_CODE(late, Code::kPeerLost);
  EXPECT_THAT(text_of(late), HasSubstr("PE 1 is lost: it ended at once"));
}

TEST(Rendezvous, WhoHasLeftIsNotLost) {
  Rendezvous rendezvous = rendezvous_of(2);
  rendezvous.leave(0);
  rendezvous.lose(0, "its connection ended");
  EXPECT_OK(rendezvous.failure());
  rendezvous.leave(1);
  EXPECT_TRUE(rendezvous.everybody_left());
}

TEST(Rendezvous, WhoHasLeftIsMissedByThoseWhoCallOn) {
  {
    Rendezvous rendezvous = rendezvous_of(3);
    rendezvous.leave(2);
    EXPECT_OK(rendezvous.failure());
    rendezvous.enter(0, Call::kBarrier, 1, {}, kStart);
    EXPECT_CODE(rendezvous.failure(), Code::kPeerLost);
    EXPECT_THAT(text_of(rendezvous.failure()), HasSubstr("PE 2 has left the job while PE 0 waits"));
  }
  {
    Rendezvous rendezvous = rendezvous_of(3);
    rendezvous.enter(0, Call::kBarrier, 1, {}, kStart);
    rendezvous.enter(1, Call::kBarrier, 1, {}, kStart);
    rendezvous.leave(2);
    EXPECT_THAT(text_of(rendezvous.failure()), HasSubstr("while PEs 0 and 1 wait in barrier"));
  }
}

TEST(Rendezvous, AbortCarriesCodeAndText) {
  Rendezvous rendezvous = rendezvous_of(2);
  rendezvous.abort(1, 42, "no more disk");
  EXPECT_CODE(rendezvous.failure(), Code::kAborted);
  EXPECT_THAT(text_of(rendezvous.failure()),
              HasSubstr("PE 1 (pid 101 on host) aborted the job with code 42: no more disk"));
  EXPECT_EQ(rendezvous.abort_code(), 42);
}

TEST(Rendezvous, CallsInADifferentOrderAreAnError) {
  Rendezvous rendezvous = rendezvous_of(3);
  rendezvous.enter(0, Call::kBarrier, 1, {}, kStart);
  rendezvous.enter(1, Call::kBarrier, 1, {}, kStart);
  rendezvous.enter(2, Call::kAllgather, 1, {}, kStart);
  EXPECT_CODE(rendezvous.failure(), Code::kInvalidArgument);
  EXPECT_THAT(text_of(rendezvous.failure()),
              HasSubstr("call 1 is allgather on PE 2 but barrier on PEs 0 and 1"));
}

TEST(Rendezvous, ASequenceThatDoesNotFitIsAnError) {
  for (const std::uint64_t sequence : {std::uint64_t{0}, std::uint64_t{2}}) {
    Rendezvous rendezvous = rendezvous_of(2);
    rendezvous.enter(0, Call::kBarrier, sequence, {}, kStart);
    EXPECT_CODE(rendezvous.failure(), Code::kInternal);
  }
  Rendezvous twice = rendezvous_of(2);
  twice.enter(0, Call::kBarrier, 1, {}, kStart);
  twice.enter(0, Call::kBarrier, 1, {}, kStart);
  EXPECT_CODE(twice.failure(), Code::kInternal);
}

TEST(Rendezvous, TellsALeaverWhoStays) {
  Rendezvous rendezvous = rendezvous_of(3);
  rendezvous.leave(1);
  EXPECT_THAT(text_of(rendezvous.leave_timeout()), HasSubstr("PEs 0 and 2 of 3 have not left"));
}

}  // namespace
}  // namespace weft
