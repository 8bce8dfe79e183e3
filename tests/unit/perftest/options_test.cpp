#include "perftest/options.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::perf {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Result<CommandLine> parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "weft-perf");
  return parse_command_line(static_cast<int>(arguments.size()), arguments.data());
}

std::string refusal(std::vector<const char*> arguments) {
  auto command = parse(std::move(arguments));
  if (command) return "it was accepted";
  EXPECT_TRUE(command.status().is(Code::kInvalidArgument));
  return std::string(command.status().text());
}

TEST(PerfOptions, Defaults) {
  auto command = parse({"put"});
  ASSERT_TRUE(command);
  const Options& o = command->options;
  EXPECT_EQ(command->text, "");
  EXPECT_THAT(o.tests, ElementsAre("put"));
  EXPECT_FALSE(o.api || o.kind || o.min || o.max || o.seed);
  EXPECT_EQ(o.iters, 0u);
  EXPECT_EQ(o.pes, 0);
  EXPECT_FALSE(o.floor || o.bidir || o.msgrate);
  EXPECT_EQ(o.format, Format::kTable);
}

TEST(PerfOptions, OperatorsHaveTheirOwn) {
  auto command = parse({"gemm", "4096", "1280", "5120", "1", "2", "3", "--vs", "cublas", "--dtype",
                        "e4m3", "--tiles", "-c", "32"});
  ASSERT_TRUE(command) << command.status().text();
  const OperatorOptions& o = command->options.op;
  EXPECT_THAT(command->options.tests, ElementsAre("gemm"));
  ASSERT_EQ(o.shapes.size(), 2u);
  EXPECT_EQ(o.shapes[0].k, 5120);
  EXPECT_EQ(o.shapes[1].m, 1);
  EXPECT_TRUE(o.baselines.cublas && !o.baselines.nccl && o.tiles);
  EXPECT_EQ(o.dtype, "e4m3");
  EXPECT_EQ(o.blocks, 32u);
  EXPECT_EQ(o.threads, 0u) << "the plan's";
  EXPECT_EQ(command->options.threads, 1u);
}

TEST(PerfOptions, NobodyIsABaseline) {
  auto command = parse({"collectives", "--vs", "none"});
  ASSERT_TRUE(command);
  EXPECT_FALSE(command->options.op.baselines.nccl || command->options.op.baselines.cublas);
}

TEST(PerfOptions, ShortFormsAsNvshmemUsersKnowThem) {
  auto command =
      parse({"put",  "reduce", "-b",   "16",    "-e",        "4m",      "-f",
             "4",    "-n",     "1000", "-w",    "10",        "-c",      "2",
             "-t",   "8",      "-d",   "float", "-o",        "max",     "-s",
             "warp", "-i",     "3",    "-a",    "fetch_add", "--bidir", "--report_msgrate"});
  ASSERT_TRUE(command) << command.status().text();
  const Options& o = command->options;
  EXPECT_THAT(o.tests, ElementsAre("put", "reduce"));
  EXPECT_EQ(*o.min, 16u);
  EXPECT_EQ(*o.max, 4u << 20);
  EXPECT_EQ(o.step, 4);
  EXPECT_EQ(o.iters, 1000u);
  EXPECT_EQ(o.warmup, 10u);
  EXPECT_EQ(o.blocks, 2u);
  EXPECT_EQ(o.threads, 8u);
  EXPECT_EQ(o.type->name, "float");
  EXPECT_THAT(o.ops, ElementsAre(ReduceOp::kMax));
  EXPECT_THAT(o.scopes, ElementsAre(ScopeKind::kWarp));
  EXPECT_EQ(o.stride, 3);
  EXPECT_THAT(o.atomics, ElementsAre(Atomic::kFetchAdd));
  EXPECT_TRUE(o.bidir && o.msgrate);
}

TEST(PerfOptions, LongForms) {
  auto command = parse({"--min=1k", "--max=2k", "--step=1.5", "--iters=7", "--api=device",
                        "--kind=rate", "--scope=all", "--op=all", "--json", "--floor", "--pes=3",
                        "--seed=18446744073709551615", "all"});
  ASSERT_TRUE(command) << command.status().text();
  const Options& o = command->options;
  EXPECT_EQ(*o.min, 1024u);
  EXPECT_EQ(o.step, 1.5);
  EXPECT_EQ(*o.api, Api::kDevice);
  EXPECT_EQ(*o.kind, Kind::kRate);
  EXPECT_EQ(o.scopes.size(), 3u);
  EXPECT_EQ(o.ops.size(), 7u);
  EXPECT_EQ(o.format, Format::kJson);
  EXPECT_EQ(o.pes, 3);
  EXPECT_EQ(*o.seed, ~std::uint64_t{0});
}

