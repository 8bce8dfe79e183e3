// Teams: who is in them, in which order, that they work, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <weft/weft.hpp>

#include "src/base/status.hpp"
#include "tests/support/pe_group.hpp"
#include "tests/support/random.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// The team has these PEs in this order, and its members can work together.
Status expect_team(Runtime& rt, const Team& team, const std::vector<int>& pes) {
  const auto me = std::find(pes.begin(), pes.end(), rt.pe());
  const int rank = me == pes.end() ? -1 : static_cast<int>(me - pes.begin());
  EXPECT_EQ(team.rank, rank);
  EXPECT_EQ(team.is_member(), rank >= 0);
  if (rank < 0) return Status::ok();
  EXPECT_EQ(team.size, static_cast<int>(pes.size()));
  for (int r = 0; r < team.size; ++r) {
    EXPECT_EQ(team.pe_of(r), pes[static_cast<std::size_t>(r)]);
    EXPECT_EQ(team.rank_of(team.pe_of(r)), r);
  }
  EXPECT_EQ(team.pe_of(-1), -1);
  EXPECT_EQ(team.pe_of(team.size), -1);
  for (int pe = 0; pe < rt.npes(); ++pe) {
    EXPECT_EQ(team.rank_of(pe) >= 0, std::count(pes.begin(), pes.end(), pe) == 1);
    EXPECT_EQ(translate(rt.world(), pe, team), team.rank_of(pe));
  }
  EXPECT_EQ(translate(team, rank, rt.world()), rt.pe());
  return Status::ok();
}

// Memory that the collectives of a test use: allocated by all PEs alike.
struct Desk {
  std::int64_t* in;
  std::int64_t* out;
  static Result<Desk> make(Runtime& rt) {
    Desk desk{};
    ASSIGN_OR_RETURN(desk.in, rt.allocate<std::int64_t>(1));
    ASSIGN_OR_RETURN(desk.out, rt.allocate<std::int64_t>(static_cast<std::size_t>(rt.npes())));
    return desk;
  }
};

Status work_together(Runtime& rt, const Team& team, const std::vector<int>& pes, const Desk& desk) {
  if (!team.is_member()) return Status::ok();
  Context& ctx = rt.context();
  RETURN_IF_ERROR(sync(ctx, team));
  *desk.in = rt.pe();
  RETURN_IF_ERROR(fcollect(ctx, team, desk.out, desk.in, 1));
  for (std::size_t r = 0; r < pes.size(); ++r) EXPECT_EQ(desk.out[r], pes[r]);
  RETURN_IF_ERROR(reduce(ctx, team, desk.out, desk.in, 1, ReduceOp::kSum));
  EXPECT_EQ(*desk.out, std::accumulate(pes.begin(), pes.end(), 0));
  return barrier(ctx, team);
}

std::vector<int> all_pes(const Runtime& rt) {
  std::vector<int> all(static_cast<std::size_t>(rt.npes()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

class TeamTest : public ::testing::TestWithParam<PeGroup> {};

TEST_P(TeamTest, Predefined) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(const Desk desk, Desk::make(rt));
    RETURN_IF_ERROR(expect_team(rt, rt.world(), all_pes(rt)));
    RETURN_IF_ERROR(expect_team(rt, rt.node(), all_pes(rt)));
    const bool mapped = rt.options().fault.empty();
    RETURN_IF_ERROR(expect_team(rt, rt.shared(), mapped ? all_pes(rt) : std::vector<int>{rt.pe()}));
    RETURN_IF_ERROR(work_together(rt, rt.world(), all_pes(rt), desk));
    return work_together(rt, rt.node(), all_pes(rt), desk);
  }));
}

TEST_P(TeamTest, Strided) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(const Desk desk, Desk::make(rt));
    std::mt19937_64 random(test_seed());
    const int n = rt.npes();
    for (int round = 0; round < 10; ++round) {
      const int size = 1 + static_cast<int>(random() % static_cast<unsigned>(n));
      const int most = size > 1 ? (n - 1) / (size - 1) : 1;
      const int step = most < 1 ? 1 : 1 + static_cast<int>(random() % static_cast<unsigned>(most));
      const int span = (size - 1) * step;
      if (span >= n) continue;
      int start = static_cast<int>(random() % static_cast<unsigned>(n - span));
      const bool backwards = random() % 2 == 0;
      if (backwards) start += span;
      std::vector<int> pes;
      for (int i = 0; i < size; ++i) pes.push_back(start + (backwards ? -i : i) * step);
      ASSIGN_OR_RETURN(Team team,
                       rt.split_strided(rt.world(), start, backwards ? -step : step, size));
      RETURN_IF_ERROR(expect_team(rt, team, pes));
      RETURN_IF_ERROR(work_together(rt, team, pes, desk));
      // A team of a team, in the opposite order.
      if (team.is_member()) {
        ASSIGN_OR_RETURN(Team child, rt.split_strided(team, size - 1, -1, size));
        std::vector<int> reversed(pes.rbegin(), pes.rend());
        RETURN_IF_ERROR(expect_team(rt, child, reversed));
        RETURN_IF_ERROR(work_together(rt, child, reversed, desk));
        RETURN_IF_ERROR(rt.destroy(child));
        EXPECT_EQ(child.id, -1);
        RETURN_IF_ERROR(rt.destroy(team));
      }
    }
    return rt.barrier();
  }));
}

