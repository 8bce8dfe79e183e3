#include "perftest/report.hpp"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace weft::perf {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const Row kRow = {.name = "put",
                  .kind = Kind::kBandwidth,
                  .what = "puts",
                  .formula = "GB/s = x",
                  .floor = "memcpy",
                  .uses = kUsesSize | kUsesType};

Line line() {
  Line l;
  l.row = &kRow;
  l.point.bytes = 4096;
  l.point.type = find_type("uint64");
  l.work = {1, 4096};
  l.measured.iters = 1000;
  l.measured.batch = 100;
  l.measured.time = {10, 900, 1024, 2000, 3000};
  l.measured.floor = {10, 800, 1000, 1500, 1600};
  l.measured.ratio = 1.02;
  return l;
}

std::string print(Options options, const std::vector<Line>& lines, bool stopped = false) {
  std::ostringstream out;
  const auto reporter = make_reporter(options, out);
  RunInfo info;
  info.build = "Debug";
  info.pes = 2;
  info.warnings = {"slow"};
  reporter->begin(info);
  reporter->start(kRow);
  for (const Line& one : lines) reporter->add(one);
  reporter->finish(kRow);
  reporter->end(stopped);
  return out.str();
}

TEST(PerfReport, TimesHaveThreeDigitsThatMatter) {
  EXPECT_EQ(format_ns(0.4), "0.40 ns");
  EXPECT_EQ(format_ns(8.125), "8.12 ns");
  EXPECT_EQ(format_ns(99.94), "99.9 ns");
  EXPECT_EQ(format_ns(99.96), "100 ns");
  EXPECT_EQ(format_ns(999.4), "999 ns");
  EXPECT_EQ(format_ns(999.6), "1.00 us");
  EXPECT_EQ(format_ns(1.5e6), "1.50 ms");
  EXPECT_EQ(format_ns(2.5e12), "2500 s");
}

TEST(PerfReport, BandwidthAndRateComeFromP50) {
  EXPECT_DOUBLE_EQ(line().bandwidth(), 4.0);
  EXPECT_DOUBLE_EQ(line().rate(), 1e3 / 1024);
}

TEST(PerfReport, TableHasTheColumnsThatWereAskedFor) {
  Options options;
  EXPECT_THAT(print(options, {line()}),
              AllOf(HasSubstr("put_bw"), HasSubstr("4k"), HasSubstr("512"), HasSubstr("uint64"),
                    HasSubstr("900 ns"), HasSubstr("1.02 us"), HasSubstr("2.00 us"),
                    HasSubstr("4.000"), HasSubstr("GB/s = x"), HasSubstr("warning: slow"),
                    HasSubstr("Debug"), Not(HasSubstr("Mmsg/s")), Not(HasSubstr("speedup"))));
  options.floor = options.msgrate = true;
  EXPECT_THAT(print(options, {line()}), AllOf(HasSubstr("Mmsg/s"), HasSubstr("0.977"),
                                              HasSubstr("1.00 us"), HasSubstr("baseline: memcpy")));
}

TEST(PerfReport, OperatorsStandBesideTheirBaselines) {
  Row row = {.name = "GemmRs", .api = Api::kKernel, .floor = "in turn"};
  row.uses = kUsesLayer | kUsesShape;
  row.run = [](Job&, std::span<const Row* const>, Reporter&) { return Status::ok(); };
  Line l;
  l.row = &row;
  l.point.type = find_type(row.type);
  l.layer = "GPT-3";
  l.shape = "8192 x 12288 x 6144";
  l.measured.time = {5, 0.9e6, 1.5e6, 2e6, 2e6};
  l.measured.floor = {5, 2e6, 3e6, 4e6, 4e6};
  l.measured.ratio = 0.5;
  l.baseline = "in turn";
  l.others = {{"NCCL", 550e3}};
  l.efficiency = 0.93;
  l.plan = "scattered";
  std::ostringstream table, csv;
  Options options;
  for (std::ostringstream* out : {&table, &csv}) {
    const auto reporter = make_reporter(options, *out);
    reporter->start(row);
    reporter->add(l);
    l.measured.ratio = 1;
    reporter->add(l);
    l.measured.ratio = 0.5;
    reporter->finish(row);
    options.format = Format::kCsv;
  }
  EXPECT_THAT(table.str(), AllOf(HasSubstr("GPT-3"), HasSubstr("1.50 ms"), HasSubstr("in turn"),
                                 HasSubstr("3.00 ms"), HasSubstr("2.00"),
                                 HasSubstr("NCCL 550 us, efficiency 0.930, scattered"),
                                 HasSubstr("geometric mean of the speedups: 1.414")));
  EXPECT_THAT(csv.str(), HasSubstr(",in turn,3000000.0,2.0,0.93,NCCL=550000.0,,scattered,\n"));
}

