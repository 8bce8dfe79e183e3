// Signals, waits and tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <weft/device/context.hpp>

#include <weft/dev/address.hpp>
#include <weft/dev/notify.hpp>
#include <weft/dev/platform.hpp>
#include <weft/dev/poll.hpp>
#include <weft/dev/ring.hpp>
#include <weft/dev/route.hpp>
#include <weft/dev/scope.hpp>
#include <weft/dev/validate.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {
namespace waiting {

inline constexpr std::size_t kNoIndex = ~std::size_t{0};

// The operand of word i: one for all, or one each.
template <class T>
struct Same {
  T value;
  WEFT_DEVICE T operator[](std::size_t) const { return value; }
};

// The words that a call names, and what it wants of them.
template <class T, class Values>
struct Words {
  const T* words;
  std::size_t count;
  const int* status;  // status[i] != 0 leaves word i out; null: none
  Cmp cmp;
  Values values;

  WEFT_DEVICE bool takes_part(std::size_t i) const { return status == nullptr || status[i] == 0; }
  WEFT_DEVICE std::size_t first() const {
    for (std::size_t i = 0; i < count; ++i)
      if (takes_part(i)) return i;
    return kNoIndex;
  }
  // Says nothing about other memory.
  WEFT_DEVICE bool seems(std::size_t i) const {
    return holds(cmp, platform::load<Order::kRelaxed, Reach::kSystem>(words + i), T(values[i]));
  }
  // Acquire: pairs with the release of the signal, so what was put before it is visible. Only of a
  // word that seems to have come: a look that acquires takes longer than one that does not.
  WEFT_DEVICE bool is_so(std::size_t i) const {
    return platform::acquire(words + i, [&](T now) { return holds(cmp, now, T(values[i])); });
  }
  WEFT_DEVICE bool came(std::size_t i) const { return seems(i) && is_so(i); }
};

template <class T>
WEFT_DEVICE Words<T, Same<T>> same(const T* words, std::size_t count, const int* status, Cmp cmp,
                                   T value) {
  static_assert(is_wait_type<T>, "waits take integers and floats of at most 8 bytes");
  return {words, count, status, cmp, {value}};
}
template <class T>
WEFT_DEVICE Words<T, const T*> each(const T* words, std::size_t count, const int* status, Cmp cmp,
                                    const T* values) {
  static_assert(is_wait_type<T>, "waits take integers and floats of at most 8 bytes");
  return {words, count, status, cmp, values};
}

// A word's bits as the fault record holds them.
template <class T>
WEFT_DEVICE std::uint64_t widened(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    const double wide = static_cast<double>(value);
    std::uint64_t bits;
    memcpy(&bits, &wide, sizeof(bits));
    return bits;
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  } else {
    return static_cast<std::uint64_t>(value);
  }
}

template <class T>
WEFT_DEVICE void report_timeout(const DeviceContext& h, const char* where, const T* word, Cmp cmp,
                                T value, std::uint64_t waited_ns) {
  Fault fault;
  fault.code = FaultCode::kWaitTimeout;
  fault.where = where;
  fault.offset = is_symmetric(h, word, sizeof(T)) ? offset_of(h, word) : kNoHeapOffset;
  fault.seen = widened(platform::load<Order::kRelaxed, Reach::kSystem>(word));
  fault.wanted = widened(value);
  fault.waited_ns = waited_ns;
  fault.cmp = cmp;
  fault.type = std::is_floating_point_v<T> ? WordType::kDouble
               : std::is_signed_v<T>       ? WordType::kSigned
                                           : WordType::kUnsigned;
  fault.may_go_on = true;
  report(h, fault);
}

// The rest of a wait for a word that does not come soon.
template <class T>
WEFT_DEVICE_COLD bool wait_on_word(ByValue<ColdContext> cold, const char* where, const T* word,
                                   Cmp cmp, T value) {
  return wait_on(
      *cold.state,
      [&](std::uint64_t waited_ns) {
        report_timeout(DeviceContext(cold), where, word, cmp, value, waited_ns);
      },
      [&] { return same(word, 1, nullptr, cmp, value).came(0); });
}

template <class W>
WEFT_DEVICE_COLD void report_first(ByValue<ColdContext> cold, const char* where, W w,
                                   std::uint64_t waited_ns) {
  using T = std::remove_cv_t<std::remove_reference_t<decltype(*w.words)>>;
  const std::size_t i = w.first();  // found anew: kept, it would take registers of every look
  report_timeout<T>(DeviceContext(cold), where, w.words + i, w.cmp, w.values[i], waited_ns);
}

template <class W>
WEFT_DEVICE bool is_allowed(const DeviceContext& h, const char* where, const W& w) {
  return allowed(h, where, w.words, bytes_of<std::remove_reference_t<decltype(*w.words)>>(w.count),
                 sizeof(*w.words), h.pe);
}