TEST_P(TeamTest, Grid) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(const Desk desk, Desk::make(rt));
    const int n = rt.npes();
    for (int xrange = 1; xrange <= n + 1; ++xrange) {
      ASSIGN_OR_RETURN(Runtime::Split2d split, rt.split_2d(rt.world(), xrange));
      std::vector<int> row, column;
      for (int pe = 0; pe < n; ++pe) {
        if (pe / xrange == rt.pe() / xrange) row.push_back(pe);
        if (pe % xrange == rt.pe() % xrange) column.push_back(pe);
      }
      RETURN_IF_ERROR(expect_team(rt, split.x, row));
      RETURN_IF_ERROR(expect_team(rt, split.y, column));
      RETURN_IF_ERROR(work_together(rt, split.x, row, desk));
      RETURN_IF_ERROR(work_together(rt, split.y, column, desk));
      RETURN_IF_ERROR(rt.destroy(split.x));
      RETURN_IF_ERROR(rt.destroy(split.y));
    }
    return rt.barrier();
  }));
}

TEST_P(TeamTest, FromList) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(const Desk desk, Desk::make(rt));
    std::mt19937_64 random(test_seed());
    for (int round = 0; round < 15; ++round) {
      std::vector<int> pes = all_pes(rt);
      std::shuffle(pes.begin(), pes.end(), random);
      pes.resize(1 + random() % pes.size());
      ASSIGN_OR_RETURN(Team team, rt.team_from_list(rt.world(), pes));
      RETURN_IF_ERROR(expect_team(rt, team, pes));
      RETURN_IF_ERROR(work_together(rt, team, pes, desk));
      if (!team.is_member()) continue;
      ASSIGN_OR_RETURN(Team child, rt.team_from_list(team, {team.size - 1}));
      RETURN_IF_ERROR(expect_team(rt, child, {pes.back()}));
      if (child.is_member()) RETURN_IF_ERROR(rt.destroy(child));
      RETURN_IF_ERROR(rt.destroy(team));
    }
    return rt.barrier();
  }));
}

// Ids are used again at once, with work right up to the destruction: nothing old may show.
TEST_P(TeamTest, ManyInARow) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(const Desk desk, Desk::make(rt));
    for (int round = 0; round < 60; ++round) {
      const int half = (rt.npes() + 1) / 2;
      const int start = round % 2 == 0 ? 0 : rt.npes() - half;
      std::vector<int> pes;
      for (int i = 0; i < half; ++i) pes.push_back(start + i);
      ASSIGN_OR_RETURN(Team team, rt.split_strided(rt.world(), start, 1, half));
      if (!team.is_member()) continue;
      *desk.in = round;
      RETURN_IF_ERROR(broadcast(rt.context(), team, desk.out, desk.in, 1, round % half));
      EXPECT_EQ(*desk.out, round);
      RETURN_IF_ERROR(rt.destroy(team));
    }
    return rt.barrier();
  }));
}

// Sets of all shapes, that overlap, met in the same words, with ids that differ from PE to PE.
TEST_P(TeamTest, WithoutAParent) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(const Desk desk, Desk::make(rt));
    ASSIGN_OR_RETURN(auto* words, rt.callocate<std::uint64_t>(Runtime::kTeamWords));
    std::mt19937_64 random(test_seed());
    RETURN_IF_ERROR(rt.split_strided(rt.world(), 0, 1, (rt.npes() + 1) / 2).status());
    std::vector<Team> teams;
    for (int round = 0; round < 20; ++round) {
      std::vector<int> pes = all_pes(rt);
      std::shuffle(pes.begin(), pes.end(), random);
      pes.resize(1 + random() % pes.size());
      const bool keep = random() % 4 == 0;
      RETURN_IF_ERROR(rt.barrier());  // the words are free
      if (std::count(pes.begin(), pes.end(), rt.pe()) == 0) {
        EXPECT_CODE(rt.team_of(pes, words), Code::kInvalidArgument);
        continue;
      }
      ASSIGN_OR_RETURN(Team team, rt.team_of(pes, words));
      EXPECT_EQ(std::count(words, words + Runtime::kTeamWords, 0u),
                std::ptrdiff_t{Runtime::kTeamWords});
      RETURN_IF_ERROR(expect_team(rt, team, pes));
      RETURN_IF_ERROR(work_together(rt, team, pes, desk));
      if (keep)
        teams.push_back(team);
      else
        RETURN_IF_ERROR(rt.destroy(team));
    }
    return rt.barrier();
  }));
}

