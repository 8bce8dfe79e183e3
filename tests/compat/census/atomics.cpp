// 9.7: atomics, blocking and not, with and without a context, and those of older specifications.
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "tests/compat/census/census.hpp"

namespace census {
namespace {

using weft::OpKind;

// One atomic on the word `dst` of `pe`; the old value goes to `old` if it fetches one.
using Atomic =
    std::function<void(void* old, void* dst, const void* value, const void* compare, int pe)>;
enum class Update { kNone, kSet, kCombine, kCompare };
enum class When { kNow, kLater };

struct Rule {
  OpKind op;
  Update update;
  bool fetches;
  Operator combine = Operator::kSum;
  bool increments = false;  // the value is 1
  When when = When::kNow;
};

constexpr std::size_t kWidest = 8;
constexpr int kCalls = 4;

struct Word {
  alignas(kWidest) std::byte bytes[2 * kWidest];
  Word() { poison(bytes, sizeof(bytes)); }
};

Word random_word(const Subject& s, std::mt19937_64& random) {
  Word word;
  s.element.fill(word.bytes, 1, random);
  return word;
}

Word one(const Subject& s) {
  // The difference of a number and itself, plus one more, would need the type; bytes do: all types
  // that can be incremented are integers, and the machine is little-endian.
  Word word;
  std::memset(word.bytes, 0, s.element.size);
  word.bytes[0] = std::byte{1};
  return word;
}

// The update that the rule makes to `word`.
void apply(const Subject& s, const Rule& rule, Word& word, const Word& value, const Word& compare) {
  switch (rule.update) {
    case Update::kNone: return;
    case Update::kCombine: return s.element.combine(word.bytes, value.bytes, rule.combine);
    case Update::kCompare:
      if (!s.element.equal(word.bytes, compare.bytes)) return;
      [[fallthrough]];
    case Update::kSet: std::memcpy(word.bytes, value.bytes, s.element.size);
  }
}

void expect_atomic(const Subject& s, const Rule& rule) {
  if (!records()) return;
  const auto ops = take_ops();
  if (ops.size() != 1) return fail(s, fmt::format("posted {} ops, not one", ops.size()));
  expect(s, ops[0].kind == rule.op,
         fmt::format("posted kind {}, not {}", int(ops[0].kind), int(rule.op)));
  expect(s, ops[0].width == s.element.size, fmt::format("of width {}", ops[0].width));
  expect(s, ops[0].pe == static_cast<unsigned>(peer()), fmt::format("to PE {}", ops[0].pe));
}

// Calls of one PE on one word: what the k-th is given, and what the word is before it.
struct Call {
  Word value, compare, before;
};
std::vector<Call> script(const Subject& s, const Rule& rule, int pe, Word word) {
  auto random = data(pe);
  random.discard(77);
  std::vector<Call> calls(kCalls);
  for (int k = 0; k < kCalls; ++k) {
    Call& call = calls[static_cast<std::size_t>(k)];
    call.before = word;
    call.value = rule.increments ? one(s) : random_word(s, random);
    call.compare = k % 2 == 0 ? word : random_word(s, random);
    apply(s, rule, word, call.value, call.compare);
  }
  return calls;
}
Word initial(const Subject& s, int pe) {
  auto random = data(pe);
  return random_word(s, random);
}

void check(const Subject& s, const Rule& rule, const Atomic& atomic) {
  begin();
  const Word start = initial(s, me());
  std::memcpy(target() + kWidest, start.bytes, s.element.size);
  shmem_barrier_all();
  take_ops();
  for (const Call& call : script(s, rule, me(), initial(s, peer()))) {
    Word old;
    {
      const Undelivered later(rule.when == When::kLater);
      atomic(old.bytes, target() + kWidest, call.value.bytes, call.compare.bytes, peer());
      expect_atomic(s, rule);
      if (rule.when == When::kLater && records())
        expect(s, is_poison(old.bytes, s.element.size), "waited for its result");
    }
    if (rule.when == When::kLater) quiet();
    fence();  // atomics on one word come in any order without it
    take_ops();
    if (rule.fetches)
      expect_elements(s, old.bytes, call.before.bytes, 1, fmt::format("result from PE {}", peer()));
  }
  quiet();
  shmem_barrier_all();
  const Call last = script(s, rule, writer(), start).back();
  Word wanted = last.before;
  apply(s, rule, wanted, last.value, last.compare);
  expect_elements(s, target() + kWidest, wanted.bytes, 1, fmt::format("word of PE {}", me()));
  expect(s, is_poison(target(), kWidest), "it wrote before the word");
}

// --- routines as calls on bytes -----------------------------------------------------------------
template <class T>
T value_of(const void* bytes) {
  return *static_cast<const T*>(bytes);
}

// f(dst, pe), which fetches.
template <class T, class F>
void fetching(const Subject& s, F f, Rule rule) {
  check(s, rule, [f](void* old, void* dst, const void*, const void*, int pe) {
    *static_cast<T*>(old) = f(static_cast<T*>(dst), pe);
  });
}
template <class T, class F>
void fetching_nbi(const Subject& s, F f, Rule rule) {
  rule.when = When::kLater;
  check(s, rule, [f](void* old, void* dst, const void*, const void*, int pe) {
    f(static_cast<T*>(old), static_cast<T*>(dst), pe);
  });
}
// f(dst, value, pe), which fetches.
template <class T, class F>
void fetching_with(const Subject& s, F f, Rule rule) {
  check(s, rule, [f](void* old, void* dst, const void* value, const void*, int pe) {
    *static_cast<T*>(old) = f(static_cast<T*>(dst), value_of<T>(value), pe);
  });
}
template <class T, class F>
void fetching_with_nbi(const Subject& s, F f, Rule rule) {
  rule.when = When::kLater;
  check(s, rule, [f](void* old, void* dst, const void* value, const void*, int pe) {
    f(static_cast<T*>(old), static_cast<T*>(dst), value_of<T>(value), pe);
  });
}
// f(dst, value, pe), which does not.
template <class T, class F>
void updating(const Subject& s, F f, Rule rule) {
  check(s, rule, [f](void*, void* dst, const void* value, const void*, int pe) {
    f(static_cast<T*>(dst), value_of<T>(value), pe);
  });
}

template <class T, class F>
void atomic_fetch(const Subject& s, F f) {
  fetching<T>(s, f, {OpKind::kAmoFetch, Update::kNone, true});
}
template <class T, class F>
void atomic_fetch_nbi(const Subject& s, F f) {
  fetching_nbi<T>(s, f, {OpKind::kAmoFetch, Update::kNone, true});
}
template <class T, class F>
void atomic_set(const Subject& s, F f) {
  updating<T>(s, f, {OpKind::kAmoSet, Update::kSet, false});
}
template <class T, class F>
void atomic_swap(const Subject& s, F f) {
  fetching_with<T>(s, f, {OpKind::kAmoSwap, Update::kSet, true});
}
template <class T, class F>
void atomic_swap_nbi(const Subject& s, F f) {
  fetching_with_nbi<T>(s, f, {OpKind::kAmoSwap, Update::kSet, true});
}
template <class T, class F>
void atomic_compare_swap(const Subject& s, F f) {
  check(s, {OpKind::kAmoCompareSwap, Update::kCompare, true},
        [f](void* old, void* dst, const void* value, const void* compare, int pe) {
          *static_cast<T*>(old) =
              f(static_cast<T*>(dst), value_of<T>(compare), value_of<T>(value), pe);
        });
}
template <class T, class F>
void atomic_compare_swap_nbi(const Subject& s, F f) {
  Rule rule{OpKind::kAmoCompareSwap, Update::kCompare, true};
  rule.when = When::kLater;
  check(s, rule, [f](void* old, void* dst, const void* value, const void* compare, int pe) {
    f(static_cast<T*>(old), static_cast<T*>(dst), value_of<T>(compare), value_of<T>(value), pe);
  });
}

constexpr Rule kInc{OpKind::kAmoAdd, Update::kCombine, false, Operator::kSum, true};
constexpr Rule kFetchInc{OpKind::kAmoFetchAdd, Update::kCombine, true, Operator::kSum, true};
template <class T, class F>
void atomic_inc(const Subject& s, F f) {
  check(s, kInc,
        [f](void*, void* dst, const void*, const void*, int pe) { f(static_cast<T*>(dst), pe); });
}
template <class T, class F>
void atomic_fetch_inc(const Subject& s, F f) {
  fetching<T>(s, f, kFetchInc);
}
template <class T, class F>
void atomic_fetch_inc_nbi(const Subject& s, F f) {
  fetching_nbi<T>(s, f, kFetchInc);
}

// add, and, or, xor: three forms each.
#define COMBINING(name, Kind, Op)                                                                \
  template <class T, class F>                                                                    \
  void atomic_##name(const Subject& s, F f) {                                                    \
    updating<T>(s, f, {OpKind::kAmo##Kind, Update::kCombine, false, Operator::Op});              \
  }                                                                                              \
  template <class T, class F>                                                                    \
  void atomic_fetch_##name(const Subject& s, F f) {                                              \
    fetching_with<T>(s, f, {OpKind::kAmoFetch##Kind, Update::kCombine, true, Operator::Op});     \
  }                                                                                              \
  template <class T, class F>                                                                    \
  void atomic_fetch_##name##_nbi(const Subject& s, F f) {                                        \
    fetching_with_nbi<T>(s, f, {OpKind::kAmoFetch##Kind, Update::kCombine, true, Operator::Op}); \
  }
COMBINING(add, Add, kSum)
COMBINING(and, And, kAnd)
COMBINING(or, Or, kOr)
COMBINING(xor, Xor, kXor)
#undef COMBINING

// The names of OpenSHMEM 1.3.
template <class T, class F>
void fetch(const Subject& s, F f) {
  atomic_fetch<T>(s, f);
}
template <class T, class F>
void set(const Subject& s, F f) {
  atomic_set<T>(s, f);
}
template <class T, class F>
void swap(const Subject& s, F f) {
  atomic_swap<T>(s, f);
}
template <class T, class F>
void cswap(const Subject& s, F f) {
  atomic_compare_swap<T>(s, f);
}
template <class T, class F>
void finc(const Subject& s, F f) {
  atomic_fetch_inc<T>(s, f);
}
template <class T, class F>
void inc(const Subject& s, F f) {
  atomic_inc<T>(s, f);
}
template <class T, class F>
void fadd(const Subject& s, F f) {
  atomic_fetch_add<T>(s, f);
}
template <class T, class F>
void add(const Subject& s, F f) {
  atomic_add<T>(s, f);
}

}  // namespace

void check_atomics() {
#define SHMEM_ROUTINE(family, type, bytes, context, name) \
  family<type>(Subject{#name, element_of<type, bytes>()}, context(name));
#include <atomics.inc>
#undef SHMEM_ROUTINE
}

}  // namespace census
