#include "src/base/abort_text.hpp"
#include "src/base/log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "tests/unit/base/scoped_env.hpp"

namespace weft {
namespace {

using ::testing::HasSubstr;

TEST(Log, LevelsByVolume) {
  CapturedLog log("info");
  LOG(kError, "heap", "one {}", 1);
  LOG(kInfo, "heap", "two");
  LOG(kDebug, "heap", "three");
  EXPECT_EQ(log.text(), "weft error heap: one 1\nweft info heap: two\n");
}

TEST(Log, ASubsystemHasItsOwnLevelAndTheLastWordCounts) {
  CapturedLog log("warn,heap:trace,net:error,heap:debug");
  EXPECT_TRUE(log_enabled(LogLevel::kDebug, "heap"));
  EXPECT_FALSE(log_enabled(LogLevel::kTrace, "heap"));
  EXPECT_FALSE(log_enabled(LogLevel::kWarn, "net"));
  EXPECT_TRUE(log_enabled(LogLevel::kWarn, "transport"));
  EXPECT_FALSE(log_enabled(LogLevel::kInfo, "transport"));
}

TEST(Log, ArgumentsAreEvaluatedOnlyWhenWanted) {
  CapturedLog log("warn");
  int evaluated = 0;
  LOG(kInfo, "heap", "{}", ++evaluated);
  EXPECT_EQ(evaluated, 0);
  LOG(kWarn, "heap", "{}", ++evaluated);
  EXPECT_EQ(evaluated, 1);
}

TEST(Log, WrongLevelsAreRefusedAndChangeNothing) {
  CapturedLog log("info");
  for (const char* wrong : {"loud", "info:", "heap:loud", ":info", "info,,", "info,heap", "INFO"}) {
    const Status status = configure_log(wrong, "");
    EXPECT_TRUE(status.is(Code::kInvalidArgument)) << wrong;
    EXPECT_THAT(std::string(status.text()), HasSubstr("error, warn, info, debug, trace"));
  }
  EXPECT_TRUE(log_enabled(LogLevel::kInfo, "heap"));
  EXPECT_TRUE(check_log_levels("").is_ok());
  EXPECT_TRUE(check_log_levels("heap:debug").is_ok());
}

// From here on this process has PEs as threads.
void have_several_pes() {
  std::thread([] {
    set_log_pe(0);
    set_log_pe(1);
  }).join();
}

TEST(Log, AThreadOfAPeSaysSo) {
  have_several_pes();
  CapturedLog log("warn");
  std::thread([] {
    set_log_pe(3);
    LOG(kWarn, "transport", "slow");
  }).join();
  LOG(kWarn, "transport", "slow");
  EXPECT_EQ(log.text(), "weft[3] warn transport: slow\nweft warn transport: slow\n");
}

// In a process of its own, which has one PE: what threads of the program log is that PE's.
TEST(LogDeathTest, AProgramsOwnThreadsBelongToItsOnePe) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto log_as_program = [] {
    std::thread([] { LOG(kError, "test", "before"); }).join();
    set_log_pe(5);
    std::thread([] { LOG(kError, "test", "behind"); }).join();
    std::exit(0);
  };
  EXPECT_EXIT(log_as_program(), ::testing::ExitedWithCode(0),
              "weft error test: before\nweft\\[5\\] error test: behind");
}

TEST(Log, LinesOfThreadsNeverMix) {
  CapturedLog log("info");
  constexpr int kThreads = 8;
  constexpr int kLines = 200;
  const std::string body(300, 'x');
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      set_log_pe(i);
      for (int line = 0; line < kLines; ++line) LOG(kInfo, "test", "{} {}", line, body);
    });
  }
  for (auto& thread : threads) thread.join();
  std::vector<int> next(kThreads, 0);
  std::istringstream lines(log.text());
  for (std::string line; std::getline(lines, line);) {
    const int pe = line[5] - '0';
    ASSERT_TRUE(pe >= 0 && pe < kThreads) << line;
    ASSERT_EQ(line, fmt::format("weft[{}] info test: {} {}", pe, next[pe], body));
    ++next[pe];
  }
  EXPECT_EQ(next, std::vector<int>(kThreads, kLines));
}

