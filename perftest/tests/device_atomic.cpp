// Atomics inside kernels: each thread of the grid on a word of its own at the peer.
#include "perftest/tests/atomic_words.hpp"
#include "perftest/tests/kernel.hpp"

namespace weft::perf {
namespace {

template <Atomic kAtomic, class T>
WEFT_DEVICE void call(const dev::Context& ctx, T* dst, T operand, [[maybe_unused]] T compare,
                      T& old, int pe) {
  using enum Atomic;
  if constexpr (kAtomic == kSet)
    ctx.atomic_set(dst, operand, pe);
  else if constexpr (kAtomic == kAdd)
    ctx.atomic_add(dst, operand, pe);
  else if constexpr (kAtomic == kInc)
    ctx.atomic_inc(dst, pe);
  else if constexpr (kAtomic == kAnd)
    ctx.atomic_and(dst, operand, pe);
  else if constexpr (kAtomic == kOr)
    ctx.atomic_or(dst, operand, pe);
  else if constexpr (kAtomic == kXor)
    ctx.atomic_xor(dst, operand, pe);
  else if constexpr (kAtomic == kFetch)
    old = ctx.atomic_fetch(dst, pe);
  else if constexpr (kAtomic == kSwap)
    old = ctx.atomic_swap(dst, operand, pe);
  else if constexpr (kAtomic == kCompareSwap)
    old = ctx.atomic_compare_swap(dst, compare, operand, pe);
  else if constexpr (kAtomic == kFetchAdd)
    old = ctx.atomic_fetch_add(dst, operand, pe);
  else if constexpr (kAtomic == kFetchInc)
    old = ctx.atomic_fetch_inc(dst, pe);
  else if constexpr (kAtomic == kFetchAnd)
    old = ctx.atomic_fetch_and(dst, operand, pe);
  else if constexpr (kAtomic == kFetchOr)
    old = ctx.atomic_fetch_or(dst, operand, pe);
  else
    old = ctx.atomic_fetch_xor(dst, operand, pe);
}

template <Atomic kAtomic, class T, bool kEach>
struct Body {
  static constexpr bool kAlone = false;
  std::byte* words;
  std::byte* fetched;
  const std::byte* models;
  std::size_t apart;
  Count done;
  int peer;

  WEFT_DEVICE bool operator()(const dev::Context& ctx, dev::Thread thread, Unit unit,
                              Count i) const {
    const AtomicModel<T>& model =
        *reinterpret_cast<const AtomicModel<T>*>(models + unit.index * apart);
    auto* const word = reinterpret_cast<T*>(words + unit.index * apart);
    auto* const old = reinterpret_cast<T*>(fetched + unit.index * apart);
    call<kAtomic>(ctx, word, model.template operand_of<kAtomic>(done + i),
                  model.compare_of(done + i), *old, peer);
    if constexpr (kEach) ctx.quiet(thread);
    return true;
  }
};

// kEach: quiet after each operation.
template <bool kEach>
class DeviceAtomic : public AtomicWords {
 public:
  DeviceAtomic(Job& job, const Point& point)
      : AtomicWords(job, point,
                    std::size_t{job.options().blocks} * std::size_t{job.options().threads}) {}

  Result<Ns> run(Count iters) override {
    const Count done = done_;
    done_ += iters;
    if (!job_.sends()) return Ns{0};
    return with_atomic_type(point_.type->element, [&](auto zero) {
      using T = decltype(zero);
      return with_atomic<T>(point_.atomic, [&](auto atomic) {
        const Body<atomic(), T, kEach> body{words_, fetched_, models_, kApart, done, job_.peer()};
        return run_kernel(job_, dev::Thread{}, body, iters);
      });
    });
  }

  Work work() const override { return {static_cast<double>(threads_), 0}; }
};

constexpr unsigned kUses = kUsesAtomic | kUsesType;

}  // namespace

std::vector<Row> device_atomic_rows() {
  return {
      {.name = "atomic",
       .api = Api::kDevice,
       .kind = Kind::kLatency,
       .what = "one atomic (-a) and quiet in a kernel, each thread on its own word of the peer",
       .formula = "time = kernel time / iterations",
       .uses = kUses,
       .takes = has_atomics,
       .make = make<DeviceAtomic<true>>},
      {.name = "atomic",
       .api = Api::kDevice,
       .kind = Kind::kRate,
       .what =
           "atomics (-a) in a kernel one after the other, each thread on its own word of the peer",
       .formula = "Mop/s = 1 / p50; p50 = kernel time / (iterations * threads)",
       .uses = kUses,
       .takes = has_atomics,
       .make = make<DeviceAtomic<false>>},
  };
}

}  // namespace weft::perf
