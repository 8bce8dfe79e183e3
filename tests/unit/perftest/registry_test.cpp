#include "perftest/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::perf {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// Rows as the registry has them, without anything to run.
const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      {.name = "put", .kind = Kind::kLatency, .what = "puts", .uses = kUsesSize | kUsesType},
      {.name = "put", .kind = Kind::kBandwidth, .uses = kUsesSize | kUsesType},
      {.name = "put",
       .api = Api::kDevice,
       .kind = Kind::kBandwidth,
       .uses = kUsesSize | kUsesType | kUsesScope},
      {.name = "atomic", .kind = Kind::kRate, .floor = "by hand", .uses = kUsesAtomic | kUsesType},
      {.name = "reduce",
       .kind = Kind::kLatency,
       .uses = kUsesSize | kUsesType | kUsesOp,
       .max = 64,
       .type = "int",
       .takes = [](const TypeInfo& type) { return type.bytes == 4; }},
      {.name = "barrier", .kind = Kind::kLatency},
  };
  return all;
}

std::vector<std::string> chosen(const Options& options) {
  std::vector<std::string> ids;
  auto selected = select(rows(), options);
  EXPECT_TRUE(selected) << selected.status().text();
  if (selected)
    for (const Row* row : *selected) ids.push_back(id(*row));
  return ids;
}

TEST(Registry, NamesKindsAndApisChoose) {
  Options o;
  o.tests = {"put"};
  EXPECT_THAT(chosen(o), ElementsAre("put_lat", "put_bw", "put_bw"));
  o.api = Api::kHost;
  EXPECT_THAT(chosen(o), ElementsAre("put_lat", "put_bw"));
  o.kind = Kind::kBandwidth;
  EXPECT_THAT(chosen(o), ElementsAre("put_bw"));
  o = {};
  o.tests = {"barrier", "put_lat", "put_lat", "barrier_lat"};
  EXPECT_THAT(chosen(o), ElementsAre("put_lat", "barrier_lat")) << "table order, each once";
  o.tests = {"all"};
  EXPECT_EQ(chosen(o).size(), rows().size());
}

TEST(Registry, ASetStandsForItsRowsAndAllForTheRest) {
  std::vector<Row> both = rows();
  both.push_back({.name = "AllReduce", .kind = Kind::kBandwidth, .what = "sums"});
  both.back().set = "collectives";
  Options o;
  o.tests = {"all"};
  EXPECT_EQ(select(both, o)->size(), rows().size());
  o.tests = {"collectives"};
  ASSERT_EQ(select(both, o)->size(), 1u);
  EXPECT_EQ(id(*select(both, o)->front()), "AllReduce_bw");
  o.tests = {"list"};
  EXPECT_THAT(*list(both, o), AllOf(HasSubstr("AllReduce_bw"), HasSubstr("put_lat"),
                                    HasSubstr("Sets: all, collectives; quick")));
}

TEST(Registry, UnknownNameNamesTheNearest) {
  Options o;
  o.tests = {"put", "bariier"};
  auto selected = select(rows(), o);
  ASSERT_FALSE(selected);
  EXPECT_TRUE(selected.status().is(Code::kInvalidArgument));
  EXPECT_THAT(std::string(selected.status().text()),
              AllOf(HasSubstr("'bariier'"), HasSubstr("mean barrier"), HasSubstr("list")));
}

TEST(Registry, NothingLeftIsSaid) {
  Options o;
  o.tests = {"barrier"};
  o.api = Api::kDevice;
  auto selected = select(rows(), o);
  ASSERT_FALSE(selected);
  EXPECT_THAT(std::string(selected.status().text()), HasSubstr("--api device"));
}

std::vector<std::size_t> sizes(const Row& row, const Options& options) {
  std::vector<std::size_t> result;
  for (const Point& point : points(row, options)) result.push_back(point.bytes);
  return result;
}

TEST(Registry, SizesStepFromMinToMax) {
  Options o;
  o.min = 8;
  o.max = 64;
  EXPECT_THAT(sizes(rows()[0], o), ElementsAre(8, 16, 32, 64));
  o.step = 4;
  o.max = 100;
  EXPECT_THAT(sizes(rows()[0], o), ElementsAre(8, 32));
  o.step = 1.01;
  o.min = 8;
  o.max = 32;
  EXPECT_THAT(sizes(rows()[0], o), ElementsAre(8, 16, 24, 32)) << "whole elements, each once";
}

TEST(Registry, OneEndGivenMovesTheOther) {
  Options o;
  o.min = 1 << 30;
  EXPECT_THAT(sizes(rows()[4], o), ElementsAre(1 << 30));
  o = {};
  o.max = 4;
  EXPECT_THAT(sizes(rows()[4], o), ElementsAre(4));
}

TEST(Registry, AtLeastOneElement) {
  Options o;
  o.min = o.max = 1;
  EXPECT_THAT(sizes(rows()[0], o), ElementsAre(8));
  o.type = find_type("uint8");
  EXPECT_THAT(sizes(rows()[0], o), ElementsAre(1));
  o.min = o.max = 7;
  o.type = find_type("short");
  EXPECT_THAT(sizes(rows()[0], o), ElementsAre(6));
}

TEST(Registry, RowsWithoutSizeHaveOneElement) { EXPECT_THAT(sizes(rows()[5], {}), ElementsAre(8)); }

TEST(Registry, OperationsThatTheTypeLacksAreLeftOut) {
  Options o;
  EXPECT_EQ(points(rows()[3], o).size(), std::size(kAtomics));
  o.type = find_type("double");
  EXPECT_EQ(points(rows()[3], o).size(), 3u) << "set, fetch, swap";
  o.atomics = {Atomic::kAdd};
  EXPECT_TRUE(points(rows()[3], o).empty());
  o = {};
  o.type = find_type("float");
  o.min = o.max = 8;
  o.ops = {ReduceOp::kSum, ReduceOp::kXor};
  EXPECT_EQ(points(rows()[4], o).size(), 1u);
  o.type = find_type("double");
  EXPECT_TRUE(points(rows()[4], o).empty()) << "the row takes 4 bytes only";
}

TEST(Registry, ScopesMultiply) {
  Options o;
  o.min = 8;
  o.max = 16;
  o.scopes = {ScopeKind::kThread, ScopeKind::kBlock};
  EXPECT_EQ(points(rows()[2], o).size(), 4u);
  EXPECT_EQ(points(rows()[1], o).size(), 2u) << "the host has no scope";
}

TEST(Registry, ListExplains) {
  Options o;
  o.tests = {"list"};
  auto text = list(rows(), o);
  ASSERT_TRUE(text);
  EXPECT_THAT(*text, AllOf(HasSubstr("put_lat"), HasSubstr("puts"), HasSubstr("baseline: by hand"),
                           HasSubstr("quick")));
  o.tests = {"list", "barrier"};
  EXPECT_EQ(list(rows(), o)->find("put_bw  "), std::string::npos);
  o.tests = {"list", "nonsense"};
  EXPECT_FALSE(list(rows(), o));
}

}  // namespace
}  // namespace weft::perf
