// The rules of a meeting, with a clock of our own.
#include "bootstrap/meeting.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bootstrap/pe_list.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

using namespace std::chrono_literals;
using Call = Meeting::Call;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Meeting::Time kStart{};

std::string text_of(const Status& status) { return std::string(status.text()); }

Meeting meeting_of(int npes) {
  Meeting meeting(npes, 10);
  for (int pe = 0; pe < npes; ++pe) {
    EXPECT_OK(meeting.join(pe, {100 + pe, "host"}, kStart));
  }
  return meeting;
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

TEST(Meeting, ACallEndsWithTheLastOneAndKeepsPeOrder) {
  Meeting meeting = meeting_of(3);
  meeting.enter(2, Call::kAllgather, 1, blob(3, 2), kStart);
  meeting.enter(0, Call::kAllgather, 1, blob(0, 0), kStart);
  EXPECT_EQ(meeting.completed(), 0u);
  meeting.enter(1, Call::kAllgather, 1, blob(1, 1), kStart);
  EXPECT_EQ(meeting.completed(), 1u);
  EXPECT_EQ(*meeting.gathered(), (std::vector<Blob>{blob(0, 0), blob(1, 1), blob(3, 2)}));
  EXPECT_EQ(meeting.deadline(), Meeting::Time::max());
  for (int pe = 0; pe < 3; ++pe) meeting.enter(pe, Call::kBarrier, 2, {}, kStart);
  EXPECT_EQ(meeting.completed(), 2u);
  EXPECT_OK(meeting.failure());
}

TEST(Meeting, RefusesWhoDoesNotFitAndDisturbsNobody) {
  Meeting meeting(2, 10);
  EXPECT_OK(meeting.join(1, {71, "here"}, kStart));
  EXPECT_CODE(meeting.join(2, {}, kStart), Code::kOutOfRange);
  EXPECT_CODE(meeting.join(-1, {}, kStart), Code::kOutOfRange);
  const Status taken = meeting.join(1, {72, "there"}, kStart);
  EXPECT_CODE(taken, Code::kInvalidArgument);
  EXPECT_THAT(text_of(taken), HasSubstr("PE 1 (pid 71 on here)"));
  const Status again = meeting.join(1, {71, "here"}, kStart);
  EXPECT_CODE(again, Code::kInvalidArgument);
  EXPECT_THAT(text_of(again), AllOf(HasSubstr("this process is PE 1 of the job already"),
                                    HasSubstr("Share that one"), Not(HasSubstr("WEFT_PE"))));
  EXPECT_OK(meeting.failure());
  EXPECT_OK(meeting.join(0, {}, kStart));
  EXPECT_TRUE(meeting.everybody_here());
}

TEST(Meeting, NamesWhoHasNotComeWhenTheStartIsOver) {
  Meeting meeting(4, 10);
  EXPECT_EQ(meeting.deadline(), Meeting::Time::max()) << "nobody waits yet";
  EXPECT_OK(meeting.join(1, {}, kStart + 1s));
  EXPECT_OK(meeting.join(0, {}, kStart + 5s));
  EXPECT_EQ(meeting.deadline(), kStart + 11s) << "from the first one that waits";
  meeting.expire(kStart + 10s);
  EXPECT_OK(meeting.failure());
  meeting.expire(kStart + 11s);
  EXPECT_CODE(meeting.failure(), Code::kTimeout);
  EXPECT_THAT(text_of(meeting.failure()), HasSubstr("PEs 2 and 3 of 4 have not come within 10 s"));
  EXPECT_CODE(meeting.join(2, {}, kStart + 12s), Code::kTimeout) << "who is late learns why";
}

// PEs that carry their bytes themselves, and say only that they wait.
TEST(Meeting, WhoGivesUpNamesWhoDoesNotWaitAndWhereItRuns) {
  Meeting meeting = meeting_of(3);
  meeting.wait(0, Call::kBarrier, 4);
  meeting.give_up(2, Call::kBarrier, 4);
  EXPECT_CODE(meeting.failure(), Code::kTimeout);
  EXPECT_THAT(text_of(meeting.failure()),
              HasSubstr("PE 1 of 3 has not come to barrier (call 4) within 10 s "
                        "(PE 1: pid 101 on host)"));
}

TEST(Meeting, WhoWaitsInACallThatIsOverSinceIsNotBlamed) {
  Meeting meeting = meeting_of(3);
  meeting.wait(0, Call::kBarrier, 4);
  meeting.wait(1, Call::kAllgather, 5);
  meeting.give_up(0, Call::kBarrier, 4);
  EXPECT_OK(meeting.failure());
  meeting.give_up(1, Call::kAllgather, 5);
  EXPECT_THAT(text_of(meeting.failure()), HasSubstr("PEs 0 and 2 of 3 have not come"));
}

TEST(Meeting, IfAllAreInTheCallTheNetworkIsBlamed) {
  Meeting meeting = meeting_of(2);
  meeting.wait(0, Call::kBarrier, 1);
  meeting.give_up(1, Call::kBarrier, 1);
  EXPECT_CODE(meeting.failure(), Code::kTimeout);
  EXPECT_THAT(text_of(meeting.failure()),
              AllOf(HasSubstr("cannot reach each other"), HasSubstr("strangers")));
}

TEST(Meeting, WhoLeftAfterTheCallIsNotMissedInIt) {
  Meeting meeting = meeting_of(2);
  meeting.leave_after(0, 3);
  meeting.wait(1, Call::kBarrier, 3);
  EXPECT_OK(meeting.failure());
  meeting.wait(1, Call::kBarrier, 4);
  EXPECT_CODE(meeting.failure(), Code::kPeerLost);
  EXPECT_THAT(text_of(meeting.failure()), HasSubstr("PE 0 has left the job while PE 1 waits"));
}

TEST(Meeting, NamesWhoIsLateForACall) {
  Meeting meeting = meeting_of(3);
  meeting.enter(1, Call::kAllgather, 1, {}, kStart + 100s);
  EXPECT_EQ(meeting.deadline(), kStart + 110s);
  meeting.enter(0, Call::kAllgather, 1, {}, kStart + 105s);
  EXPECT_EQ(meeting.deadline(), kStart + 110s);
  meeting.expire(kStart + 110s);
  EXPECT_CODE(meeting.failure(), Code::kTimeout);
  EXPECT_THAT(text_of(meeting.failure()),
              HasSubstr("PE 2 of 3 has not come to allgather (call 1) within 10 s"));
}

TEST(Meeting, ALostPeEndsTheJobAndIsNamed) {
  Meeting meeting = meeting_of(2);
  meeting.lose(1, "its cable was cut");
  EXPECT_CODE(meeting.failure(), Code::kPeerLost);
  EXPECT_THAT(text_of(meeting.failure()),
              HasSubstr("PE 1 (pid 101 on host) is lost: its cable was cut"));
  EXPECT_EQ(meeting.culprit(), 1);
  meeting.lose(0, "later");
  meeting.abort(0, 3, "too late");
  EXPECT_THAT(text_of(meeting.failure()), HasSubstr("PE 1")) << "the first reason stays";
  EXPECT_EQ(meeting.culprit(), 1);
  EXPECT_FALSE(meeting.abort_code());
}

TEST(Meeting, APeThatWillNeverComeIsLostToo) {
  Meeting meeting(2, 10);
  meeting.lose(1, "it ended at once");
  const Status late = meeting.join(0, {}, kStart);
  EXPECT_CODE(late, Code::kPeerLost);
  EXPECT_THAT(text_of(late), HasSubstr("PE 1 is lost: it ended at once"));
}

TEST(Meeting, WhoHasLeftIsNotLost) {
  Meeting meeting = meeting_of(2);
  meeting.leave(0);
  meeting.lose(0, "its connection ended");
  EXPECT_OK(meeting.failure());
  meeting.leave(1);
  EXPECT_TRUE(meeting.everybody_left());
}

TEST(Meeting, WhoHasLeftIsMissedByThoseWhoCallOn) {
  {
    Meeting meeting = meeting_of(3);
    meeting.leave(2);
    EXPECT_OK(meeting.failure());
    meeting.enter(0, Call::kBarrier, 1, {}, kStart);
    EXPECT_CODE(meeting.failure(), Code::kPeerLost);
    EXPECT_THAT(text_of(meeting.failure()), HasSubstr("PE 2 has left the job while PE 0 waits"));
  }
  {
    Meeting meeting = meeting_of(3);
    meeting.enter(0, Call::kBarrier, 1, {}, kStart);
    meeting.enter(1, Call::kBarrier, 1, {}, kStart);
    meeting.leave(2);
    EXPECT_THAT(text_of(meeting.failure()), HasSubstr("while PEs 0 and 1 wait in barrier"));
  }
}

TEST(Meeting, AbortCarriesCodeAndText) {
  Meeting meeting = meeting_of(2);
  meeting.abort(1, 42, "no more disk");
  EXPECT_CODE(meeting.failure(), Code::kAborted);
  EXPECT_THAT(text_of(meeting.failure()),
              HasSubstr("PE 1 (pid 101 on host) aborted the job with code 42: no more disk"));
  EXPECT_EQ(meeting.abort_code(), 42);
}

TEST(Meeting, CallsInADifferentOrderAreAnError) {
  Meeting meeting = meeting_of(3);
  meeting.enter(0, Call::kBarrier, 1, {}, kStart);
  meeting.enter(1, Call::kBarrier, 1, {}, kStart);
  meeting.enter(2, Call::kAllgather, 1, {}, kStart);
  EXPECT_CODE(meeting.failure(), Code::kInvalidArgument);
  EXPECT_THAT(text_of(meeting.failure()),
              HasSubstr("call 1 is allgather on PE 2 but barrier on PEs 0 and 1"));
}

TEST(Meeting, ASequenceThatDoesNotFitIsAnError) {
  for (const std::uint64_t sequence : {std::uint64_t{0}, std::uint64_t{2}}) {
    Meeting meeting = meeting_of(2);
    meeting.enter(0, Call::kBarrier, sequence, {}, kStart);
    EXPECT_CODE(meeting.failure(), Code::kInternal);
  }
  Meeting twice = meeting_of(2);
  twice.enter(0, Call::kBarrier, 1, {}, kStart);
  twice.enter(0, Call::kBarrier, 1, {}, kStart);
  EXPECT_CODE(twice.failure(), Code::kInternal);
}

TEST(Meeting, TellsALeaverWhoStays) {
  Meeting meeting = meeting_of(3);
  meeting.leave(1);
  EXPECT_THAT(text_of(meeting.leave_timeout()), HasSubstr("PEs 0 and 2 of 3 have not left"));
}

}  // namespace
}  // namespace weft
