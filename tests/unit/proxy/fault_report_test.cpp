#include "host/proxy/fault_report.hpp"

#include <cstdio>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft {
namespace {

using testing::HasSubstr;
using testing::Not;

FaultRecord record_of(FaultCode code) {
  FaultRecord record;
  record.claimed = 1;
  record.code = static_cast<std::uint32_t>(code);
  record.pe = 3;
  record.block = 7;
  record.thread = 31;
  record.lane = 2;
  record.cmp = static_cast<std::uint32_t>(Cmp::kGe);
  record.offset = 0x1240;
  record.seen = 4;
  record.wanted = 5;
  record.waited_ns = 1'500'000'000;
  std::snprintf(record.where, sizeof(record.where), "wait_until");
  return record;
}

Status describe(const FaultRecord& record, const LastWriter& writer = {}) {
  return describe_fault(record, 1, 8, 4096, writer);
}

TEST(FaultReport, AWaitSaysWhereWhatAndHowLong) {
  const Status status = describe(record_of(FaultCode::kWaitTimeout));
  EXPECT_EQ(status.code(), Code::kTimeout);
  EXPECT_STREQ(
      status.text(),
      "kernel on PE 1 (context 2, block 7, thread 31), wait_until: waited 1.5 s for PE 3 at "
      "heap offset 0x1240: saw 4, wanted >= 5. Has the PE that should write it stopped, or is "
      "the signal sent elsewhere? WEFT_WAIT_TIMEOUT sets the deadline");
}

// A wait that ended because the job did says so, by the job's own words and code.
TEST(FaultReport, AWaitNamesTheLossThatEndedIt) {
  const Status lost = Status::error(Code::kPeerLost, "PE 3 is lost");
  const Status status = describe_fault(record_of(FaultCode::kWaitTimeout), 1, 8, 4096, {}, lost);
  EXPECT_EQ(status.code(), Code::kPeerLost);
  EXPECT_STREQ(
      status.text(),
      "kernel on PE 1 (context 2, block 7, thread 31), wait_until: gave up after 1.5 s for "
      "PE 3 at heap offset 0x1240: saw 4, wanted >= 5: PE 3 is lost");
  const Status wrong = describe_fault(record_of(FaultCode::kBadPe), 1, 8, 4096, {}, lost);
  EXPECT_EQ(wrong.code(), Code::kOutOfRange);
}

TEST(FaultReport, TheLastWriterIsNamedWhenKnown) {
  const auto writer = [](std::uint64_t offset) {
    return offset == 0x1240 ? std::string("PE 6") : std::string();
  };
  FaultRecord record = record_of(FaultCode::kWaitTimeout);
  EXPECT_THAT(describe(record, writer).text(), HasSubstr("; last written by PE 6."));
  record.offset = 8;
  EXPECT_THAT(describe(record, writer).text(), Not(HasSubstr("last written")));
  record.offset = kNoHeapOffset;  // and is not asked for what cannot be known
  const Status outside = describe(record, [](std::uint64_t) { return std::string("PE 0"); });
  EXPECT_THAT(outside.text(), Not(HasSubstr("last written")));
  EXPECT_THAT(outside.text(), HasSubstr("outside the symmetric heap"));
}

TEST(FaultReport, NumbersReadAsTheKernelMeantThem) {
  FaultRecord record = record_of(FaultCode::kWaitTimeout);
  record.type = WordType::kSigned;
  record.seen = static_cast<std::uint64_t>(-7);
  EXPECT_THAT(describe(record).text(), HasSubstr("saw -7, wanted >= 5"));
  record.type = WordType::kDouble;
  const double seen = 0.5, wanted = -2.25;
  std::memcpy(&record.seen, &seen, 8);
  std::memcpy(&record.wanted, &wanted, 8);
  EXPECT_THAT(describe(record).text(), HasSubstr("saw 0.5, wanted >= -2.25"));
}

TEST(FaultReport, EveryComparisonHasItsSign) {
  const char* signs[] = {"== 5", "!= 5", "> 5", ">= 5", "< 5", "<= 5"};
  for (std::uint32_t cmp = 0; cmp < 6; ++cmp) {
    FaultRecord record = record_of(FaultCode::kWaitTimeout);
    record.cmp = cmp;
    EXPECT_THAT(describe(record).text(), HasSubstr(std::string("wanted ") + signs[cmp]));
  }
}

TEST(FaultReport, AnUnknownPeIsLeftOut) {
  FaultRecord record = record_of(FaultCode::kWaitTimeout);
  record.pe = -1;
  EXPECT_THAT(describe(record).text(), HasSubstr("waited 1.5 s at heap"));
}

TEST(FaultReport, EveryOtherCodeHasItsText) {
  const Status ring = describe(record_of(FaultCode::kRingTimeout));
  EXPECT_EQ(ring.code(), Code::kTimeout);
  EXPECT_THAT(ring.text(), HasSubstr("4 of 5 are done"));
  const Status late = describe(record_of(FaultCode::kNicTimeout));
  EXPECT_EQ(late.code(), Code::kTimeout);
  EXPECT_THAT(late.text(), HasSubstr("for PE 3 for the NIC"));
  EXPECT_THAT(late.text(), HasSubstr("4 of 5 are done"));
  const Status nic = describe(record_of(FaultCode::kNicError));
  EXPECT_EQ(nic.code(), Code::kIo);
  EXPECT_THAT(nic.text(), HasSubstr("the queue for PE 3, with syndrome 0x4"));
  const Status pe = describe(record_of(FaultCode::kBadPe));
  EXPECT_EQ(pe.code(), Code::kOutOfRange);
  EXPECT_THAT(pe.text(), HasSubstr("PE 3 does not exist; this job has PEs 0 to 7"));
  const Status range = describe(record_of(FaultCode::kBadRange));
  EXPECT_EQ(range.code(), Code::kOutOfRange);
  EXPECT_THAT(range.text(), HasSubstr("5 bytes at heap offset 0x1240"));
  EXPECT_THAT(range.text(), HasSubstr("4096 bytes"));
  FaultRecord outside = record_of(FaultCode::kBadRange);
  outside.offset = kNoHeapOffset;
  EXPECT_THAT(describe(outside).text(), HasSubstr("outside the symmetric heap"));
  const Status misaligned = describe(record_of(FaultCode::kMisaligned));
  EXPECT_EQ(misaligned.code(), Code::kInvalidArgument);
  EXPECT_THAT(misaligned.text(), HasSubstr("not aligned"));
  const Status unknown = describe(record_of(static_cast<FaultCode>(77)));
  EXPECT_EQ(unknown.code(), Code::kInternal);
  EXPECT_THAT(unknown.text(), HasSubstr("77"));
}

TEST(FaultReport, ANameThatIsNotTerminatedIsCut) {
  FaultRecord record = record_of(FaultCode::kBadPe);
  std::memset(record.where, 'x', sizeof(record.where));
  EXPECT_THAT(describe(record).text(), HasSubstr(std::string(64, 'x') + ":"));
  record.where[0] = '\0';
  EXPECT_THAT(describe(record).text(), HasSubstr("operation not known"));
}

}  // namespace
}  // namespace weft
