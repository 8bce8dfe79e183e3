// TeamIds: PEs as structs, threads of theirs that look for ids with different members at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "host/team/ids.hpp"
#include "tests/support/random.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

// Members that look for an id together, and what they exchange.
class Group {
 public:
  explicit Group(std::vector<std::size_t> members)
      : members_(std::move(members)), here_(static_cast<std::ptrdiff_t>(members_.size())) {}
  const std::vector<std::size_t>& members() const { return members_; }

  Result<int> lowest_of_all(const TeamIds::Bits& mine) {
    here_.arrive_and_wait();
    {
      const std::lock_guard lock(mutex_);
      all_.resize(mine.size(), ~std::uint64_t{0});
      for (std::size_t i = 0; i < mine.size(); ++i) all_[i] &= mine[i];
    }
    here_.arrive_and_wait();
    const int lowest = IdMask::lowest(all_.data(), all_.size());
    here_.arrive_and_wait();
    const std::lock_guard lock(mutex_);
    all_.clear();
    return lowest;
  }

 private:
  const std::vector<std::size_t> members_;
  std::barrier<> here_;
  std::mutex mutex_;
  TeamIds::Bits all_;
};

Result<int> look(TeamIds& ids, std::size_t group, Group& members) {
  return ids.agree({TeamIds::kParent, group}, true,
                   [&](const TeamIds::Bits& mine) { return members.lowest_of_all(mine); });
}

// Every PE is in every group. Some have a thread for each, others go through them in an order of
// their own, backwards for one and forwards for another: so groups must not wait for one another.
TEST(TeamIds, ManyAtOnce) {
  constexpr std::size_t kPes = 3, kGroups = 3;
  for (int round = 0; round < 50; ++round) {
    std::vector<std::unique_ptr<TeamIds>> pes;
    std::vector<std::unique_ptr<Group>> groups;
    // As many ids as groups: each of them is needed.
    for (std::size_t pe = 0; pe < kPes; ++pe)
      pes.push_back(std::make_unique<TeamIds>(static_cast<int>(kGroups)));
    for (std::size_t g = 0; g < kGroups; ++g)
      groups.push_back(std::make_unique<Group>(std::vector<std::size_t>{0, 1, 2}));
    int found[kPes][kGroups];
    std::vector<std::thread> threads;
    const auto join = [&](std::size_t pe, std::size_t g) {
      found[pe][g] = look(*pes[pe], g, *groups[g]).value_or(-2);
    };
    for (std::size_t pe = 0; pe + 1 < kPes; ++pe)
      for (std::size_t g = 0; g < kGroups; ++g) threads.emplace_back([&, pe, g] { join(pe, g); });
    threads.emplace_back([&] {
      for (std::size_t g = 0; g < kGroups; ++g)
        join(kPes - 1, round % 2 == 0 ? g : kGroups - 1 - g);
    });
    for (std::thread& thread : threads) thread.join();
    for (std::size_t g = 0; g < kGroups; ++g)
      for (std::size_t pe = 1; pe < kPes; ++pe) EXPECT_EQ(found[pe][g], found[0][g]);
    EXPECT_EQ(std::set<int>(found[0], found[0] + kGroups), (std::set<int>{0, 1, 2}));
  }
}

// Groups that overlap here and there, and ids that are given back and used again.
TEST(TeamIds, OverlapAtRandom) {
  constexpr std::size_t kPes = 4, kGroups = 6;
  std::mt19937_64 random(test_seed());
  std::vector<std::unique_ptr<TeamIds>> pes;
  for (std::size_t pe = 0; pe < kPes; ++pe)
    pes.push_back(std::make_unique<TeamIds>(static_cast<int>(kGroups)));
  std::vector<std::unique_ptr<Group>> groups;
  for (std::size_t g = 0; g < kGroups; ++g) {
    std::vector<std::size_t> all{0, 1, 2, 3};
    std::shuffle(all.begin(), all.end(), random);
    all.resize(2 + random() % (kPes - 1));
    groups.push_back(std::make_unique<Group>(all));
  }
  std::mutex mutex;
  std::set<int> in_use[kPes];  // guarded by mutex
  std::vector<std::thread> threads;
  for (std::size_t g = 0; g < kGroups; ++g)
    for (const std::size_t pe : groups[g]->members())
      threads.emplace_back([&, g, pe] {
        for (int round = 0; round < 40; ++round) {
          const int id = look(*pes[pe], g, *groups[g]).value_or(-2);
          EXPECT_GE(id, 0);
          {
            const std::lock_guard lock(mutex);
            EXPECT_TRUE(in_use[pe].insert(id).second) << "id " << id << " is in use already";
          }
          // As after a sync of the new team: nobody gives it back before all have it.
          EXPECT_OK(groups[g]->lowest_of_all({1}));
          {
            const std::lock_guard lock(mutex);
            in_use[pe].erase(id);
          }
          pes[pe]->give(id);
        }
      });
  for (std::thread& thread : threads) thread.join();
}

TEST(TeamIds, NoneThatAllHaveFree) {
  TeamIds first(2), second(2);
  first.take(0);
  second.take(1);
  Group both({0, 1});
  Result<int> ends[2] = {0, 0};
  std::thread other([&] { ends[1] = look(second, 0, both); });
  ends[0] = look(first, 0, both);
  other.join();
  for (const Result<int>& end : ends) EXPECT_EQ(end.value_or(0), -1);
  // Nothing was taken.
  first.give(0);
  std::thread again([&] { ends[1] = look(second, 0, both); });
  ends[0] = look(first, 0, both);
  again.join();
  for (const Result<int>& end : ends) EXPECT_EQ(end.value_or(-1), 0);
}

// A PE that only has its say keeps the id.
TEST(TeamIds, NotAMember) {
  TeamIds ids(1);
  const auto alone = [](const TeamIds::Bits& mine) -> Result<int> {
    return IdMask::lowest(mine.data(), mine.size());
  };
  EXPECT_EQ(ids.agree({TeamIds::kWords, 0}, false, alone).value_or(-1), 0);
  EXPECT_EQ(ids.agree({TeamIds::kWords, 0}, true, alone).value_or(-1), 0);
  EXPECT_EQ(ids.agree({TeamIds::kWords, 0}, true, alone).value_or(0), -1);
}

// A failure of the exchange ends the try, and the next one is offered ids again.
TEST(TeamIds, ExchangeFails) {
  TeamIds ids(1);
  int exchanges = 0;
  const auto fails_at = [&](int which) {
    exchanges = 0;
    return [&exchanges, which](const TeamIds::Bits& mine) -> Result<int> {
      if (++exchanges == which) return Status::error(Code::kTimeout, "nobody came");
      return IdMask::lowest(mine.data(), mine.size());
    };
  };
  for (const int which : {1, 2})
    EXPECT_CODE(ids.agree({TeamIds::kParent, 3}, true, fails_at(which)), Code::kTimeout);
  EXPECT_EQ(ids.agree({TeamIds::kParent, 4}, true, fails_at(0)).value_or(-1), 0);
}

}  // namespace
}  // namespace weft
