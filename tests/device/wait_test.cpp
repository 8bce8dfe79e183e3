// Waits and tests in every form, type and scope.
#include <algorithm>
#include <cmath>
#include <set>

#include "tests/device/kernels.hpp"
#include "tests/device/world.hpp"

namespace weft::test {
namespace {

class WaitTest : public ::testing::TestWithParam<Way> {};

constexpr std::size_t kWords = 7;
constexpr unsigned kThreads = kWarp + kWarp / 2;

template <class Scope>
std::size_t groups() {
  if (std::is_same_v<Scope, dev::Thread>) return kThreads;
  return std::is_same_v<Scope, dev::Warp> ? 2 : 1;
}
template <class Scope>
std::size_t group_of(std::size_t thread) {
  if (std::is_same_v<Scope, dev::Thread>) return thread;
  return std::is_same_v<Scope, dev::Warp> ? thread / kWarp : 0;
}

// PE 0 stores values 1, 2, ... to the words of PE 1 one by one while PE 1 waits for them.
template <class Scope, class T>
void check_wait(Pe& pe, Wait wait, bool leave_out) {
  T* words = pe.allocate<T>(kWords);
  const SharedVector<int> out = {0, 1, 0, 0, 1, 0, 0};
  SharedVector<T> values(kWords);
  for (std::size_t i = 0; i < kWords; ++i) values[i] = static_cast<T>(i + 1);
  std::fill_n(words, kWords, T{0});
  pe.barrier();
  if (pe.pe() == 0) {
    pe.run(1, 1, Store<T>{pe.handle(), words, values.data(), kWords, 1});
    pe.barrier();
    return;
  }
  const bool vector =
      wait == Wait::kAllVector || wait == Wait::kAnyVector || wait == Wait::kSomeVector;
  const Cmp cmp = vector ? Cmp::kEq : Cmp::kGt;
  SharedVector<T> wanted = values;
  if (!vector) wanted[0] = T{0};
  SharedVector<std::size_t> indices(groups<Scope>() * kWords, 999), answers(kThreads, 999);
  const int* status = leave_out ? out.data() : nullptr;
  pe.run(1, kThreads,
         WaitOn<Scope, T>{pe.handle(), wait, words, kWords, status, cmp, wanted.data(),
                          indices.data(), answers.data()});
  auto takes_part = [&](std::size_t i) { return i < kWords && (!leave_out || out[i] == 0); };
  for (std::size_t t = 0; t < kThreads; ++t) {
    const std::size_t answer = answers[t];
    switch (wait) {
      case Wait::kOne:
      case Wait::kAll:
      case Wait::kAllVector: EXPECT_EQ(answer, 1u); break;
      case Wait::kAny:
      case Wait::kAnyVector: EXPECT_TRUE(takes_part(answer)) << answer; break;
      case Wait::kSome:
      case Wait::kSomeVector: {
        ASSERT_TRUE(answer >= 1 && answer <= kWords) << answer;
        const std::size_t* found = indices.data() + group_of<Scope>(t) * kWords;
        std::set<std::size_t> different(found, found + answer);
        EXPECT_EQ(different.size(), answer);
        for (std::size_t i : different) EXPECT_TRUE(takes_part(i)) << i;
        break;
      }
    }
    // All threads of a scope get the same answer.
    const bool has_mate = t > 0 && group_of<Scope>(t) == group_of<Scope>(t - 1);
    EXPECT_TRUE(!has_mate || answer == answers[t - 1]) << answer << " and " << answers[t - 1];
  }
  pe.barrier();
}

template <class Scope>
void check_waits(Way way) {
  on_pes(way, 2, [&](Pe& pe) {
    for (bool leave_out : {false, true}) {
      for (int wait = 0; wait <= static_cast<int>(Wait::kSomeVector); ++wait) {
        check_wait<Scope, std::uint64_t>(pe, static_cast<Wait>(wait), leave_out);
        check_wait<Scope, int>(pe, static_cast<Wait>(wait), leave_out);
      }
      check_wait<Scope, std::int8_t>(pe, Wait::kAll, leave_out);
      check_wait<Scope, std::uint16_t>(pe, Wait::kSome, leave_out);
      check_wait<Scope, float>(pe, Wait::kAllVector, leave_out);
      check_wait<Scope, double>(pe, Wait::kAny, leave_out);
    }
  });
}

TEST_P(WaitTest, ThreadsWaitInEveryForm) { check_waits<dev::Thread>(GetParam()); }
TEST_P(WaitTest, WarpsWaitInEveryForm) { check_waits<dev::Warp>(GetParam()); }
TEST_P(WaitTest, BlocksWaitInEveryForm) { check_waits<dev::Block>(GetParam()); }

TEST_P(WaitTest, NothingToWaitForReturnsAtOnce) {
  on_pes(GetParam(), 1, [&](Pe& pe) {
    auto* words = pe.allocate<int>(2);
    words[0] = words[1] = 0;
    const SharedVector<int> all_out = {1, 1};
    const SharedVector<int> never = {5};
    SharedVector<std::size_t> indices(12, 999), answers(kThreads, 999);
    auto wait = [&](Wait form, std::size_t count) {
      pe.run(1, kThreads,
             WaitOn<dev::Block, int>{pe.handle(), form, words, count, all_out.data(), Cmp::kEq,
                                     never.data(), indices.data(), answers.data()});
      for (std::size_t answer : answers) EXPECT_EQ(answer, answers[0]);
      return answers[0];
    };
    for (std::size_t count : {std::size_t{0}, std::size_t{2}}) {
      EXPECT_EQ(wait(Wait::kAll, count), 1u);
      EXPECT_EQ(wait(Wait::kAny, count), ~std::size_t{0});
      EXPECT_EQ(wait(Wait::kSome, count), 0u);
    }
  });
}

// The answer of a test for any of these, or for none.
bool is_any(std::size_t answer, const std::vector<std::size_t>& those) {
  if (those.empty()) return answer == ~std::size_t{0};
  return std::find(those.begin(), those.end(), answer) != those.end();
}

template <class T>
void check_tests(Way way) {
  on_pes(way, 1, [&](Pe& pe) {
    constexpr std::size_t kCount = 5;
    T* words = pe.allocate<T>(kCount);
    const T contents[kCount] = {3, 1, 4, 1, 5};
    std::copy(contents, contents + kCount, words);
    const SharedVector<int> out = {0, 0, 1, 0, 0};
    for (int c = 0; c <= static_cast<int>(Cmp::kLe); ++c)
      for (const int* status : {static_cast<const int*>(nullptr), out.data()}) {
        const Cmp cmp = static_cast<Cmp>(c);
        const SharedVector<T> values = {3, 2, 1, 1, 9};
        SharedVector<std::size_t> indices(2 * kCount, 999), answers(7, 999);
        pe.run(1, 1,
               TestAll<T>{pe.handle(), words, kCount, status, cmp, values.data(), indices.data(),
                          answers.data()});
        std::vector<std::size_t> one, each;
        std::size_t part = 0;
        for (std::size_t i = 0; i < kCount; ++i) {
          if (status != nullptr && status[i] != 0) continue;
          ++part;
          if (holds(cmp, contents[i], values[0])) one.push_back(i);
          if (holds(cmp, contents[i], values[i])) each.push_back(i);
        }
        EXPECT_EQ(answers[0], holds(cmp, contents[0], values[0]) ? 1u : 0u);
        EXPECT_EQ(answers[1], one.size() == part ? 1u : 0u);
        EXPECT_EQ(answers[2], each.size() == part ? 1u : 0u);
        EXPECT_TRUE(is_any(answers[3], one)) << answers[3];
        EXPECT_TRUE(is_any(answers[4], each)) << answers[4];
        indices.resize(2 * kCount);
        EXPECT_EQ(answers[5], one.size());
        EXPECT_EQ(answers[6], each.size());
        EXPECT_TRUE(std::equal(one.begin(), one.end(), indices.begin()));
        EXPECT_TRUE(std::equal(each.begin(), each.end(), indices.begin() + kCount));
      }
  });
}

TEST_P(WaitTest, TestsAnswerWithoutWaiting) {
  check_tests<int>(GetParam());
  check_tests<double>(GetParam());
  check_tests<std::uint8_t>(GetParam());
}

// The loop of the standard's example: each word that was found is done with, but here the program
// leaves it as it is. One that satisfies all the time keeps none of the others from being found.
TEST_P(WaitTest, WordsThatSatisfyAllTheTimeComeInTurn) {
  on_pes(GetParam(), 1, [&](Pe& pe) {
    for (const std::size_t count : {2u, 3u, 64u}) {
      auto* words = pe.allocate<int>(count);
      std::fill_n(words, count, 1);
      SharedVector<int> times(2 * count, 0);
      pe.run(1, 1, FindAll{pe.handle(), words, count, times.data()});
      for (std::size_t i = 0; i < 2 * count; ++i) EXPECT_GT(times[i], 0) << i << " of " << count;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ways, WaitTest, ::testing::ValuesIn(kWays), way_name);

}  // namespace
}  // namespace weft::test