TEST(PerfOptions, MistakesNameOptionValueAndWhatIsAllowed) {
  EXPECT_THAT(refusal({"put", "-b", "8x"}), AllOf(HasSubstr("-b/--min"), HasSubstr("8x")));
  EXPECT_THAT(refusal({"put", "-e", "0"}), AllOf(HasSubstr("-e/--max"), HasSubstr("1 to 1t")));
  EXPECT_THAT(refusal({"put", "-b", "2k", "-e", "1k"}),
              AllOf(HasSubstr("-b/--min"), HasSubstr("2k"), HasSubstr("-e/--max 1k")));
  EXPECT_THAT(refusal({"put", "-f", "1"}), AllOf(HasSubstr("-f/--step"), HasSubstr("1.01")));
  EXPECT_THAT(refusal({"put", "-f", "nan"}), HasSubstr("-f/--step"));
  EXPECT_THAT(refusal({"put", "-n", "0"}), AllOf(HasSubstr("-n/--iters"), HasSubstr("'0'")));
  EXPECT_THAT(refusal({"put", "-n", "ten"}), AllOf(HasSubstr("-n/--iters"), HasSubstr("'ten'")));
  EXPECT_THAT(refusal({"put", "--window", "0"}), AllOf(HasSubstr("--window"), HasSubstr("'0'")));
  EXPECT_EQ(parse({"put", "--window=64"})->options.window, 64u);
  EXPECT_THAT(refusal({"put", "-n", "-5"}), HasSubstr("-n"));
  EXPECT_THAT(refusal({"put", "-c", "0"}), HasSubstr("-c/--ctas"));
  EXPECT_THAT(refusal({"put", "-t", "1025"}), AllOf(HasSubstr("-t/--threads"), HasSubstr("1024")));
  EXPECT_THAT(refusal({"put", "-d", "flaot"}),
              AllOf(HasSubstr("-d/--datatype"), HasSubstr("flaot"), HasSubstr("mean float")));
  EXPECT_THAT(refusal({"put", "-o", "plus"}), AllOf(HasSubstr("-o/--op"), HasSubstr("sum, prod")));
  EXPECT_THAT(refusal({"put", "-s", "blok"}), AllOf(HasSubstr("-s/--scope"), HasSubstr("block")));
  EXPECT_THAT(refusal({"put", "-a", "fadd"}),
              AllOf(HasSubstr("-a/--atomic"), HasSubstr("fetch_add")));
  EXPECT_THAT(refusal({"put", "--api", "gpu"}),
              AllOf(HasSubstr("--api"), HasSubstr("host, device")));
  EXPECT_THAT(refusal({"put", "--pes", "0"}), HasSubstr("--pes"));
  EXPECT_THAT(refusal({"put", "--seed", "-1"}), HasSubstr("--seed"));
  EXPECT_THAT(refusal({"put", "--json", "--csv"}), HasSubstr("--csv"));
  EXPECT_THAT(refusal({"put", "--itres", "5"}), AllOf(HasSubstr("--itres"), HasSubstr("--iters")));
}

TEST(PerfOptions, MissingValueIsAMistake) {
  EXPECT_THAT(refusal({"put", "-n"}), HasSubstr("iters"));
}

TEST(PerfOptions, HelpAndVersionAreTexts) {
  for (auto arguments : {std::vector<const char*>{"--help"}, std::vector<const char*>{}}) {
    auto command = parse(arguments);
    ASSERT_TRUE(command);
    EXPECT_THAT(command->text, AllOf(HasSubstr("--ctas"), HasSubstr("weft-run -n 2")));
  }
  EXPECT_THAT(parse({"--version"})->text, HasSubstr("weft-perf "));
}

TEST(Vocabulary, NearestNeedsToBeNear) {
  const std::string_view names[] = {"barrier", "broadcast", "put"};
  EXPECT_EQ(nearest("barier", names), "barrier");
  EXPECT_EQ(nearest("bradcast", names), "broadcast");
  EXPECT_EQ(nearest("xyzzy", names), "");
}

TEST(Vocabulary, OperationsFitTypes) {
  EXPECT_TRUE(allowed(ReduceOp::kSum, *find_type("double")));
  EXPECT_FALSE(allowed(ReduceOp::kXor, *find_type("double")));
  EXPECT_TRUE(allowed(ReduceOp::kXor, *find_type("int8")));
  EXPECT_TRUE(allowed(Atomic::kSwap, *find_type("float")));
  EXPECT_FALSE(allowed(Atomic::kFetchAdd, *find_type("float")));
  EXPECT_FALSE(allowed(Atomic::kSwap, *find_type("short")));
}

}  // namespace
}  // namespace weft::perf
