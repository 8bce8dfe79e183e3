// 9.10: wait and test in all forms.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "tests/compat/census/census.hpp"

namespace census {
namespace {

constexpr std::size_t kWords = 5;
constexpr std::size_t kNone = ~std::size_t{0};

struct Comparison {
  int cmp;
  bool (*holds)(std::size_t seen, std::size_t wanted);
};
const Comparison kComparisons[] = {
    {SHMEM_CMP_EQ, [](std::size_t a, std::size_t b) { return a == b; }},
    {SHMEM_CMP_NE, [](std::size_t a, std::size_t b) { return a != b; }},
    {SHMEM_CMP_GT, [](std::size_t a, std::size_t b) { return a > b; }},
    {SHMEM_CMP_GE, [](std::size_t a, std::size_t b) { return a >= b; }},
    {SHMEM_CMP_LT, [](std::size_t a, std::size_t b) { return a < b; }},
    {SHMEM_CMP_LE, [](std::size_t a, std::size_t b) { return a <= b; }},
};

// A case: words of mine hold small numbers that my writer puts, some are excluded, and each is
// compared with a value.
struct Case {
  std::size_t words[kWords];
  std::size_t values[kWords];
  int excluded[kWords];
  Comparison comparison;
  std::size_t holding(bool vector) const {
    std::size_t n = 0;
    for (std::size_t i = 0; i < kWords; ++i) n += holds(i, vector);
    return n;
  }
  std::size_t taking_part() const {
    return kWords - static_cast<std::size_t>(std::count(excluded, excluded + kWords, 1));
  }
  bool holds(std::size_t i, bool vector) const {
    return excluded[i] == 0 && comparison.holds(words[i], values[vector ? i : 0]);
  }
};

Case random_case(std::mt19937_64& random, const Comparison& comparison) {
  Case c{};
  c.comparison = comparison;
  for (std::size_t i = 0; i < kWords; ++i) {
    c.words[i] = 1 + random() % 4;
    c.values[i] = 1 + random() % 4;
    c.excluded[i] = random() % 4 == 0;
  }
  return c;
}
// One whose condition holds for all words that take part, as a wait needs it.
Case fulfilled_case(std::mt19937_64& random, const Comparison& comparison, bool vector) {
  for (;;) {
    const Case c = random_case(random, comparison);
    if (c.holding(vector) == c.taking_part()) return c;
  }
}

template <class T>
T* words() {
  return reinterpret_cast<T*>(target());
}

// Writes my peer's words, and my own copies of what is compared.
template <class T>
void put_words(const Case& c) {
  T values[kWords];
  for (std::size_t i = 0; i < kWords; ++i) values[i] = static_cast<T>(c.words[i]);
  shmem_putmem(target(), values, sizeof(values), peer());
  shmem_quiet();
}
template <class T>
void zero_words() {
  begin();
  for (std::size_t i = 0; i < kWords; ++i) words<T>()[i] = 0;
  shmem_barrier_all();
}
template <class T>
std::vector<T> values_of(const Case& c) {
  return std::vector<T>(c.values, c.values + kWords);
}

// --- one word -----------------------------------------------------------------------------------
// A word is `before`, then my writer makes it 3: only then does it compare so with `value`.
struct Change {
  std::size_t comparison, before, value;
};
constexpr Change kChanges[] = {{0, 0, 3}, {1, 0, 0}, {2, 0, 2}, {3, 0, 3}, {4, 9, 4}, {5, 9, 3}};

template <class T, class F>
void wait_until(const Subject& s, F f) {
  for (const Change& change : kChanges) {
    begin();
    words<T>()[0] = static_cast<T>(change.before);
    shmem_barrier_all();
    put_words<T>(Case{{3}, {}, {}, {}});
    f(words<T>(), kComparisons[change.comparison].cmp, static_cast<T>(change.value));
    expect(s, words<T>()[0] == 3,
           fmt::format("returned before its condition {} held", change.comparison));
  }
}
template <class T, class F>
void wait(const Subject& s, F f) {
  zero_words<T>();
  put_words<T>(Case{{3}, {}, {}, {}});
  f(words<T>(), T{0});
  expect(s, words<T>()[0] == 3, "returned before the word changed");
}
template <class T, class F>
void test(const Subject& s, F f) {
  for (const Comparison& comparison : kComparisons)
    for (std::size_t value = 1; value < 5; ++value) {
      *words<T>() = 3;
      const bool wanted = comparison.holds(3, value);
      expect(s, (f(words<T>(), comparison.cmp, static_cast<T>(value)) != 0) == wanted,
             fmt::format("3 against {}, comparison {}, is not {}", value, comparison.cmp, wanted));
    }
}

// --- many words ---------------------------------------------------------------------------------
// f(words, count, [indices,] excluded, cmp, value or values)
enum class Form { kAll, kAny, kSome };

// The answer of a call: kAll whether all hold (a wait gives none), kAny an index, kSome indices.
struct Answer {
  bool all = true;
  std::size_t any = kNone;
  std::vector<std::size_t> some;
};

void expect_answer(const Subject& s, const Case& c, Form form, bool vector, const Answer& answer) {
  const std::size_t holding = c.holding(vector);
  if (form == Form::kAll) {
    expect(s, answer.all == (holding == c.taking_part()), fmt::format("says {}", answer.all));
  } else if (form == Form::kAny) {
    if (holding == 0)
      expect(s, answer.any == kNone, fmt::format("gives index {} of none", answer.any));
    else
      expect(s, answer.any < kWords && c.holds(answer.any, vector),
             fmt::format("gives index {}, which does not hold", answer.any));
  } else {
    expect(s, answer.some.size() == holding,
           fmt::format("gives {} indices, {} hold", answer.some.size(), holding));
    for (const std::size_t i : answer.some)
      expect(s, i < kWords && c.holds(i, vector), fmt::format("gives index {}", i));
    std::vector<std::size_t> sorted = answer.some;
    std::sort(sorted.begin(), sorted.end());
    expect(s, std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(),
           "gives an index twice");
  }
}

template <class T>
using Many = std::function<Answer(T* words, std::size_t count, const int* excluded, int cmp,
                                  const T* values)>;

template <class T>
void check_many(const Subject& s, const Many<T>& many, Form form, bool vector, bool waits) {
  for (const Comparison& comparison : kComparisons) {
    auto random = data(-1);
    zero_words<T>();
    const Case c =
        waits ? fulfilled_case(random, comparison, vector) : random_case(random, comparison);
    put_words<T>(c);
    if (!waits || form != Form::kAll) shmem_barrier_all();  // all are there: the answer is sure
    const auto values = values_of<T>(c);
    expect_answer(s, c, form, vector,
                  many(words<T>(), kWords, c.excluded, comparison.cmp, values.data()));
  }
  // No words at all, and all excluded.
  const T value[kWords] = {};
  const int all_excluded[kWords] = {1, 1, 1, 1, 1};
  for (const Answer& answer : {many(words<T>(), 0, nullptr, SHMEM_CMP_EQ, value),
                               many(words<T>(), kWords, all_excluded, SHMEM_CMP_EQ, value)}) {
    expect(s, answer.all, "of no words, not all");
    expect(s, answer.any == kNone, fmt::format("of no words, index {}", answer.any));
    expect(s, answer.some.empty(), fmt::format("of no words, {} indices", answer.some.size()));
  }
}

template <bool kVector, class T>
auto compared(const T* values) {
  if constexpr (kVector)
    return const_cast<T*>(values);
  else
    return *values;
}

template <class T, bool kVector, bool kWaits, class F>
void all_of(const Subject& s, F f) {
  check_many<T>(
      s,
      [f](T* words, std::size_t count, const int* excluded, int cmp, const T* values) {
        Answer answer;
        if constexpr (kWaits)
          f(words, count, excluded, cmp, compared<kVector>(values));
        else
          answer.all = f(words, count, excluded, cmp, compared<kVector>(values)) != 0;
        return answer;
      },
      Form::kAll, kVector, kWaits);
}
template <class T, bool kVector, bool kWaits, class F>
void any_of(const Subject& s, F f) {
  check_many<T>(
      s,
      [f](T* words, std::size_t count, const int* excluded, int cmp, const T* values) {
        Answer answer;
        answer.any = f(words, count, excluded, cmp, compared<kVector>(values));
        return answer;
      },
      Form::kAny, kVector, kWaits);
}
template <class T, bool kVector, bool kWaits, class F>
void some_of(const Subject& s, F f) {
  check_many<T>(
      s,
      [f](T* words, std::size_t count, const int* excluded, int cmp, const T* values) {
        Answer answer;
        std::size_t indices[kWords] = {};
        const std::size_t n = f(words, count, indices, excluded, cmp, compared<kVector>(values));
        answer.some.assign(indices, indices + std::min(n, kWords));
        return answer;
      },
      Form::kSome, kVector, kWaits);
}

#define FORMS(name, waits)                         \
  template <class T, class F>                      \
  void name##_all(const Subject& s, F f) {         \
    all_of<T, false, waits>(s, f);                 \
  }                                                \
  template <class T, class F>                      \
  void name##_all_vector(const Subject& s, F f) {  \
    all_of<T, true, waits>(s, f);                  \
  }                                                \
  template <class T, class F>                      \
  void name##_any(const Subject& s, F f) {         \
    any_of<T, false, waits>(s, f);                 \
  }                                                \
  template <class T, class F>                      \
  void name##_any_vector(const Subject& s, F f) {  \
    any_of<T, true, waits>(s, f);                  \
  }                                                \
  template <class T, class F>                      \
  void name##_some(const Subject& s, F f) {        \
    some_of<T, false, waits>(s, f);                \
  }                                                \
  template <class T, class F>                      \
  void name##_some_vector(const Subject& s, F f) { \
    some_of<T, true, waits>(s, f);                 \
  }
FORMS(wait_until, true)
FORMS(test, false)
#undef FORMS

}  // namespace

void check_waits() {
#define SHMEM_ROUTINE(family, type, bytes, context, name) \
  family<type>(Subject{#name, element_of<type, bytes>()}, context(name));
#include <waits.inc>
#undef SHMEM_ROUTINE
}

}  // namespace census