TEST_P(TeamTest, WithoutAParentWrongArguments) {
  PeGroup group = GetParam();
  group.options.max_teams = 4;
  EXPECT_OK(run_pes(group, [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(auto* words, rt.callocate<std::uint64_t>(Runtime::kTeamWords));
    std::uint64_t local[Runtime::kTeamWords] = {};
    EXPECT_CODE(rt.team_of({}, words), Code::kInvalidArgument);
    EXPECT_CODE(rt.team_of({rt.pe(), rt.pe()}, words), Code::kInvalidArgument);
    EXPECT_CODE(rt.team_of({rt.pe(), rt.npes()}, words), Code::kOutOfRange);
    EXPECT_CODE(rt.team_of({rt.pe()}, local), Code::kNotSymmetric);
    EXPECT_CODE(rt.team_of({rt.pe()}, nullptr), Code::kInvalidArgument);
    RETURN_IF_ERROR(rt.barrier());
    ASSIGN_OR_RETURN(Team only, rt.team_of(all_pes(rt), words));
    RETURN_IF_ERROR(rt.barrier());
    const auto refused = rt.team_of(all_pes(rt), words);
    EXPECT_CODE(refused, Code::kOutOfRange);
    EXPECT_THAT(std::string(refused.status().text()), HasSubstr("WEFT_MAX_TEAMS"));
    RETURN_IF_ERROR(rt.barrier());
    RETURN_IF_ERROR(rt.destroy(only));
    return rt.team_of(all_pes(rt), words).status();
  }));
}

TEST_P(TeamTest, NoFreeId) {
  PeGroup group = GetParam();
  group.options.max_teams = 6;
  EXPECT_OK(run_pes(group, [](Runtime& rt) -> Status {
    for (int turn = 0; turn < 2; ++turn) {
      std::vector<Team> teams;
      for (int i = 0; i < 3; ++i) {
        ASSIGN_OR_RETURN(Team team, rt.split_strided(rt.world(), 0, 1, rt.npes()));
        teams.push_back(team);
      }
      auto refused = rt.split_strided(rt.world(), 0, 1, 1);
      EXPECT_CODE(refused, Code::kOutOfRange);
      EXPECT_THAT(std::string(refused.status().text()),
                  AllOf(HasSubstr("WEFT_MAX_TEAMS"), HasSubstr("6 teams")));
      for (Team& team : teams) RETURN_IF_ERROR(rt.destroy(team));
      // The second team of a split finds no id: the first is given back.
      for (Team& team : teams) {
        if (&team == &teams.back()) break;
        ASSIGN_OR_RETURN(team, rt.split_strided(rt.world(), 0, 1, rt.npes()));
      }
      EXPECT_CODE(rt.split_2d(rt.world(), 1), Code::kOutOfRange);
      ASSIGN_OR_RETURN(teams.back(), rt.split_strided(rt.world(), 0, 1, rt.npes()));
      for (Team& team : teams) RETURN_IF_ERROR(rt.destroy(team));
    }
    return rt.barrier();
  }));
}