TEST(Log, FilePatternsNameHostProcessAndPe) {
  have_several_pes();
  const std::string folder = ::testing::TempDir() + "weft-log-" + std::to_string(::getpid());
  std::filesystem::create_directory(folder);
  ASSERT_TRUE(configure_log("warn", folder + "/%h-%p-%e-100%%.log").is_ok());
  std::thread([] {
    set_log_pe(7);
    LOG(kWarn, "test", "of seven");
  }).join();
  LOG(kWarn, "test", "of nobody");
  ASSERT_TRUE(configure_log("warn", "").is_ok());
  char host[256] = {};
  ASSERT_EQ(::gethostname(host, sizeof(host) - 1), 0);
  for (const auto& [pe, line] : {std::pair("7", "weft[7] warn test: of seven"),
                                 std::pair("none", "weft warn test: of nobody")}) {
    std::ifstream file(fmt::format("{}/{}-{}-{}-100%.log", folder, host, ::getpid(), pe));
    std::string text;
    EXPECT_TRUE(std::getline(file, text)) << pe;
    EXPECT_EQ(text, line);
  }
  std::filesystem::remove_all(folder);
}

TEST(Log, AFileThatCannotBeOpenedIsNamed) {
  const Status status = configure_log("warn", "/nowhere/at/all/x.log");
  EXPECT_TRUE(status.is(Code::kIo));
  EXPECT_THAT(std::string(status.text()), HasSubstr("'/nowhere/at/all/x.log'"));
}

// A folder as /tmp: everybody may put something under any name, but remove only what is his own.
class SharedFolder {
 public:
  SharedFolder() : path_(fmt::format("{}weft-shared-{}", ::testing::TempDir(), ::getpid())) {
    std::filesystem::create_directory(path_);
    EXPECT_EQ(::chmod(path_.c_str(), 01777), 0);
  }
  ~SharedFolder() { std::filesystem::remove_all(path_); }
  std::string file(const char* name) const { return path_ + "/" + name; }
  static void write(const std::string& path, const char* text) { std::ofstream(path) << text; }
  static std::string read(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

 private:
  std::string path_;
};

void log_into(const std::string& path) {
  ASSERT_TRUE(configure_log("warn", path).is_ok());
  LOG(kWarn, "test", "a line");
  ASSERT_TRUE(configure_log("warn", "").is_ok());
}

TEST(Log, WhatStrangersPlantInASharedFolderIsNotWritten) {
  const SharedFolder folder;
  const std::string precious = folder.file("precious");
  SharedFolder::write(precious, "precious");
  std::filesystem::create_symlink(precious, folder.file("link"));
  std::filesystem::create_symlink(folder.file("none"), folder.file("dangling"));
  std::filesystem::create_hard_link(precious, folder.file("name"));
  ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0666), 0);
  for (const char* planted : {"link", "dangling", "name", "pipe"}) {
    const std::string path = folder.file(planted);
    const Status status = configure_log("warn", path);
    EXPECT_TRUE(status.is(Code::kIo)) << planted;
    EXPECT_THAT(std::string(status.text()), HasSubstr(path));
  }
  EXPECT_EQ(SharedFolder::read(precious), "precious");
  EXPECT_FALSE(std::filesystem::exists(folder.file("none")));
}

TEST(Log, AStrangersFileInASharedFolderIsNotWritten) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a file of another user";
  const SharedFolder folder;
  const std::string path = folder.file("his");
  SharedFolder::write(path, "");
  ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
  EXPECT_TRUE(configure_log("warn", path).is(Code::kIo));
  EXPECT_EQ(SharedFolder::read(path), "");
}

TEST(Log, AnotherPeOrRunGoesOnInTheFile) {
  const SharedFolder folder;
  const std::string path = folder.file("job.log");
  log_into(path);
  log_into(path);
  EXPECT_EQ(SharedFolder::read(path), "weft warn test: a line\nweft warn test: a line\n");
}