TEST(PerfReport, WrongDataIsAnErrorRow) {
  Line bad = line();
  bad.measured.wrong = "wrong data: put on PE 1";
  EXPECT_THAT(print({}, {bad}),
              AllOf(HasSubstr("ERROR: wrong data: put on PE 1"), Not(HasSubstr("900 ns"))));
}

TEST(PerfReport, InterruptionIsSaid) {
  EXPECT_THAT(print({}, {line()}, true), HasSubstr("interrupted"));
}

TEST(PerfReport, JsonIsOneDocument) {
  Options options;
  options.format = Format::kJson;
  Line bad = line();
  bad.measured.wrong = "it says \"no\"\n";
  const auto json = nlohmann::json::parse(print(options, {line(), bad}));
  EXPECT_EQ(json["run"]["pes"], 2);
  EXPECT_EQ(json["run"]["warnings"][0], "slow");
  EXPECT_EQ(json["tests"]["put_bw/host"]["formula"], "GB/s = x");
  ASSERT_EQ(json["results"].size(), 2u);
  const auto& good = json["results"][0];
  EXPECT_EQ(good["test"], "put_bw");
  EXPECT_EQ(good["bytes"], 4096);
  EXPECT_EQ(good["count"], 512);
  EXPECT_EQ(good["p50_ns"], 1024);
  EXPECT_EQ(good["bandwidth_gb_s"], 4.0);
  EXPECT_EQ(good["baseline_p50_ns"], 1000);
  EXPECT_EQ(good["baseline"], "floor");
  EXPECT_DOUBLE_EQ(good["speedup"], 1 / 1.02);
  EXPECT_TRUE(good["scope"].is_null());
  EXPECT_TRUE(good["error"].is_null());
  EXPECT_EQ(json["results"][1]["error"], "it says \"no\"\n");
  EXPECT_TRUE(json["results"][1]["p50_ns"].is_null());
  EXPECT_EQ(json["interrupted"], false);
}

TEST(PerfReport, CsvQuotesWhatNeedsIt) {
  Options options;
  options.format = Format::kCsv;
  Line bad = line();
  bad.measured.wrong = "a \"b\", c";
  const std::string text = print(options, {line(), bad});
  EXPECT_EQ(
      text.rfind(
          "test,api,kind,layer,shape,bytes,count,type,op,atomic,scope,iters,batch,samples,min_ns,"
          "p50_ns,p99_ns,bandwidth_gb_s,rate_mops,tflop_s,baseline,baseline_p50_ns,speedup,"
          "efficiency,"
          "others_p50_ns,workspace_bytes,plan,error\n"
          "put_bw,host,bandwidth,,,4096,512,uint64,,,,1000,100,10,900.0,1024.0,2000.0,"
          "4.0,",
          0),
      0u)
      << text;
  EXPECT_THAT(text, HasSubstr(",\"a \"\"b\"\", c\"\n"));
}

TEST(PerfReport, ClaimsSayWhetherTheyHold) {
  std::ostringstream out;
  const Options options;
  const auto reporter = make_reporter(options, out);
  Claim claim;
  claim.what = "put";
  claim.value = 14.9;
  claim.limit = 15;
  claim.unit = "ns";
  reporter->add(claim);
  EXPECT_TRUE(claim.held());
  EXPECT_THAT(out.str(), AllOf(HasSubstr("15 ns  yes"), HasSubstr("held")));
  claim.value = 15.1;
  EXPECT_FALSE(claim.held());
  reporter->add(claim);
  EXPECT_THAT(out.str(), HasSubstr("15 ns  NO"));
  claim.value = 1;
  claim.wrong = "bytes";
  EXPECT_FALSE(claim.held()) << "wrong data is never fast enough";
  reporter->add(claim);
  EXPECT_THAT(out.str(), HasSubstr("ERROR: bytes"));
}

}  // namespace
}  // namespace weft::perf
