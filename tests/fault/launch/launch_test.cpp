// weft-run from outside: what it starts, what it forwards, what it says when things go wrong, and
// that it leaves nothing behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "tests/fault/launch/launched.hpp"
#include "tests/support/random.hpp"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// --- the good case ------------------------------------------------------------------------------

TEST(Launch, ThePesMeet) {
  for (const int npes : {1, 2, 7}) {
    Launched job({"-n", std::to_string(npes), "PROGRAM", "meet"});
    EXPECT_EQ(job.wait(), 0) << job.err();
    for (int pe = 0; pe < npes; ++pe) {
      EXPECT_THAT(job.out(),
                  HasSubstr("PE " + std::to_string(pe) + " met " + std::to_string(npes) + "\n"));
    }
    EXPECT_EQ(job.err(), "");
    EXPECT_TRUE(job.all_gone());
  }
}

TEST(Launch, ArgumentsOfTheProgramAreUntouched) {
  Launched job({"-n", "1", "PROGRAM", "arguments", "-n", "5", "--prefix", "--", "", "a b", "-x",
                "$HOME", "--help"});
  EXPECT_EQ(job.wait(), 0);
  EXPECT_EQ(job.out(), "(-n)\n(5)\n(--prefix)\n(--)\n()\n(a b)\n(-x)\n($HOME)\n(--help)\n");
}

TEST(Launch, TheNumberMayBeCalledAsMpirunDoes) {
  Launched job({"-np", "2", "PROGRAM", "arguments", "-np", "3"});
  EXPECT_EQ(job.wait(), 0) << job.err();
  std::vector<std::string> lines = lines_of(job.out());
  std::sort(lines.begin(), lines.end());
  EXPECT_EQ(lines, (std::vector<std::string>{"(-np)", "(-np)", "(3)", "(3)"}));
}

TEST(Launch, VariablesReachThePes) {
  Launched job({"-n", "2", "-x", "COLOUR=blue=green", "-x", "EMPTY=", "--prefix", "--", "PROGRAM",
                "environment", "COLOUR", "EMPTY", "WEFT_PE", "WEFT_NPES"});
  EXPECT_EQ(job.wait(), 0) << job.err();
  for (const char* pe : {"0", "1"}) {
    const std::string prefix = std::string("[") + pe + "] ";
    for (const std::string& line : {std::string("COLOUR=blue=green"), std::string("EMPTY="),
                                    std::string("WEFT_PE=") + pe, std::string("WEFT_NPES=2")}) {
      EXPECT_THAT(job.out(), HasSubstr(prefix + line + "\n"));
    }
  }
}