TEST(Log, LinksOfAUsersOwnFolderAreFollowed) {
  const std::string folder = fmt::format("{}weft-own-{}", ::testing::TempDir(), ::getpid());
  std::filesystem::create_directory(folder);
  ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
  SharedFolder::write(folder + "/file", "");
  std::filesystem::create_symlink(folder + "/file", folder + "/link");
  log_into(folder + "/link");
  EXPECT_EQ(SharedFolder::read(folder + "/file"), "weft warn test: a line\n");
  EXPECT_TRUE(configure_log("warn", "/dev/null").is_ok());
  EXPECT_TRUE(configure_log("warn", "").is_ok());
  std::filesystem::remove_all(folder);
}

// The environment is read by the first line of a process, so by a process of its own.
std::string lines_of_a_fresh_process(const std::string& levels, const std::string& file) {
  ScopedEnv env;
  env.set("WEFT_LOG", levels);
  env.set("WEFT_LOG_FILE", file);
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::execl("/proc/self/exe", "log_test", "--gtest_filter=LogProgram.*",
            "--gtest_also_run_disabled_tests", static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ::close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = ::read(ends[0], buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  return text;
}

TEST(LogProgram, DISABLED_LogsTwoLines) {
  LOG(kInfo, "test", "an info line");
  LOG(kWarn, "test", "a warn line");
}

TEST(Log, TheFirstLineReadsTheEnvironment) {
  EXPECT_EQ(lines_of_a_fresh_process("", ""), "weft warn test: a warn line\n");
  EXPECT_EQ(lines_of_a_fresh_process("error,test:info", ""),
            "weft info test: an info line\nweft warn test: a warn line\n");
}

TEST(Log, WrongEnvironmentIsSaidAndDoesNotSilence) {
  const std::string levels = lines_of_a_fresh_process("loud", "");
  EXPECT_THAT(levels, HasSubstr("weft warn log: WEFT_LOG: 'loud' is no log level"));
  EXPECT_THAT(levels, HasSubstr("weft warn test: a warn line\n"));
  const std::string file = lines_of_a_fresh_process("info", "/nowhere/x.log");
  EXPECT_THAT(file, HasSubstr("cannot open '/nowhere/x.log'"));
  EXPECT_THAT(file, HasSubstr("weft warn test: a warn line\n"));
  EXPECT_EQ(file.find("cannot open"), file.rfind("cannot open")) << "said once";
}

TEST(Report, RemembersPerThreadAndLogsOnce) {
  CapturedLog log("warn");
  std::thread([] { EXPECT_STREQ(last_error(), ""); }).join();
  const Status failed = Status::error(Code::kTimeout, "PE 5 is missing");
  EXPECT_TRUE(report(report(failed)).is(Code::kTimeout));
  EXPECT_EQ(std::string(last_error()), failed.to_string());
  EXPECT_EQ(log.text(), "weft error api: " + failed.to_string() + "\n");
  std::thread([] { EXPECT_STREQ(last_error(), ""); }).join();
}

// A job that a PE ended with code 0 is a success: what peers' calls come back with is news.
TEST(Report, AnEndInSuccessIsNoError) {
  CapturedLog log("warn");
  EXPECT_FALSE(report(Status::error(Code::kAborted, "PE 1 " + abort_text(0) + ": found it")));
  EXPECT_EQ(log.text(), "");
  EXPECT_FALSE(report(Status::error(Code::kAborted, "PE 1 " + abort_text(10) + ": lost it")));
  EXPECT_THAT(log.text(), HasSubstr("weft error api: aborted: PE 1 aborted the job with code 10"));
}

TEST(Report, OkAndBusyAreNoFailures) {
  CapturedLog log("trace");
  const std::string before = last_error();
  EXPECT_TRUE(report(Status::ok()).is_ok());
  EXPECT_TRUE(report(Status::busy()).is(Code::kBusy));
  EXPECT_EQ(last_error(), before);
  EXPECT_EQ(log.text(), "");
}

}  // namespace
}  // namespace weft
