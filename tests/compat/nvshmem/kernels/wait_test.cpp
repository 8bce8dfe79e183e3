// Waits and tests: every form, on words that another PE sets.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/compat/nvshmem/kernels/calls.hpp"

namespace weft::test {
namespace {

using namespace nvshmem::kernels;

class NvshmemWaitTest : public ::testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Ways, NvshmemWaitTest, ::testing::ValuesIn(kWays), way_name);

// The words become 1, 2, 3; the last one stays 0.
constexpr std::size_t kWords = 4;
constexpr int kNone[kWords] = {1, 1, 1, 1};
constexpr int kNotLast[kWords] = {0, 0, 0, 1};
constexpr int kThird[kWords] = {1, 1, 0, 1};
constexpr std::size_t kNowhere = SIZE_MAX;

// Answers in the order in which they are given.
struct Answers {
  std::uint64_t* at;
  void operator()(std::uint64_t answer) { *at++ = answer; }
};
// One word for a set of indices: a bit for each, and their count from bit 8 on.
std::uint64_t set_of(std::size_t count, const std::size_t* indices) {
  std::uint64_t all = count << 8;
  for (std::size_t i = 0; i < count; ++i) all |= std::uint64_t{1} << indices[i];
  return all;
}

template <class T, class Set, class Look>
void check(Way way, Set set, Look look, const std::vector<std::uint64_t>& wanted) {
  on_pes_with_module_state(way, 3, [&](Pe& pe, WithModuleState& pictured) {
    T* words = pe.allocate<T>(kWords);
    auto* answers = pe.allocate<std::uint64_t>(wanted.size());
    std::fill_n(words, kWords, T{0});
    std::fill_n(answers, wanted.size(), 12345);
    pe.barrier();
    const int next = pe.next();
    pictured.run(1, [=] {
      for (int i = 0; i < 3; ++i) set(words + i, static_cast<T>(i + 1), next);
      nvshmem_quiet();
      look(words, Answers{answers});
    });
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(wanted[i], answers[i]) << i;
    pe.barrier();
  });
}

#define WEFT_WAITS(N, T)                                                                           \
  TEST_P(NvshmemWaitTest, N##Waits) {                                                              \
    check<T>(                                                                                      \
        GetParam(), [](T* word, T value, int pe) { nvshmem_##N##_p(word, value, pe); },            \
        [](T* words, Answers say) {                                                                \
          T values[kWords] = {1, 2, 3, 9};                                                         \
          std::size_t found[kWords];                                                               \
          nvshmem_##N##_wait_until(words, NVSHMEM_CMP_EQ, 1);                                      \
          say(nvshmem_##N##_test(words, NVSHMEM_CMP_EQ, 1) == 1);                                  \
          say(nvshmem_##N##_wait_until_any(words, kWords, nullptr, NVSHMEM_CMP_EQ, 2));            \
          say(nvshmem_##N##_wait_until_any_vector(words, kWords, kThird, NVSHMEM_CMP_EQ, values)); \
          nvshmem_##N##_wait_until_all(words, kWords, kNotLast, NVSHMEM_CMP_NE, 0);                \
          nvshmem_##N##_wait_until_all_vector(words, 3, nullptr, NVSHMEM_CMP_GE, values);          \
          say(set_of(                                                                              \
              nvshmem_##N##_wait_until_some(words, kWords, found, nullptr, NVSHMEM_CMP_GT, 1),     \
              found));                                                                             \
          say(set_of(nvshmem_##N##_wait_until_some_vector(words, kWords, found, nullptr,           \
                                                          NVSHMEM_CMP_EQ, values),                 \
                     found));                                                                      \
          say(nvshmem_##N##_wait_until_any(words, kWords, kNone, NVSHMEM_CMP_EQ, 2));              \
          say(nvshmem_##N##_wait_until_some(words, kWords, found, kNone, NVSHMEM_CMP_EQ, 2));      \
        },                                                                                         \
        {1, 1, 2, 0x206, 0x307, kNowhere, 0});                                                     \
  }
#define WEFT_TESTS(N, T)                                                                           \
  TEST_P(NvshmemWaitTest, N##Tests) {                                                              \
    check<T>(                                                                                      \
        GetParam(), [](T* word, T value, int pe) { nvshmem_##N##_p(word, value, pe); },            \
        [](T* words, Answers say) {                                                                \
          T values[kWords] = {1, 2, 3, 9};                                                         \
          std::size_t found[kWords];                                                               \
          while (!nvshmem_##N##_test_all(words, kWords, kNotLast, NVSHMEM_CMP_NE, 0)) {            \
          }                                                                                        \
          const int cmps[] = {NVSHMEM_CMP_EQ, NVSHMEM_CMP_NE, NVSHMEM_CMP_GT,                      \
                              NVSHMEM_CMP_LE, NVSHMEM_CMP_LT, NVSHMEM_CMP_GE};                     \
          for (int cmp : cmps) {                                                                   \
            std::uint64_t holds = 0;                                                               \
            for (int i = 0; i < 3; ++i)                                                            \
              holds = holds * 2 + (nvshmem_##N##_test(words + i, cmp, 2) == 1 ? 1 : 0);            \
            say(holds);                                                                            \
          }                                                                                        \
          say(nvshmem_##N##_test_all(words, kWords, nullptr, NVSHMEM_CMP_GT, 0) == 1);             \
          say(nvshmem_##N##_test_all_vector(words, kWords, kNotLast, NVSHMEM_CMP_EQ, values) ==    \
              1);                                                                                  \
          say(nvshmem_##N##_test_all_vector(words, kWords, nullptr, NVSHMEM_CMP_EQ, values) == 1); \
          say(nvshmem_##N##_test_any(words, kWords, nullptr, NVSHMEM_CMP_EQ, 3));                  \
          say(nvshmem_##N##_test_any(words, kWords, nullptr, NVSHMEM_CMP_EQ, 8));                  \
          say(nvshmem_##N##_test_any_vector(words, kWords, kThird, NVSHMEM_CMP_EQ, values));       \
          say(set_of(nvshmem_##N##_test_some(words, kWords, found, nullptr, NVSHMEM_CMP_LE, 1),    \
                     found));                                                                      \
          say(set_of(nvshmem_##N##_test_some_vector(words, kWords, found, kNotLast,                \
                                                    NVSHMEM_CMP_LT, values + 1),                   \
                     found));                                                                      \
        },                                                                                         \
        {2, 5, 1, 6, 4, 3, 0, 1, 0, 2, kNowhere, 2, 0x209, 0x307});                                \
  }
WEFT_WAITS(short, short)
WEFT_TESTS(short, short)
WEFT_WAITS(uint, unsigned)
WEFT_TESTS(uint, unsigned)
WEFT_WAITS(ptrdiff, std::ptrdiff_t)
WEFT_TESTS(uint64, std::uint64_t)

}  // namespace
}  // namespace weft::test