TEST(Launch, StandardInputGoesToPeZeroAlone) {
  Launched job({"-n", "3", "PROGRAM", "input"});
  job.write(std::string(200'000, 'x'));
  job.close_input();
  EXPECT_EQ(job.wait(), 0);
  EXPECT_THAT(job.out(), HasSubstr("PE 0 read 200000\n"));
  EXPECT_THAT(job.out(), HasSubstr("PE 1 read 0\n"));
  EXPECT_THAT(job.out(), HasSubstr("PE 2 read 0\n"));
}

// --- output -------------------------------------------------------------------------------------

TEST(LaunchOutput, LinesStayWholeAndInOrder) {
  constexpr int kPes = 4;
  constexpr int kLines = 2000;
  Launched job(
      {"-n", std::to_string(kPes), "--prefix", "PROGRAM", "lines", std::to_string(kLines)});
  EXPECT_EQ(job.wait(), 0) << job.err();
  std::map<int, int> next;
  for (const std::string& line : lines_of(job.out())) {
    int prefix = -1, pe = -1, index = -1;
    ASSERT_EQ(std::sscanf(line.c_str(), "[%d] <%d:%d:", &prefix, &pe, &index), 3) << line;
    ASSERT_EQ(prefix, pe) << line;
    ASSERT_EQ(index, next[pe]++) << line;
    const auto text = line.substr(line.rfind(':') + 1);
    ASSERT_EQ(text.find_first_not_of(static_cast<char>('a' + pe)), text.size() - 1) << line;
    ASSERT_EQ(text.back(), '>') << line;
  }
  for (int pe = 0; pe < kPes; ++pe) EXPECT_EQ(next[pe], kLines) << "PE " << pe;
}

TEST(LaunchOutput, FilesPerPeOnRequest) {
  const auto dir = std::filesystem::path(::testing::TempDir()) /
                   ("weft-launch-" + std::to_string(std::random_device()()));
  Launched job({"-n", "2", "--prefix", "--output-dir", dir, "PROGRAM", "words", "3"});
  EXPECT_EQ(job.wait(), 5);
  EXPECT_EQ(job.out(), "");
  EXPECT_EQ(contents(dir / "pe0.out"), "");
  EXPECT_TRUE(std::filesystem::exists(dir / "pe1.out"));
  // One of the two failed first; the other may have been ended in the middle.
  EXPECT_TRUE(contents(dir / "pe0.err") == "word 1\nword 2\nword 3\n" ||
              contents(dir / "pe1.err") == "word 1\nword 2\nword 3\n");
  EXPECT_THAT(job.err(), HasSubstr("  | word 3\n"));
  std::filesystem::remove_all(dir);
}

TEST(LaunchOutput, AReaderThatGoesAwayEndsTheJob) {
  Launched job({"sh", "-c", "{ $RUN -n 2 $PROGRAM forever; echo status $? >&2; } | head -n 3"});
  EXPECT_EQ(job.wait(), 0);
  EXPECT_EQ(job.out(), "still here\nstill here\nstill here\n");
  EXPECT_THAT(job.err(), HasSubstr("status 141\n"));
  EXPECT_TRUE(job.all_gone());
}

// Every run: what comes last is written when all PEs have ended.
TEST(LaunchOutput, LostOutputIsNoSuccess) {
  for (int turn = 0; turn < 10; ++turn) {
    for (const char* program : {"meet", "lines 2000"}) {
      const std::string run = std::string("$RUN -n 2 $PROGRAM ") + program;
      Launched full({"sh", "-c", run + " > /dev/full"});
      EXPECT_EQ(full.wait(), 1);
      EXPECT_THAT(full.err(), HasSubstr("standard output cannot be written"));
    }
  }
}

TEST(LaunchOutput, LostErrorsAreNoSuccess) {
  Launched job({"sh", "-c", "$RUN -n 1 $PROGRAM words 25 2> /dev/full"});
  const int status = job.wait();
  EXPECT_TRUE(status == 5 || status == 1) << status;  // whichever is seen first
}

// --- a PE fails ---------------------------------------------------------------------------------

TEST(LaunchFailure, LastWordsAreTheLastTenLines) {
  Launched job({"-n", "1", "PROGRAM", "words", "25"});
  EXPECT_EQ(job.wait(), 5);
  EXPECT_THAT(job.err(), AllOf(HasSubstr("exited with code 5"), HasSubstr("last words of PE 0")));
  EXPECT_THAT(job.err(), HasSubstr("  | word 16\n"));
  EXPECT_THAT(job.err(), HasSubstr("  | word 25\n"));
  EXPECT_THAT(job.err(), Not(HasSubstr("  | word 15\n")));
}

TEST(LaunchFailure, WhatTheLibrarySaidIsShownOnce) {
  Launched job({"-n", "3", "PROGRAM", "message"});
  EXPECT_EQ(job.wait(), 5);
  const std::string err = job.err();
  const auto first = err.find("weft[");
  EXPECT_NE(first, std::string::npos);
  EXPECT_EQ(err.find("weft[", first + 1), std::string::npos) << err;
  EXPECT_THAT(err, AllOf(HasSubstr("its last message is above"), Not(HasSubstr("last words"))));
}

struct Death {
  const char* moment;
  const char* how;
  int status;
  const char* words;
};

class LaunchDeath : public ::testing::TestWithParam<Death> {};

TEST_P(LaunchDeath, IsReportedWithItsPeAndEndsTheOthers) {
  const Death& death = GetParam();
  Launched job({"-n", "3", "PROGRAM", "die", "1", death.moment, death.how});
  EXPECT_EQ(job.wait(), death.status) << job.err();
  EXPECT_THAT(job.err(), HasSubstr("weft-run: PE 1 of 3 (pid "));
  EXPECT_THAT(job.err(), HasSubstr(death.words));
  EXPECT_THAT(job.err(), HasSubstr(std::string("  | PE 1 goes: ") + death.how + "\n"));
  EXPECT_TRUE(job.all_gone());
}

INSTANTIATE_TEST_SUITE_P(
    At, LaunchDeath,
    ::testing::Values(Death{"first", "segv", 139, "was killed by signal 11 (SIGSEGV"},
                      Death{"first", "kill", 137, "was killed by signal 9 (SIGKILL"},
                      Death{"first", "exit3", 3, "exited with code 3"},
                      Death{"joined", "segv", 139, "was killed by signal 11 (SIGSEGV"},
                      Death{"joined", "kill", 137, "was killed by signal 9 (SIGKILL"},
                      Death{"joined", "exit3", 3, "exited with code 3"},
                      Death{"joined", "exit0", 1, "but other PEs still needed it"},
                      Death{"left", "exit3", 3, "exited with code 3"}),
    [](const auto& info) { return std::string(info.param.moment) + "_" + info.param.how; });

TEST(LaunchFailure, WhoHasLeftMayGo) {
  Launched job({"-n", "3", "PROGRAM", "die", "1", "left", "exit0"});
  EXPECT_EQ(job.wait(), 0) << job.err();
}

// Whether the others have come already or come later, they do not wait for a PE that never will.
TEST(LaunchFailure, WhoGoesWithoutComingIsNamedToTheOthers) {
  Launched job({"-n", "3", "PROGRAM", "die", "1", "first", "exit0"});
  EXPECT_EQ(job.wait(), 1);
  EXPECT_THAT(job.err(), AllOf(HasSubstr("PE 1"), HasSubstr("exited with code 0")));
  EXPECT_TRUE(job.all_gone());
}

TEST(LaunchFailure, ProgramsThatKnowNothingOfTheJobMayJustEnd) {
  Launched job({"-n", "3", "true"});
  EXPECT_EQ(job.wait(), 0) << job.err();
  EXPECT_EQ(job.err(), "");
}

TEST(LaunchFailure, AnAbortEndsTheJobWithItsCode) {
  Launched job({"-n", "3", "PROGRAM", "abort", "2", "42"});
  EXPECT_EQ(job.wait(), 42);
  EXPECT_THAT(job.err(), HasSubstr("aborted the job with code 42: the test wants it"));
  EXPECT_TRUE(job.all_gone());
}

TEST(LaunchFailure, AnAbortWithCode0EndsTheJobAsASuccess) {
  Launched job({"-n", "3", "PROGRAM", "abort", "2", "0"});
  EXPECT_EQ(job.wait(), 0);
  EXPECT_EQ(job.err(), "");
  EXPECT_TRUE(job.all_gone());
}

TEST(LaunchFailure, ACodeThatAStatusCannotHoldIsNoSuccess) {
  Launched job({"-n", "3", "PROGRAM", "abort", "2", "256"});
  EXPECT_EQ(job.wait(), 1);
}

TEST(LaunchFailure, WhoDoesNotListenIsKilledAfterTheGrace) {
  Launched job({"-n", "3", "--grace", "0.1", "PROGRAM", "stubborn"});
  ASSERT_TRUE(job.await("deaf", 2));
  job.write("\n");
  EXPECT_EQ(job.wait(), 4);
  EXPECT_THAT(job.err(), HasSubstr("PEs 1 and 2 did not end within 0.1 s"));
  EXPECT_TRUE(job.all_gone());
}

TEST(LaunchFailure, ChildrenOfPesEndWithThem) {
  Launched job({"-n", "2", "PROGRAM", "family"});
  EXPECT_EQ(job.wait(), 6) << job.err();
  EXPECT_TRUE(job.all_gone());
}

TEST(LaunchFailure, TheTimeoutEndsTheJob) {
  Launched job({"-n", "2", "--timeout", "0.2", "PROGRAM", "sleep"});
  EXPECT_EQ(job.wait(), 124);
  EXPECT_THAT(job.err(), HasSubstr("--timeout of 0.2 s"));
  EXPECT_TRUE(job.all_gone());
}

TEST(LaunchFailure, PesDoNotSurviveTheirLauncher) {
  Launched job({"-n", "3", "PROGRAM", "sleep"});
  ASSERT_TRUE(job.await("pid", 3));
  EXPECT_EQ(job.alive().size(), 4u);
  job.signal(SIGKILL);
  EXPECT_EQ(job.wait(), 137);
  EXPECT_TRUE(job.all_gone());
}

// A PE is killed somewhere between its first instruction and the middle of a running job: the
// report names it, and no process and no name in /dev/shm stays.
TEST(LaunchFailure, APeKilledAtAnyMomentIsNamedAndNothingStays) {
  std::mt19937_64 random(test_seed());
  const auto shm = [] {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
      if (entry.path().filename().string().find("weft") != std::string::npos) ++count;
    }
    return count;
  };
  const int before = shm();
  for (int round = 0; round < 15; ++round) {
    constexpr int kPes = 3;
    Launched job({"-n", std::to_string(kPes), "-x", "WEFT_HEAP_SIZE=16m", "-x",
                  "WEFT_HEAP_CHUNK=1m", "PROGRAM", "runtime"});
    const int victim = static_cast<int>(random() % kPes);
    const std::string announcement = "pid " + std::to_string(victim) + " ";
    ASSERT_TRUE(job.await(announcement));
    const std::string out = job.out();
    const pid_t pid = std::atoi(out.c_str() + out.find(announcement) + announcement.size());
    ::usleep(static_cast<useconds_t>(random() % 30'000));
    ASSERT_EQ(::kill(pid, SIGKILL), 0) << job.err();
    EXPECT_EQ(job.wait(), 137) << job.err();
    EXPECT_THAT(job.err(), HasSubstr("weft-run: PE " + std::to_string(victim) + " of 3 (pid " +
                                     std::to_string(pid)))
        << job.err();
    EXPECT_TRUE(job.all_gone());
  }
  EXPECT_EQ(shm(), before);
}

// --- signals ------------------------------------------------------------------------------------

TEST(LaunchSignals, AreForwardedToEveryPe) {
  Launched job({"-n", "2", "PROGRAM", "signals"});
  ASSERT_TRUE(job.await("ready", 2));
  for (const int signal : {SIGUSR1, SIGUSR2}) {
    job.signal(signal);
    EXPECT_TRUE(job.await("got " + std::to_string(signal) + ".", 2)) << job.out();
  }
  job.signal(SIGTERM);
  EXPECT_EQ(job.wait(), 0) << "PEs that end well on request have not failed: " << job.err();
  EXPECT_THAT(job.err(), HasSubstr("SIGTERM: ending all PEs"));
}

class LaunchEndingSignal : public ::testing::TestWithParam<int> {};

TEST_P(LaunchEndingSignal, EndsTheJobWithItsStatus) {
  Launched job({"-n", "3", "PROGRAM", "sleep"});
  ASSERT_TRUE(job.await("pid", 3));
  job.signal(GetParam());
  EXPECT_EQ(job.wait(), 128 + GetParam());
  EXPECT_TRUE(job.all_gone());
}

INSTANTIATE_TEST_SUITE_P(All, LaunchEndingSignal,
                         ::testing::Values(SIGINT, SIGTERM, SIGHUP, SIGQUIT));

TEST(LaunchSignals, ASecondOneKills) {
  Launched job({"-n", "3", "--grace", "1000", "PROGRAM", "stubborn"});
  ASSERT_TRUE(job.await("deaf", 2));
  job.signal(SIGTERM);
  ASSERT_TRUE(job.await_err("SIGTERM"));
  job.signal(SIGINT);
  EXPECT_EQ(job.wait(), 128 + SIGTERM);
  EXPECT_THAT(job.err(), HasSubstr("killing all PEs"));
  EXPECT_TRUE(job.all_gone());
}

char state_of(pid_t pid) {
  const std::string stat = contents("/proc/" + std::to_string(pid) + "/stat");
  const auto end = stat.rfind(')');
  return end == std::string::npos ? '?' : stat.at(end + 2);
}

bool all_in_state(const Launched& job, bool stopped) {
  for (int i = 0; i < 3000; ++i) {
    bool all = true;
    for (const pid_t pid : job.alive()) all = all && (state_of(pid) == 'T') == stopped;
    if (all) return true;
    ::usleep(10'000);
  }
  return false;
}

TEST(LaunchSignals, AStoppedPeIsNamed) {
  Launched job({"-n", "2", "--prefix", "PROGRAM", "sleep"});
  ASSERT_TRUE(job.await("pid", 2));
  const std::string out = job.out();
  const std::size_t at = out.find("[1] pid 1 ");
  ASSERT_NE(at, out.npos) << out;
  const pid_t pid = std::stoi(out.substr(at + 10));
  ::kill(pid, SIGSTOP);
  const std::string named = "PE 1 of 2 (pid " + std::to_string(pid) + ") was stopped by SIGSTOP";
  EXPECT_TRUE(job.await_err(named)) << job.err();
  ::kill(pid, SIGCONT);
  job.signal(SIGTERM);
  EXPECT_EQ(job.wait(), 128 + SIGTERM);
}
TEST(LaunchSignals, StopAndContinueReachEverybody) {
  Launched job({"-n", "2", "PROGRAM", "sleep"});
  ASSERT_TRUE(job.await("pid", 2));
  job.signal(SIGTSTP);
  EXPECT_TRUE(all_in_state(job, true)) << "not everybody stops";
  job.signal(SIGCONT);
  EXPECT_TRUE(all_in_state(job, false)) << "not everybody goes on";
  job.signal(SIGTERM);
  EXPECT_EQ(job.wait(), 128 + SIGTERM);
}

// --- wrong use ----------------------------------------------------------------------------------

struct Wrong {
  std::vector<std::string> arguments;
  int status;
  const char* words;
};

TEST(LaunchUse, MistakesAreNamedBeforeAnythingStarts) {
  const auto folder = std::filesystem::path(::testing::TempDir()) /
                      ("weft-use-" + std::to_string(std::random_device()()));
  std::filesystem::create_directory(folder);
  const std::string text = folder / "text";
  const std::string script = folder / "script";
  std::ofstream(text) << "no program\n";
  std::ofstream(script) << "no first line\n";
  ::chmod(script.c_str(), 0755);
  const Wrong cases[] = {
      {{}, 2, "-n"},
      {{"-n"}, 2, "-n"},
      {{"-n", "2"}, 2, "which program?"},
      {{"PROGRAM", "meet"}, 2, "required"},
      {{"-n", "0", "PROGRAM"}, 2, "not in range"},
      {{"-n", "-3", "PROGRAM"}, 2, "not in range"},
      {{"-n", "two", "PROGRAM"}, 2, "two"},
      {{"-n", "2", "--colour", "PROGRAM"}, 2, "no option --colour"},
      {{"-n", "2", "-x", "NAME", "PROGRAM"}, 2, "NAME=VALUE"},
      {{"-n", "2", "-x", "WEFT_PE=1", "PROGRAM"}, 2, "weft-run itself sets WEFT_PE"},
      {{"-n", "2", "--bind", "cheese", "PROGRAM"}, 2, "cheese"},
      {{"-n", "2", "--timeout", "never", "PROGRAM"}, 2, "never"},
      {{"-n", "2", "weft-no-such-program"}, 127, "weft-no-such-program"},
      {{"-n", "2", "./weft-no-such-program"}, 127, "No such file"},
      {{"-n", "2", folder}, 126, "is a directory"},
      {{"-n", "2", text}, 126, "chmod +x"},
      {{"-n", "2", script}, 126, "script without #!"},
      {{"-n", "2", "--output-dir", "/proc/nowhere", "PROGRAM"}, 2, "--output-dir /proc/nowhere"},
  };
  for (const Wrong& wrong : cases) {
    Launched job(wrong.arguments);
    EXPECT_EQ(job.wait(), wrong.status) << wrong.words << "\n" << job.err();
    EXPECT_THAT(job.err(), HasSubstr(wrong.words));
    EXPECT_THAT(job.err(), HasSubstr("weft-run: "));
    EXPECT_EQ(job.out(), "");
    EXPECT_TRUE(job.all_gone());
  }
  std::filesystem::remove_all(folder);
}

TEST(LaunchUse, HelpAndVersionAreNoMistakes) {
  Launched help({"--help"});
  EXPECT_EQ(help.wait(), 0);
  EXPECT_THAT(help.out(), AllOf(HasSubstr("Usage: weft-run -n N"), HasSubstr("--grace")));
  Launched version({"--version"});
  EXPECT_EQ(version.wait(), 0);
  EXPECT_THAT(version.out(), HasSubstr("weft-run "));
}

TEST(LaunchUse, TooFewFilesAreAMessageAndLeaveNobody) {
  Launched job({"sh", "-c", "ulimit -n 40; exec $RUN -n 60 $PROGRAM sleep"});
  EXPECT_NE(job.wait(), 0);
  EXPECT_THAT(job.err(), AllOf(HasSubstr("weft-run: "), HasSubstr("open files")));
  EXPECT_TRUE(job.all_gone());
}

TEST(LaunchBind, BindsOrSaysWhatIsMissing) {
  Launched job({"-n", "2", "--bind", "core", "--report-bindings", "sh", "-c",
                "grep Cpus_allowed_list: /proc/self/status"});
  const int status = job.wait();
  if (status == 2) {
    EXPECT_THAT(job.err(), AllOf(HasSubstr("hwloc"), HasSubstr("Install")));
    return;
  }
  EXPECT_EQ(status, 0) << job.err();
  for (const char* pe : {"PE 0 is bound to core 0 (CPUs ", "PE 1 is bound to core "}) {
    EXPECT_THAT(job.err(), HasSubstr(pe));
  }
  // The report names the same CPUs as the kernel.
  for (const std::string& line : lines_of(job.err())) {
    const auto open = line.find("(CPUs ");
    ASSERT_NE(open, std::string::npos) << line;
    const auto cpus = line.substr(open + 6, line.size() - open - 7);
    EXPECT_THAT(job.out(), HasSubstr("Cpus_allowed_list:\t" + cpus + "\n"));
  }
}

TEST(LaunchBind, WithoutBindingTheReportSaysSo) {
  Launched job({"-n", "2", "--report-bindings", "true"});
  EXPECT_EQ(job.wait(), 0);
  EXPECT_THAT(job.err(), HasSubstr("PE 1 is not bound; it may use CPUs "));
}

}  // namespace
}  // namespace weft
