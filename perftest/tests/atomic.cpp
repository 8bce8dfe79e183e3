// Atomics of the host API: one PE on a word of the other.
#include "perftest/tests/atomic_words.hpp"

namespace weft::perf {
namespace {

// One call; the old value goes to `old` where there is one.
template <Atomic kAtomic, class T>
Status call(Context& ctx, T* dst, T operand, [[maybe_unused]] T compare, T& old, int pe) {
  using enum Atomic;
  if constexpr (kAtomic == kSet)
    return ctx.atomic_set(dst, operand, pe);
  else if constexpr (kAtomic == kAdd)
    return ctx.atomic_add(dst, operand, pe);
  else if constexpr (kAtomic == kInc)
    return ctx.atomic_inc(dst, pe);
  else if constexpr (kAtomic == kAnd)
    return ctx.atomic_and(dst, operand, pe);
  else if constexpr (kAtomic == kOr)
    return ctx.atomic_or(dst, operand, pe);
  else if constexpr (kAtomic == kXor)
    return ctx.atomic_xor(dst, operand, pe);
  else {
    auto result = [&] {
      if constexpr (kAtomic == kFetch)
        return ctx.atomic_fetch(dst, pe);
      else if constexpr (kAtomic == kSwap)
        return ctx.atomic_swap(dst, operand, pe);
      else if constexpr (kAtomic == kCompareSwap)
        return ctx.atomic_compare_swap(dst, compare, operand, pe);
      else if constexpr (kAtomic == kFetchAdd)
        return ctx.atomic_fetch_add(dst, operand, pe);
      else if constexpr (kAtomic == kFetchInc)
        return ctx.atomic_fetch_inc(dst, pe);
      else if constexpr (kAtomic == kFetchAnd)
        return ctx.atomic_fetch_and(dst, operand, pe);
      else if constexpr (kAtomic == kFetchOr)
        return ctx.atomic_fetch_or(dst, operand, pe);
      else
        return ctx.atomic_fetch_xor(dst, operand, pe);
    }();
    if (!result) return result.status();
    old = *result;
    return Status::ok();
  }
}

// kEach: quiet after each operation.
template <bool kEach>
class AtomicTest : public AtomicWords {
 public:
  AtomicTest(Job& job, const Point& point) : AtomicWords(job, point) {}

  Result<Ns> run(Count iters) override {
    return work_on(iters, [&](auto atomic, auto* dst, const auto& model, auto* old) {
      Context& ctx = job_.ctx();
      const int peer = job_.peer();
      const Count done = done_, last = iters - 1;
      const auto one = [=, &ctx](Count i) {
        auto result = model.first();
        Status status = call<atomic()>(ctx, dst, model.template operand_of<atomic()>(done + i),
                                       model.compare_of(done + i), result, peer);
        if (i == last) *old = result;
        if constexpr (kEach)
          if (status) return ctx.quiet();
        return status;
      };
      return time_loop(iters, one, [&ctx] { return ctx.quiet(); });
    });
  }
};

constexpr unsigned kUses = kUsesAtomic | kUsesType;

}  // namespace

std::vector<Row> atomic_rows() {
  return {
      {.name = "atomic",
       .kind = Kind::kLatency,
       .what = "one atomic (-a) on a word of the peer, and quiet",
       .formula = "time = batch / operations",
       .floor = kBareAtomic,
       .uses = kUses,
       .takes = has_atomics,
       .make = make<AtomicTest<true>>},
      {.name = "atomic",
       .kind = Kind::kRate,
       .what =
           "atomics (-a) on a word of the peer one after the other, quiet at the end of each batch",
       .formula = "Mop/s = 1 / p50; p50 = batch / operations",
       .floor = kBareAtomic,
       .uses = kUses,
       .takes = has_atomics,
       .make = make<AtomicTest<false>>},
  };
}

}  // namespace weft::perf
