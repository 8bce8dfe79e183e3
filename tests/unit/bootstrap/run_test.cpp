// The parts of weft-run that need no processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>
#include <signal.h>

#include <fmt/format.h>

#include "bootstrap/run/bind.hpp"
#include "bootstrap/run/exit_status.hpp"
#include "bootstrap/run/line_buffer.hpp"
#include "bootstrap/run/hosts.hpp"
#include "bootstrap/run/repeated_messages.hpp"
#include "bootstrap/run/program.hpp"
#include "bootstrap/run/agent_protocol.hpp"
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

std::vector<std::string> placed(int npes, const char* list) {
  auto hosts = parse_hosts(list);
  EXPECT_OK(hosts) << list;
  EXPECT_OK(place(npes, *hosts)) << list;
  std::vector<std::string> texts;
  for (const Host& host : *hosts) {
    texts.push_back(fmt::format("{} {}+{}", host.name, host.first, host.count));
  }
  return texts;
}

constexpr auto kProgram = Repeats::Line::kProgram;
constexpr auto kMessage = Repeats::Line::kMessage;
constexpr auto kRepeat = Repeats::Line::kRepeat;

TEST(Repeats, AMessageThatSeveralPesWriteIsShownOnce) {
  Repeats repeats;
  EXPECT_EQ(repeats.look(1, "weft[1] error api: no transport; there are:\n"), kMessage);
  EXPECT_EQ(repeats.look(1, "  p2p\n"), kMessage);
  EXPECT_EQ(repeats.look(0, "weft[0] error api: no transport; there are:\n"), kRepeat);
  EXPECT_EQ(repeats.look(0, "  p2p\n"), kRepeat);
  EXPECT_EQ(repeats.look(0, "a line of the program\n"), kProgram);
  EXPECT_EQ(repeats.look(0, "  indented\n"), kProgram);
  EXPECT_EQ(repeats.look(2, "weft[2] error api: no transport; there are:\n"), kRepeat);
  EXPECT_EQ(repeats.look(2, "weft[2] error api: another one\n"), kMessage);
  EXPECT_EQ(repeats.look(2, "  p2p\n"), kMessage);
  EXPECT_EQ(repeats.look(1, "weft[1] error api: no transport; there are:\n"), kMessage)
      << "a PE that says it again has a reason to";
  for (int pe = 0; pe < 2; ++pe) {
    const std::string line = "weft[" + std::to_string(pe) + "] info api: asked for\n";
    EXPECT_EQ(repeats.look(pe, line), kProgram);
    EXPECT_EQ(repeats.look(pe, "the program's\n"), kProgram);
  }
  EXPECT_EQ(repeats.summary(),
            std::vector<std::string>{
                "PEs 0 and 2 wrote the same as PE 1: error api: no transport; there are:"});
}

TEST(Repeats, WaitsForOnePeAreOneCause) {
  Repeats repeats;
  const auto report = [&](int pe, const char* time, int missing) {
    return repeats.look(pe,
                        fmt::format("weft[{0}] warn wait: barrier on PE {0}, which waits for PE "
                                    "{2}: none, after {1} s; it goes on waiting\n",
                                    pe, time, missing));
  };
  EXPECT_EQ(report(1, "10.0", 0), kMessage);
  EXPECT_EQ(report(2, "10.3", 0), kRepeat);
  EXPECT_EQ(report(1, "20.0", 0), kMessage) << "the one that reports goes on";
  EXPECT_EQ(report(2, "20.1", 0), kRepeat);
  EXPECT_EQ(report(2, "20.1", 3), kMessage) << "another PE is missing";
  EXPECT_EQ(report(12, "20.1", 3), kRepeat);
  EXPECT_THAT(repeats.summary(),
              ::testing::ElementsAre(
                  HasSubstr("PE 2 wrote the same as PE 1: warn wait: barrier on PE 1, which waits"),
                  HasSubstr("PE 12 wrote the same as PE 2: warn wait")));
}

TEST(Hosts, GetTheirNumbersAndShareTheRest) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(placed(8, "a,b:4"), (Texts{"a 0+4", "b 4+4"}));
  EXPECT_EQ(placed(7, "a, b,c"), (Texts{"a 0+3", "b 3+2", "c 5+2"}));
  EXPECT_EQ(placed(3, "a:1,b:2"), (Texts{"a 0+1", "b 1+2"}));
  EXPECT_EQ(placed(1, "node7.cluster"), (Texts{"node7.cluster 0+1"}));
}