// Word i, by one thread.
template <class Scope, class W>
WEFT_DEVICE bool wait_for(const DeviceContext& h, Scope scope, const char* where, const W& w,
                          std::size_t i) {
  using T = std::remove_cv_t<std::remove_reference_t<decltype(*w.words)>>;
  return (comes_soon(scope, [&] { return w.seems(i); }) && w.is_so(i)) ||
         wait_on_word<T>(h, where, w.words + i, w.cmp, w.values[i]);
}

// The leader waits for the one word that there is; all get the same answer.
template <class Scope, class W>
WEFT_DEVICE bool wait_word(const DeviceContext& h, Scope scope, const char* where, const W& w) {
  if (!is_allowed(h, where, w)) return false;
  return scope.all(scope.rank() != 0 || wait_for(h, scope, where, w, 0));
}

// Each thread waits for its share of the words; all get the same answer.
template <class Scope, class W>
WEFT_DEVICE bool wait_all(const DeviceContext& h, Scope scope, const char* where, const W& w) {
  if (!is_allowed(h, where, w)) return false;
  bool came = true;
  for (std::size_t i = static_cast<std::size_t>(scope.rank()); came && i < w.count;
       i += static_cast<std::size_t>(scope.size()))
    if (w.takes_part(i)) came = wait_for(h, scope, where, w, i);
  return scope.all(came);
}

// Where a scan for any word begins: each at another one, so that words which satisfy all the time
// come in turn (OpenSHMEM 1.5, 9.10: fairness), and no memory is needed for the last one found.
// Numbers times 2^32 over the golden ratio spread evenly over [0, 2^32), also of a loop whose turns
// take equally long; the upper half of a product brings them into [0, count).
WEFT_DEVICE std::size_t scan_start(std::size_t count) {
  const std::uint32_t spread = platform::ticks() * 0x9e3779b9u;
  const std::uint64_t most = count < 0xffffffffu ? count : 0xffffffffu;
  return static_cast<std::size_t>((spread * most) >> 32);
}

template <class W>
WEFT_DEVICE std::size_t find(const W& w) {
  std::size_t i = scan_start(w.count);
  for (std::size_t left = w.count; left != 0; --left) {
    if (w.takes_part(i) && w.came(i)) return i;
    if (++i == w.count) i = 0;
  }
  return kNoIndex;
}

template <class W>
WEFT_DEVICE std::size_t find_all(const W& w, std::size_t* indices) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < w.count; ++i)
    if (w.takes_part(i) && w.came(i)) indices[found++] = i;
  return found;
}

// The leader looks until `found(result)`; its result is everyone's.
template <class Scope, class W, class Look>
WEFT_DEVICE std::size_t wait_one(const DeviceContext& h, Scope scope, const char* where, const W& w,
                                 std::size_t nothing, Look look) {
  if (!is_allowed(h, where, w)) return nothing;
  std::size_t result = nothing;
  if (scope.rank() == 0 && w.first() != kNoIndex) {
    Deadline deadline(*h.state);
    const auto came = [&] {
      result = look();
      return result != nothing;
    };
    while (!poll(deadline, came)) {
      report_first(h, where, w, deadline.waited_ns());
      if (!deadline.goes_on()) break;
    }
  }
  return scope.broadcast(result);
}

template <class Scope, class W>
WEFT_DEVICE std::size_t wait_any(const DeviceContext& h, Scope scope, const char* where,
                                 const W& w) {
  return wait_one(h, scope, where, w, kNoIndex, [&] { return find(w); });
}

template <class Scope, class W>
WEFT_DEVICE std::size_t wait_some(const DeviceContext& h, Scope scope, const char* where,
                                  const W& w, std::size_t* indices) {
  return wait_one(h, scope, where, w, std::size_t{0}, [&] { return find_all(w, indices); });
}

template <class W>
WEFT_DEVICE bool test_all(const W& w) {
  bool all = true;
  for (std::size_t i = 0; i < w.count; ++i) all = all && (!w.takes_part(i) || w.came(i));
  return all;
}

}  // namespace waiting

WEFT_DEVICE_COLD void signal_by_ring(ByValue<ColdContext> h, ByValue<Notify> notify, int pe) {
  Op op;
  op.kind = OpKind::kPut;
  op.pe = static_cast<std::uint32_t>(pe);
  notify_by_op(h, notify, &op);
  std::uint64_t ticket;
  ring::push(h, "signal", op, &ticket);
}

WEFT_DEVICE void Context::signal(Notify notify, int pe) const {
  if (notify.op == NotifyOp::kNone) return;
  const Route word = route_of(h_, "signal", notify, pe);
  if (word.at != nullptr)
    notify_directly<Order::kRelaxed>(word.at, notify);
  else if (word.by_ring)
    signal_by_ring(h_, notify, pe);
}

template <class Scope, class T>
WEFT_DEVICE bool Context::wait_until(Scope scope, const T* word, Cmp cmp, T value) const {
  return waiting::wait_word(h_, known(scope), "wait_until",
                            waiting::same(word, 1, nullptr, cmp, value));
}

