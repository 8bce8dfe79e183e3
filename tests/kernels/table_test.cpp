// Tables of plans as text, and how operators come by one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <random>

#include <weft/kernels/collectives.hpp>
#include <weft/kernels/table.hpp>

#include "tests/kernels/collective_play.hpp"

namespace weft::kernels {
namespace {

using ::testing::HasSubstr;

std::string with_head(const std::string& rows) { return "weft-kernels-table 1\n" + rows; }

void expect_refused(const std::string& text, const std::string& why) {
  const auto rows = parse_table(text, "T");
  EXPECT_CODE(rows.status(), Code::kInvalidArgument) << text;
  EXPECT_THAT(std::string(rows.status().text()), HasSubstr(why));
}

TEST(Table, ReadsWhatItWrites) {
  for (const bool gpu : {false, true}) {
    const std::string text = format_table(builtin_table(gpu), {"built in"});
    const auto rows = parse_table(text, "T");
    ASSERT_OK(rows.status());
    EXPECT_EQ(rows->size(), builtin_table(gpu).size());
    EXPECT_EQ(format_table(*rows, {"built in"}), text);
  }
}

TEST(Table, TakesBlanksAndComments) {
  const auto rows = parse_table(
      "\n# made by hand\n  weft-kernels-table\t1 # head\r\n\n AllReduce any 64  ll 2 32 # x\n"
      "AllReduce 2 any simple 4 64",
      "T");
  ASSERT_OK(rows.status());
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ(rows->at(0).most_pes, 0);
  EXPECT_EQ(rows->at(0).up_to, 64u);
  EXPECT_EQ(rows->at(1).most_pes, 2);
  EXPECT_EQ(rows->at(1).up_to, ~std::size_t{0});
  EXPECT_EQ(rows->at(1).algorithm, Algorithm::kSimple);
  EXPECT_EQ(rows->at(1).threads, 64u);
}

TEST(Table, SaysWhatIsWrongAndWhere) {
  expect_refused("", "T: a table begins with 'weft-kernels-table 1'");
  expect_refused("weft-kernels-table 2\n", "T:1: a table begins with 'weft-kernels-table 1'");
  expect_refused("AllReduce 2 1 simple 1 1\n", "T:1: a table begins");
  expect_refused(with_head("# nothing\n"), "T: has no rows");
  expect_refused(with_head("AllReduce 2 1 simple 1\n"), "T:2: has 5 words, but should have 6");
  expect_refused(with_head("\nAllreduce 2 1 simple 1 1\n"),
                 "T:3: 'Allreduce' is no collective; there");
  expect_refused(with_head("AllReduce two 1 simple 1 1\n"), "the team's size is 'two'");
  expect_refused(with_head("AllReduce 0 1 simple 1 1\n"), "from 1 to 1048576");
  expect_refused(with_head("AllReduce 2 1k simple 1 1\n"), "bytes is '1k'");
  expect_refused(with_head("AllReduce 2 99999999999999999999 simple 1 1\n"), "bytes is '9999");
  expect_refused(with_head("AllReduce 2 1 auto 1 1\n"),
                 "AllReduce has no algorithm 'auto'; there are ll");
  expect_refused(with_head("AllGather 2 1 two-shot-ll 1 1\n"), "AllGather has no algorithm");
  expect_refused(with_head("AllReduce 2 1 simple 0 1\n"), "blocks is '0'");
  expect_refused(with_head("AllReduce 2 1 simple 1 513\n"), "from 1 to 512");
  expect_refused(with_head("AllReduce any 8 simple 1 1\nAllReduce 2 8 simple 1 1\n"),
                 "T:3: a row above takes all");
}

// Texts near good ones: whatever is taken must read back as itself, whatever is not must say why.
TEST(Table, TakesNoNonsense) {
  const std::string good = format_table(builtin_table(true));
  const std::string bytes = std::string("any 0123456789\n# -llsimpleAll\t\r") + '\0' + '\xff';
  std::mt19937_64 random(test_seed());
  int taken = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = good;
    for (std::uint64_t k = random() % 4; k > 0 && !text.empty(); --k) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0: text[at] = bytes[random() % bytes.size()]; break;
        case 1: text.insert(at, 1, bytes[random() % bytes.size()]); break;
        case 2: text.erase(at, random() % 20); break;
        default: text.resize(at + 1);
      }
    }
    const auto rows = parse_table(text, "T");
    if (!rows) {
      EXPECT_CODE(rows.status(), Code::kInvalidArgument);
      EXPECT_EQ(std::string(rows.status().text()).substr(0, 1), "T");
      continue;
    }
    ++taken;
    const auto again = parse_table(format_table(*rows), "T");
    ASSERT_OK(again.status());
    EXPECT_EQ(format_table(*again), format_table(*rows));
  }
  EXPECT_GT(taken, 100);
}

