#include <weft/options.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "src/base/option_table.hpp"
#include "tests/unit/base/scoped_env.hpp"

namespace weft {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class OptionsTest : public ::testing::Test {
 protected:
  OptionsTest() { env_.clear_weft(); }
  ScopedEnv env_;
};

TEST_F(OptionsTest, NothingSetGivesTheDefaults) {
  const Result<Options> options = Options::from_environment();
  ASSERT_TRUE(options.is_ok());
  for (const OptionRow& row : option_table()) EXPECT_EQ(row.get(*options), row.initial) << row.env;
}

TEST_F(OptionsTest, EveryKindIsRead) {
  env_.set("WEFT_CHECK", "yes");
  env_.set("WEFT_PE", "3");
  env_.set("WEFT_HEAP_SIZE", "2GiB");
  env_.set("WEFT_WAIT_TIMEOUT", "250ms");
  env_.set("WEFT_LOG_FILE", "/tmp/x-%e.log");
  env_.set("WEFT_HUGE_PAGES", "off");
  env_.set("WEFT_LOG", "info,transport:debug");
  const Result<Options> options = Options::from_environment();
  ASSERT_TRUE(options.is_ok()) << options.status().to_string();
  EXPECT_TRUE(options->check);
  EXPECT_EQ(options->pe, 3);
  EXPECT_EQ(options->heap_size, std::uint64_t{2} << 30);
  EXPECT_DOUBLE_EQ(options->wait_timeout, 0.25);
  EXPECT_EQ(options->log_file, "/tmp/x-%e.log");
  EXPECT_EQ(options->huge_pages, "off");
  EXPECT_EQ(options->log, "info,transport:debug");
}

TEST_F(OptionsTest, EmptyCountsAsNotSet) {
  env_.set("WEFT_HEAP_SIZE", "");
  env_.set("WEFT_TRANSPORTS", "");
  const Result<Options> options = Options::from_environment();
  ASSERT_TRUE(options.is_ok()) << options.status().to_string();
  EXPECT_EQ(options->heap_size, Options{}.heap_size);
  EXPECT_EQ(options->transports, Options{}.transports);
}

struct Bad {
  const char *env, *value, *text;
};

TEST_F(OptionsTest, WrongValuesNameVariableValueAndWhatIsAccepted) {
  const Bad all[] = {
      {"WEFT_CHECK", "perhaps", "WEFT_CHECK: 'perhaps' is neither yes nor no; accepted: 1, true"},
      {"WEFT_BIND_PORT", "65536",
       "WEFT_BIND_PORT: 65536 is out of range; WEFT_BIND_PORT takes 0 to 65535"},
      {"WEFT_BIND_PORT", "ssh", "WEFT_BIND_PORT: 'ssh' is no whole number"},
      {"WEFT_HEAP_SIZE", "lots", "WEFT_HEAP_SIZE: 'lots' is no size"},
      {"WEFT_HEAP_SIZE", "99999999t", "WEFT_HEAP_SIZE: '99999999t' does not fit in 64 bits"},
      {"WEFT_HEAP_SIZE", "1", "WEFT_HEAP_SIZE: 1 is out of range; WEFT_HEAP_SIZE takes 1m to 16t"},
      {"WEFT_START_TIMEOUT", "0",
       "WEFT_START_TIMEOUT: 0 is out of range; WEFT_START_TIMEOUT takes 1ms to 24h"},
      {"WEFT_START_TIMEOUT", "soon", "WEFT_START_TIMEOUT: 'soon' is no time"},
      {"WEFT_HUGE_PAGES", "of",
       "WEFT_HUGE_PAGES: 'of' is not among the choices; WEFT_HUGE_PAGES takes auto, on or off"},
      {"WEFT_LOG", "loud", "WEFT_LOG: 'loud' is no log level"},
  };
  for (const Bad& bad : all) {
    ScopedEnv env;
    env.set(bad.env, bad.value);
    const Result<Options> options = Options::from_environment();
    EXPECT_TRUE(options.status().is(Code::kInvalidArgument)) << bad.env;
    EXPECT_THAT(std::string(options.status().text()), HasSubstr(bad.text));
  }
}

TEST_F(OptionsTest, AllWrongValuesAreNamedAtOnce) {
  env_.set("WEFT_BIND_PORT", "-1");
  env_.set("WEFT_NUMA", "far");
  const std::string text(Options::from_environment().status().text());
  EXPECT_THAT(text, HasSubstr("WEFT_BIND_PORT: -1"));
  EXPECT_THAT(text, HasSubstr("WEFT_NUMA: 'far'"));
}

TEST_F(OptionsTest, UnknownNamesAreWarnedAboutOnceWithTheNearest) {
  // Names of this run only: the process remembers what it has said.
  const std::string tail = std::to_string(std::random_device()() % 10);
  env_.set("WEFT_HEAPSIZE" + tail, "1g");
  env_.set("WEFT_" + std::string(40, 'Q') + tail, "1");
  for (const char* other : {"WEFT_TEST_SEED", "WEFT_PREFIX", "WEFT_ROOT"})
    env_.set(other, "1");  // no misspelt options
  CapturedLog log("warn");
  ASSERT_TRUE(Options::from_environment().is_ok());
  ASSERT_TRUE(Options::from_environment().is_ok());
  const std::string text = log.text();
  EXPECT_THAT(text, HasSubstr("weft warn options: WEFT_HEAPSIZE" + tail +
                              " is set in the environment but no option of that name exists; did "
                              "you mean WEFT_HEAP_SIZE?\n"));
  EXPECT_THAT(text, HasSubstr("weft-info --options lists the known names"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
}

TEST_F(OptionsTest, NearestName) {
  EXPECT_EQ(nearest_option("WEFT_NPESS")->env, "WEFT_NPES");
  EXPECT_EQ(nearest_option("WEFT_LOGFILE")->env, "WEFT_LOG_FILE");
  EXPECT_EQ(nearest_option("WEFT_TRANSPORT")->env, "WEFT_TRANSPORTS");
  EXPECT_EQ(nearest_option("WEFT_SOMETHING_ELSE_ENTIRELY"), nullptr);
}

TEST_F(OptionsTest, SetChecksLikeTheEnvironment) {
  Options options;
  EXPECT_TRUE(options.set("WEFT_RING_CAPACITY", "4").is_ok());
  EXPECT_EQ(options.ring_capacity, 4);
  EXPECT_TRUE(options.set("WEFT_RING_CAPACITY", "3").is(Code::kInvalidArgument));
  EXPECT_EQ(options.ring_capacity, 4);
  const Status unknown = options.set("WEFT_RING_CAPACTY", "8");
  EXPECT_THAT(std::string(unknown.text()), HasSubstr("did you mean WEFT_RING_CAPACITY?"));
}

TEST_F(OptionsTest, TextsNameTheVariableThatAValueCameFrom) {
  Options options;
  EXPECT_EQ(options.source("WEFT_HEAP_SIZE"), "WEFT_HEAP_SIZE");
  EXPECT_TRUE(options.set("WEFT_HEAP_SIZE", "1g", "SHMEM_SYMMETRIC_SIZE").is_ok());
  EXPECT_EQ(options.source("WEFT_HEAP_SIZE"), "SHMEM_SYMMETRIC_SIZE");
  EXPECT_EQ(options.source("WEFT_HEAP_CHUNK"), "WEFT_HEAP_CHUNK");
  const Status wrong = options.set("WEFT_HEAP_SIZE", "much", "SMA_SYMMETRIC_SIZE");
  EXPECT_THAT(std::string(wrong.text()), HasSubstr("SMA_SYMMETRIC_SIZE: "));
  EXPECT_TRUE(options.set("WEFT_HEAP_SIZE", "2g").is_ok());
  EXPECT_EQ(options.source("WEFT_HEAP_SIZE"), "WEFT_HEAP_SIZE");
}

TEST_F(OptionsTest, VerifyFindsFieldsSetWrongly) {
  EXPECT_TRUE(Options{}.verify().is_ok());
  Options options;
  options.numa = "nowhere";
  EXPECT_THAT(std::string(options.verify().text()), HasSubstr("WEFT_NUMA: 'nowhere'"));
  options = Options{};
  options.wait_timeout = -1;
  EXPECT_THAT(std::string(options.verify().text()), HasSubstr("WEFT_WAIT_TIMEOUT"));
  options = Options{};
  options.heap_chunk = 1;
  EXPECT_FALSE(options.verify().is_ok());
}

TEST_F(OptionsTest, TheTableIsSound) {
  std::set<std::string_view> names;
  std::vector<std::string_view> groups;
  for (const OptionRow& row : option_table()) {
    SCOPED_TRACE(row.env);
    EXPECT_TRUE(names.insert(row.env).second) << "twice in the table";
    EXPECT_TRUE(row.env.starts_with("WEFT_"));
    EXPECT_TRUE(row.help.ends_with(".")) << "the help is a sentence";
    // The default passes the row's own checks.
    Options options;
    const std::string initial = value_text(row.kind, row.initial);
    EXPECT_TRUE(options.set(std::string(row.env), initial).is_ok()) << initial;
    EXPECT_EQ(row.get(options), row.initial);
    if (groups.empty() || groups.back() != row.group) groups.push_back(row.group);
  }
  std::sort(groups.begin(), groups.end());
  EXPECT_EQ(std::adjacent_find(groups.begin(), groups.end()), groups.end())
      << "the rows of a group stand together";
}

TEST_F(OptionsTest, MarkdownHasEveryRow) {
  const std::string page = options_markdown();
  for (const OptionRow& row : option_table()) {
    EXPECT_THAT(page, HasSubstr("| `" + std::string(row.env) + "` |"));
  }
  EXPECT_THAT(page, HasSubstr("| `WEFT_HEAP_SIZE` | size | `16g` | 1m to 16t |"));
  EXPECT_THAT(page, Not(HasSubstr("||")));
}

}  // namespace
}  // namespace weft
