// Values that all PEs must have alike, tested without PEs.
#include "host/runtime/agreement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/random.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Agreement, EqualIsFine) {
  const std::string mine = agreement_of({});
  EXPECT_OK(check_agreement(std::vector<std::string>{mine}));
  EXPECT_OK(check_agreement(std::vector<std::string>(5, mine)));
}

TEST(Agreement, AnOptionIsNamedWithBothValues) {
  Options other;
  other.max_teams = 77;
  const std::vector<std::string> all = {agreement_of({}), agreement_of({}), agreement_of(other)};
  const Status status = check_agreement(all);
  EXPECT_CODE(status, Code::kInvalidArgument);
  EXPECT_THAT(std::string(status.text()),
              AllOf(HasSubstr("WEFT_MAX_TEAMS"), HasSubstr("'77' on PE 2"),
                    HasSubstr("'32' on PE 0"), HasSubstr("same value")));
}

// The version comes first: with another one, other options mean little.
TEST(Agreement, AnotherVersionSaysMost) {
  Options other;
  other.max_teams = 77;
  const std::string theirs = replaced(agreement_of(other), "version=", "version=9");
  const Status status = check_agreement(std::vector<std::string>{agreement_of({}), theirs});
  EXPECT_CODE(status, Code::kVersionMismatch);
  EXPECT_THAT(std::string(status.text()),
              AllOf(HasSubstr("library version is '9"), HasSubstr("on PE 1"),
                    HasSubstr("same build"), Not(HasSubstr("MAX_TEAMS"))));
}

// A later version may add lines and take some away; an answer comes in any case.
TEST(Agreement, LinesThatAreNotThere) {
  const std::string mine = agreement_of({});
  const std::string more = mine + "WEFT_LATER=1\n";
  const Status status = check_agreement(std::vector<std::string>{mine, more});
  EXPECT_CODE(status, Code::kInvalidArgument);
  EXPECT_THAT(std::string(status.text()),
              AllOf(HasSubstr("WEFT_LATER is '1' on PE 1"), HasSubstr("not there on PE 0")));
  EXPECT_CODE(check_agreement(std::vector<std::string>{more, mine}), Code::kInvalidArgument);
  EXPECT_CODE(check_agreement(std::vector<std::string>{mine, ""}), Code::kVersionMismatch);
}

TEST(Agreement, AnyBytesGiveAnAnswer) {
  std::mt19937_64 random(test_seed());
  const std::string mine = agreement_of({});
  for (int round = 0; round < 500; ++round) {
    std::string theirs = mine;
    for (std::uint64_t i = random() % 4; i < 4; ++i)
      theirs[random() % theirs.size()] = "=\n\0a"[random() % 4];
    theirs.resize(random() % (theirs.size() + 1));
    check_agreement(std::vector<std::string>{mine, theirs}).ignore();
    check_agreement(std::vector<std::string>{theirs, mine}).ignore();
  }
}

}  // namespace
}  // namespace weft
