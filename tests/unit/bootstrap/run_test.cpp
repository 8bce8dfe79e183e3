// The parts of weft-run that need no processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "bootstrap/run/bind.hpp"
#include "bootstrap/run/ending.hpp"
#include "bootstrap/run/lines.hpp"
#include "bootstrap/run/program.hpp"
#include "tests/support/random.hpp"
#include "tests/support/status.hpp"

namespace weft::run {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Lines, AreWholeWhateverThePieces) {
  std::mt19937_64 random(test_seed());
  std::string all;
  for (int i = 0; i < 200; ++i) all += std::string(random() % 50, 'x') + "\n";
  std::string joined;
  Lines lines([&](std::string_view line) {
    ASSERT_EQ(line.find('\n'), line.size() - 1);
    joined += line;
  });
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t piece = std::min<std::size_t>(1 + random() % 60, all.size() - at);
    lines.feed(std::string_view(all).substr(at, piece));
    at += piece;
  }
  EXPECT_EQ(joined, all);
}

TEST(Lines, TheEndCompletesAPartialLineOnce) {
  std::vector<std::string> seen;
  Lines lines([&](std::string_view line) { seen.emplace_back(line); });
  lines.feed("one\n\ntw");
  lines.feed("o");
  EXPECT_THAT(seen, ElementsAre("one\n", "\n"));
  lines.finish();
  lines.finish();
  EXPECT_THAT(seen, ElementsAre("one\n", "\n", "two\n"));
}

TEST(Lines, AnEndlessLineIsCutAndNothingIsLost) {
  std::size_t bytes = 0;
  Lines lines([&](std::string_view line) {
    EXPECT_LE(line.size(), Lines::kLongest + 70'000);
    bytes += line.size() - 1;
  });
  const std::string piece(65'000, 'x');
  for (int i = 0; i < 100; ++i) lines.feed(piece);
  lines.finish();
  EXPECT_EQ(bytes, 100 * piece.size());
}

TEST(LastWords, KeepTheLastLinesAndCutLongOnes) {
  LastWords words;
  for (int i = 0; i < 30; ++i) words.add("line " + std::to_string(i) + "\n");
  ASSERT_EQ(words.lines().size(), LastWords::kLines);
  EXPECT_EQ(words.lines().front(), "line 20");
  EXPECT_EQ(words.lines().back(), "line 29");
  words.add(std::string(5000, 'x') + "\n");
  EXPECT_EQ(words.lines().back(), std::string(LastWords::kWidth, 'x') + "...");
}

TEST(Ending, IsToldInWordsAndAsAShellDoes) {
  EXPECT_EQ(to_string(Ending{3, 0, false}), "exited with code 3");
  EXPECT_EQ((Ending{3, 0, false}.status()), 3);
  EXPECT_THAT(to_string(Ending{0, SIGSEGV, true}),
              AllOf(HasSubstr("signal 11"), HasSubstr("SIGSEGV"), HasSubstr("core dumped")));
  EXPECT_EQ((Ending{0, SIGSEGV, true}.status()), 139);
  EXPECT_TRUE((Ending{0, 0, false}.clean()));
  EXPECT_FALSE((Ending{0, SIGKILL, false}.clean()));
  EXPECT_THAT(hint(Ending{0, SIGKILL, false}), HasSubstr("memory"));
  EXPECT_EQ(hint(Ending{1, 0, false}), "");
}

TEST(Program, IsSoughtAsAShellDoes) {
  EXPECT_EQ(*find_program("sh", "/nowhere:/bin"), "/bin/sh");
  EXPECT_EQ(*find_program("/bin/sh", ""), "/bin/sh");
  EXPECT_CODE(find_program("sh", "/nowhere"), Code::kOutOfRange);
  EXPECT_CODE(find_program("", "/bin"), Code::kOutOfRange);
  EXPECT_CODE(find_program("/bin", "/bin"), Code::kInvalidArgument);
  // Something that is there but cannot be run tells more than "not found".
  EXPECT_CODE(find_program("passwd", "/etc:/nowhere"), Code::kInvalidArgument);
}

TEST(Bind, ListsOfCpusAreShort) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  EXPECT_EQ(list_cpus(cpus), "");
  for (const int cpu : {0, 1, 2, 5, 1023}) CPU_SET(cpu, &cpus);
  EXPECT_EQ(list_cpus(cpus), "0-2,5,1023");
  EXPECT_THAT(allowed_cpus(), Not(HasSubstr("unknown")));
}

}  // namespace
}  // namespace weft::run