TEST(Hosts, WhatCannotBeIsRefused) {
  for (const char* list :
       {"", ",", "a,", "a:", "a:0", "a:-1", "a:1x", ":2", "-oX=y", "a b", "a:b:1"}) {
    EXPECT_CODE(parse_hosts(list), Code::kInvalidArgument) << list;
  }
  for (const char* list : {"a:1,b:2", "a:9", "a:4,b", "a:2147483647,b:2147483647"}) {
    auto hosts = parse_hosts(list);
    ASSERT_OK(hosts);
    EXPECT_CODE(place(4, *hosts), Code::kInvalidArgument) << list;
  }
}

TEST(Hosts, AddressesOfIpV6AreHosts) {
  const auto hosts = parse_hosts("fe80::1%eth0,[fd00::2]:3,[::1],10.0.0.1:2");
  ASSERT_OK(hosts);
  ASSERT_EQ(hosts->size(), 4u);
  const std::vector<std::pair<std::string, int>> wanted = {
      {"fe80::1%eth0", 0}, {"fd00::2", 3}, {"::1", 0}, {"10.0.0.1", 2}};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ((*hosts)[i].name, wanted[i].first);
    EXPECT_EQ((*hosts)[i].count, wanted[i].second);
  }
  for (const char* list : {"[fd00::2", "[fd00::2]3", "[fd00::2]:", "[]:2", "[-x]"}) {
    EXPECT_CODE(parse_hosts(list), Code::kInvalidArgument) << list;
  }
}

TEST(Hosts, AFileOfOpenMpiIsTaken) {
  const std::string path = testing::TempDir() + "slots";
  std::ofstream(path) << "node0 slots=2\n[fd00::2]\tslots=1  # one\nnode2\n";
  const auto hosts = read_hostfile(path);
  ASSERT_OK(hosts);
  ASSERT_EQ(hosts->size(), 3u);
  EXPECT_EQ(hosts->at(0).count, 2);
  EXPECT_EQ(hosts->at(1).name, "fd00::2");
  EXPECT_EQ(hosts->at(1).count, 1);
  EXPECT_EQ(hosts->at(2).count, 0);
  for (const char* line : {"node0 slots=", "node0 slots=0", "node0:1 slots=2", "node0 node1"}) {
    std::ofstream(path) << line << '\n';
    EXPECT_CODE(read_hostfile(path), Code::kInvalidArgument) << line;
  }
}

TEST(Hosts, AFileHasOneALine) {
  const std::string path = testing::TempDir() + "hosts";
  std::ofstream(path) << "# two hosts\n\n node0:2  # the first\nnode1\n";
  const auto hosts = read_hostfile(path);
  ASSERT_OK(hosts);
  ASSERT_EQ(hosts->size(), 2u);
  EXPECT_EQ(hosts->at(0).name, "node0");
  EXPECT_EQ(hosts->at(0).count, 2);
  EXPECT_EQ(hosts->at(1).name, "node1");
  std::ofstream(path) << "# none\n";
  EXPECT_CODE(read_hostfile(path), Code::kInvalidArgument);
  EXPECT_CODE(read_hostfile(path + "/none"), Code::kInvalidArgument);
}

TEST(Remote, MessagesComeBackAsTheyWere) {
  const Order order{
      "1", "id", 3, 2, 9, 1, 2.5, "/tmp", {{"A", "b=c"}, {"D", ""}}, {"prog", "", "x y"}};
  const net::Bytes bytes = encode(order);
  const auto back = decode_order(bytes);
  ASSERT_OK(back);
  EXPECT_EQ(encode(*back), bytes);
  EXPECT_EQ(back->environment, order.environment);
  EXPECT_EQ(back->command, order.command);
  EXPECT_DOUBLE_EQ(back->grace_s, 2.5);
  for (std::size_t cut = 0; cut < 60; ++cut) {
    EXPECT_CODE(decode_order(std::span(bytes).first(cut)), Code::kIo) << cut;
  }
  EXPECT_EQ(decode_started(encode(Started{4, 77}))->pid, 77);
  const net::Bytes output = encode(Output{4, 2, "words"});
  EXPECT_EQ(decode_output(output)->bytes, "words");
  const auto ended = decode_ended(encode(Ended{4, {3, 11, true}}));
  ASSERT_OK(ended);
  EXPECT_EQ(ended->ending.code, 3);
  EXPECT_EQ(ended->ending.signal, 11);
  EXPECT_TRUE(ended->ending.core);
  EXPECT_EQ(decode_refused(encode(Refused{127, "why"}))->why, "why");
  EXPECT_EQ(*decode_signal(encode_signal(15)), 15);
  EXPECT_CODE(decode_started({}), Code::kIo);
  EXPECT_CODE(decode_output({}), Code::kIo);
  EXPECT_CODE(decode_ended({}), Code::kIo);
  EXPECT_CODE(decode_refused({}), Code::kIo);
  EXPECT_CODE(decode_signal({}), Code::kIo);
}

}  // namespace
}  // namespace weft::run