TEST_P(TeamTest, WrongArguments) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    const int n = rt.npes();
    const Team& world = rt.world();
    EXPECT_CODE(rt.split_strided(world, 0, 1, 0), Code::kOutOfRange);
    EXPECT_CODE(rt.split_strided(world, 0, 1, n + 1), Code::kOutOfRange);
    EXPECT_CODE(rt.split_strided(world, -1, 1, 1), Code::kOutOfRange);
    EXPECT_CODE(rt.split_strided(world, n, 1, 1), Code::kOutOfRange);
    EXPECT_CODE(rt.split_strided(world, 0, 0, 2),
                n > 1 ? Code::kInvalidArgument : Code::kOutOfRange);
    EXPECT_CODE(rt.split_strided(world, 0, n, 2), Code::kOutOfRange);
    EXPECT_CODE(rt.split_strided(world, 0, 2147483647, n), n > 1 ? Code::kOutOfRange : Code::kOk);
    EXPECT_CODE(rt.split_2d(world, 0), Code::kInvalidArgument);
    EXPECT_CODE(rt.split_2d(world, -3), Code::kInvalidArgument);
    EXPECT_CODE(rt.team_from_list(world, {}), Code::kInvalidArgument);
    EXPECT_CODE(rt.team_from_list(world, {0, n}), Code::kOutOfRange);
    EXPECT_CODE(rt.team_from_list(world, {-1}), Code::kOutOfRange);
    EXPECT_CODE(rt.team_from_list(world, {0, 0}), Code::kInvalidArgument);
    EXPECT_CODE(rt.split_strided(Team{}, 0, 1, 1), Code::kInvalidArgument);
    for (const Team& predefined : {rt.world(), rt.node(), rt.shared()}) {
      Team copy = predefined;
      EXPECT_CODE(rt.destroy(copy), Code::kInvalidArgument);
      EXPECT_EQ(copy.id, predefined.id);
    }
    Team none;
    EXPECT_CODE(rt.destroy(none), Code::kInvalidArgument);
    Team forged = rt.world();
    forged.id = 5;
    EXPECT_CODE(rt.destroy(forged), Code::kInvalidArgument);
    ASSIGN_OR_RETURN(Team team, rt.split_strided(world, 0, 1, n));
    Team copy = team;
    RETURN_IF_ERROR(rt.destroy(team));
    EXPECT_CODE(rt.destroy(copy), Code::kInvalidArgument);
    EXPECT_CODE(rt.split_strided(copy, 0, 1, 1), Code::kInvalidArgument);
    return rt.barrier();
  }));
}

// Members that ask for different teams are told, and go on.
TEST_P(TeamTest, DifferentArguments) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    if (rt.npes() == 1) return Status::ok();
    EXPECT_CODE(rt.split_strided(rt.world(), 0, 1, rt.pe() == 1 ? 1 : 2), Code::kNotSymmetric);
    EXPECT_CODE(rt.team_from_list(rt.world(), {0, rt.pe() == 0 ? 1 : rt.npes() - 1}),
                rt.npes() == 2 ? Code::kOk : Code::kNotSymmetric);
    ASSIGN_OR_RETURN(Team team, rt.split_strided(rt.world(), 0, 1, rt.npes()));
    return rt.destroy(team);
  }));
}

// Two threads of a PE do such calls at once, each with teams of its own.
struct Call {
  std::string name;
  std::function<Status(Runtime& rt, Team& team)> make;
};

std::vector<Call> calls_of_threads() {
  const auto split = [](Runtime& rt, Team& team) -> Status {
    ASSIGN_OR_RETURN(Team made, rt.split_strided(team, 0, 1, team.size));
    return rt.destroy(made);
  };
  const auto grid = [](Runtime& rt, Team& team) -> Status {
    ASSIGN_OR_RETURN(Runtime::Split2d made, rt.split_2d(team, 1));
    RETURN_IF_ERROR(rt.destroy(made.x));
    return rt.destroy(made.y);
  };
  const auto use = [](Runtime& rt, Team& team) { return sync(rt.context(), team); };
  return {{"split", split},
          {"split_2d", grid},
          {"destroy", [](Runtime& rt, Team& team) { return rt.destroy(team); }},
          {"sync", use}};
}

// These calls are of the whole job, so that no two of them are at once.
std::vector<Call> calls_of_job() {
  const auto zeroed = [](Runtime& rt, Team&) { return rt.callocate<std::uint64_t>(100).status(); };
  const auto growth = [](Runtime& rt, Team&) {
    return rt.allocate_bytes(3 * rt.options().heap_chunk).status();
  };
  const auto checked = [](Runtime& rt, Team&) -> Status {
    ASSIGN_OR_RETURN(void* const memory, rt.allocate_bytes(64));
    ASSIGN_OR_RETURN(void* const more, rt.reallocate_bytes(memory, 128));
    return rt.free(more);
  };
  return {{"callocate", zeroed}, {"growing allocate", growth}, {"reallocate", checked}};
}