class TableFile {
 public:
  explicit TableFile(const std::string& text)
      : path_(::testing::TempDir() + "weft_table_" + std::to_string(getpid())) {
    std::FILE* const file = std::fopen(path_.c_str(), "w");
    std::fwrite(text.data(), 1, text.size(), file);
    std::fclose(file);
  }
  ~TableFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(Table, FilesThatAreNone) {
  EXPECT_CODE(read_table("/no/such/table").status(), Code::kIo);
  EXPECT_THAT(std::string(read_table("/no/such/table").status().text()), HasSubstr("/no/such/tab"));
  EXPECT_CODE(write_table("/no/such/table", builtin_table(false)), Code::kIo);
  EXPECT_CODE(read_table("/").status(), Code::kIo);
  const TableFile large(std::string((1 << 20) + 1, ' '));
  EXPECT_CODE(read_table(large.path()).status(), Code::kInvalidArgument);
}

Status with_table(const std::string& path, const std::function<Status(Runtime&)>& body) {
  Options options = test::job_options();
  options.kernels_table = path;
  return run_local(3, body, options);
}

TEST(Table, OperatorsTakeThatOfTheEnvironment) {
  const TableFile file(with_head("AllReduce any 100 simple 2 1\nAllReduce any any ll 3 1\n"));
  EXPECT_OK(with_table(file.path(), [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(AllReduce sum, AllReduce::create(rt, {.max_count = 4000}));
    ASSIGN_OR_RETURN(const Plan small, sum.plan(25));
    ASSIGN_OR_RETURN(const Plan large, sum.plan(4000));
    EXPECT_EQ(to_string(small.algorithm), std::string("simple"));
    EXPECT_EQ(to_string(large), "ll, 3 blocks of 1 threads");
    EXPECT_THAT(sum.describe(), HasSubstr("WEFT_KERNELS_TABLE"));
    EXPECT_THAT(sum.describe(), HasSubstr("largest: ll, 3 blocks of 1 threads"));
    // It has no row for these.
    ASSIGN_OR_RETURN(AllGather gather, AllGather::create(rt, {.max_count = 4000}));
    EXPECT_OK(gather.plan(4000).status());
    // A program's own goes first.
    CollectiveOptions options;
    options.table = {{Collective::kAllReduce, 0, 0, Algorithm::kSimple, 1, 2}};
    ASSIGN_OR_RETURN(AllReduce own, AllReduce::create(rt, {.max_count = 4000}, options));
    ASSIGN_OR_RETURN(const Plan plan, own.plan(4000));
    EXPECT_EQ(plan.algorithm, Algorithm::kSimple);
    EXPECT_THAT(own.describe(), HasSubstr("table: of the options"));
    return rt.barrier();
  }));
}

TEST(Table, ABadOneIsRefusedOnEveryPe) {
  const TableFile file(with_head("AllReduce any 100 simple 2 9999\n"));
  EXPECT_OK(with_table(file.path(), [&](Runtime& rt) -> Status {
    const Status status = AllReduce::create(rt, {.max_count = 10}).status();
    EXPECT_CODE(status, Code::kInvalidArgument);
    EXPECT_THAT(
        std::string(status.text()),
        HasSubstr(rt.pe() == 0 ? file.path() + ":2: threads is '9999'" : "PE 0 cannot read"));
    return rt.barrier();
  }));
}

TEST(Table, OfTheOptionsMustBeTheSameOnEveryPe) {
  EXPECT_OK(with_table("", [](Runtime& rt) -> Status {
    CollectiveOptions options;
    const auto blocks = static_cast<unsigned>(rt.pe() == 1 ? 2 : 1);
    options.table = {{Collective::kAllReduce, 0, 0, Algorithm::kSimple, blocks, 2}};
    const Status status = AllReduce::create(rt, {.max_count = 10}, options).status();
    EXPECT_CODE(status, Code::kInvalidArgument);
    EXPECT_THAT(std::string(status.text()), HasSubstr("options.table"));
    return rt.barrier();
  }));
}

}  // namespace
}  // namespace weft::kernels