template <class Scope, class T>
WEFT_DEVICE bool Context::wait_until_all(Scope scope, const T* words, std::size_t count,
                                         const int* status, Cmp cmp, T value) const {
  return waiting::wait_all(h_, known(scope), "wait_until_all",
                           waiting::same(words, count, status, cmp, value));
}

template <class Scope, class T>
WEFT_DEVICE bool Context::wait_until_all_vector(Scope scope, const T* words, std::size_t count,
                                                const int* status, Cmp cmp, const T* values) const {
  return waiting::wait_all(h_, known(scope), "wait_until_all_vector",
                           waiting::each(words, count, status, cmp, values));
}

template <class Scope, class T>
WEFT_DEVICE std::size_t Context::wait_until_any(Scope scope, const T* words, std::size_t count,
                                                const int* status, Cmp cmp, T value) const {
  return waiting::wait_any(h_, known(scope), "wait_until_any",
                           waiting::same(words, count, status, cmp, value));
}

template <class Scope, class T>
WEFT_DEVICE std::size_t Context::wait_until_any_vector(Scope scope, const T* words,
                                                       std::size_t count, const int* status,
                                                       Cmp cmp, const T* values) const {
  return waiting::wait_any(h_, known(scope), "wait_until_any_vector",
                           waiting::each(words, count, status, cmp, values));
}

template <class Scope, class T>
WEFT_DEVICE std::size_t Context::wait_until_some(Scope scope, const T* words, std::size_t count,
                                                 std::size_t* indices, const int* status, Cmp cmp,
                                                 T value) const {
  return waiting::wait_some(h_, known(scope), "wait_until_some",
                            waiting::same(words, count, status, cmp, value), indices);
}

template <class Scope, class T>
WEFT_DEVICE std::size_t Context::wait_until_some_vector(Scope scope, const T* words,
                                                        std::size_t count, std::size_t* indices,
                                                        const int* status, Cmp cmp,
                                                        const T* values) const {
  return waiting::wait_some(h_, known(scope), "wait_until_some_vector",
                            waiting::each(words, count, status, cmp, values), indices);
}

template <class T>
WEFT_DEVICE bool Context::test(const T* word, Cmp cmp, T value) const {
  return test_all(word, 1, nullptr, cmp, value);
}

template <class T>
WEFT_DEVICE bool Context::test_all(const T* words, std::size_t count, const int* status, Cmp cmp,
                                   T value) const {
  const auto w = waiting::same(words, count, status, cmp, value);
  return waiting::is_allowed(h_, "test", w) && waiting::test_all(w);
}

template <class T>
WEFT_DEVICE bool Context::test_all_vector(const T* words, std::size_t count, const int* status,
                                          Cmp cmp, const T* values) const {
  const auto w = waiting::each(words, count, status, cmp, values);
  return waiting::is_allowed(h_, "test", w) && waiting::test_all(w);
}

template <class T>
WEFT_DEVICE std::size_t Context::test_any(const T* words, std::size_t count, const int* status,
                                          Cmp cmp, T value) const {
  const auto w = waiting::same(words, count, status, cmp, value);
  return waiting::is_allowed(h_, "test", w) ? waiting::find(w) : waiting::kNoIndex;
}

template <class T>
WEFT_DEVICE std::size_t Context::test_any_vector(const T* words, std::size_t count,
                                                 const int* status, Cmp cmp,
                                                 const T* values) const {
  const auto w = waiting::each(words, count, status, cmp, values);
  return waiting::is_allowed(h_, "test", w) ? waiting::find(w) : waiting::kNoIndex;
}

template <class T>
WEFT_DEVICE std::size_t Context::test_some(const T* words, std::size_t count, std::size_t* indices,
                                           const int* status, Cmp cmp, T value) const {
  const auto w = waiting::same(words, count, status, cmp, value);
  return waiting::is_allowed(h_, "test", w) ? waiting::find_all(w, indices) : 0;
}

template <class T>
WEFT_DEVICE std::size_t Context::test_some_vector(const T* words, std::size_t count,
                                                  std::size_t* indices, const int* status, Cmp cmp,
                                                  const T* values) const {
  const auto w = waiting::each(words, count, status, cmp, values);
  return waiting::is_allowed(h_, "test", w) ? waiting::find_all(w, indices) : 0;
}

WEFT_DEVICE std::uint64_t Context::signal_fetch(const std::uint64_t* signal) const {
  if (!waiting::is_allowed(h_, "signal_fetch",
                           waiting::same(signal, 1, nullptr, Cmp::kEq, std::uint64_t{0})))
    return 0;
  // Acquire: as a wait.
  return platform::load<Order::kAcquire, Reach::kSystem>(signal);
}

}  // namespace WEFT_TARGET
}  // namespace weft::dev