// On one PE two threads, of which the first comes first; on the others one after the other, the
// second first. Neither may wait for the other's call.
Status in_opposite_orders(Runtime& rt, const Call& first, const Call& second) {
  ASSIGN_OR_RETURN(Team one, rt.split_strided(rt.world(), 0, 1, rt.npes()));
  ASSIGN_OR_RETURN(Team two, rt.split_strided(rt.world(), rt.npes() - 1, -1, rt.npes()));
  RETURN_IF_ERROR(rt.barrier());
  Status ends[2];
  if (rt.pe() == 0) {
    std::thread thread([&] { ends[0] = first.make(rt, one); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // it waits for the others by now
    ends[1] = second.make(rt, two);
    thread.join();
  } else {
    ends[1] = second.make(rt, two);
    ends[0] = first.make(rt, one);
  }
  EXPECT_OK(ends[0]) << first.name << ", before " << second.name << " on PE 0";
  EXPECT_OK(ends[1]) << second.name << ", behind " << first.name << " on PE 0";
  for (const Status& end : ends) RETURN_IF_ERROR(end);
  for (Team* team : {&one, &two})
    if (team->id >= 0) RETURN_IF_ERROR(rt.destroy(*team));
  return rt.barrier();
}

TEST_P(TeamTest, ThreadsInOppositeOrders) {
  PeGroup group = GetParam();
  if (group.npes == 1) return;
  group.options.heap_chunk = std::size_t{1} << 20;
  group.options.wait_timeout = 20;
  EXPECT_OK(run_pes(group, [](Runtime& rt) -> Status {
    rt.context().share();
    for (const Call& one : calls_of_threads()) {
      for (const Call& other : calls_of_threads())
        RETURN_IF_ERROR(in_opposite_orders(rt, one, other));
      for (const Call& other : calls_of_job()) {
        RETURN_IF_ERROR(in_opposite_orders(rt, one, other));
        RETURN_IF_ERROR(in_opposite_orders(rt, other, one));
      }
    }
    return rt.barrier();
  }));
}

// Many threads split overlapping teams at once, all ids are needed, and every team works.
TEST_P(TeamTest, ManySplitsAtOnce) {
  constexpr std::size_t kThreads = 4;
  constexpr int kRounds = 10;
  PeGroup group = GetParam();
  group.options.max_teams = 3 + 2 * static_cast<int>(kThreads);
  EXPECT_OK(run_pes(group, [](Runtime& rt) -> Status {
    rt.context().share();
    std::vector<Team> parents;
    std::vector<Desk> desks;
    for (std::size_t t = 0; t < kThreads; ++t) {
      ASSIGN_OR_RETURN(Team parent, rt.split_strided(rt.world(), 0, 1, rt.npes()));
      ASSIGN_OR_RETURN(const Desk desk, Desk::make(rt));
      parents.push_back(parent);
      desks.push_back(desk);
    }
    const auto work = [&](std::size_t t) -> Status {
      for (int round = 0; round < kRounds; ++round) {
        ASSIGN_OR_RETURN(Team team, rt.split_strided(parents[t], 0, 1, rt.npes()));
        RETURN_IF_ERROR(work_together(rt, team, all_pes(rt), desks[t]));
        RETURN_IF_ERROR(rt.destroy(team));
      }
      return Status::ok();
    };
    std::vector<Status> ends(kThreads);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) threads.emplace_back([&, t] { ends[t] = work(t); });
    for (std::thread& thread : threads) thread.join();
    for (const Status& end : ends) RETURN_IF_ERROR(end);
    return rt.barrier();
  }));
}

// Sets that share PEs, each made by a thread of its own on PE 0 and in the opposite order
// elsewhere.
TEST_P(TeamTest, SetsInOppositeOrders) {
  PeGroup group = GetParam();
  if (group.npes < 3) return;
  group.options.wait_timeout = 20;
  EXPECT_OK(run_pes(group, [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(auto* words, rt.callocate<std::uint64_t>(2 * Runtime::kTeamWords));
    const std::vector<int> sets[2] = {{0, 1}, {0, 1, 2}};
    const auto make = [&](std::size_t which) -> Status {
      const std::vector<int>& pes = sets[which];
      if (std::count(pes.begin(), pes.end(), rt.pe()) == 0) return Status::ok();
      ASSIGN_OR_RETURN(Team team, rt.team_of(pes, words + which * Runtime::kTeamWords));
      return rt.destroy(team);
    };
    Status ends[2];
    if (rt.pe() == 0) {
      std::thread thread([&] { ends[0] = make(0); });
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      ends[1] = make(1);
      thread.join();
    } else {
      ends[1] = make(1);
      ends[0] = make(0);
    }
    for (const Status& end : ends) RETURN_IF_ERROR(end);
    return rt.barrier();
  }));
}

INSTANTIATE_TEST_SUITE_P(Pes, TeamTest, ::testing::ValuesIn(pe_groups({1, 2, 5})), pe_group_name);

}  // namespace
}  // namespace weft
