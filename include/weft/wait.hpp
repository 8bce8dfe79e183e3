// Waiting for, and testing, words of my own symmetric heap that other PEs change.
//
// A wait returns when its condition holds, with every byte visible that the peer had put before
// the signal; or with Code::kTimeout after WEFT_WAIT_TIMEOUT, when a report naming PE, offset, seen
// and wanted value and the time waited has been printed. Waiting also drives progress.
//
// Vector forms: `status` (may be null) excludes word i when status[i] != 0; `values` gives each
// word its own value. Words excluded by all take part in nothing: waits return at once.
// Source: OpenSHMEM 1.5, 9.11 and 9.8.3.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/context.hpp>
#include <weft/signal.hpp>
#include <weft/result.hpp>
#include <weft/types.hpp>

namespace weft {

// No word satisfies the condition (test_any), or none takes part.
inline constexpr std::size_t kNoIndex = ~std::size_t{0};

// One wait over `count` words of `width` bytes; every typed form below is one call of it.
struct WaitArgs {
  enum class Type : std::uint8_t { kSigned, kUnsigned, kFloat };
  enum class Form : std::uint8_t { kAll, kAny, kSome };
  const void* words = nullptr;
  const void* values = nullptr;  // `count` of them if `vector`, else one
  std::size_t count = 1;
  const int* status = nullptr;
  std::size_t* indices = nullptr;  // kSome: the words that satisfied; kAny: indices[0]
  void* seen = nullptr;            // may be null; gets the value, `width` bytes, of the last word
                                   // that satisfied
  Type type = Type::kUnsigned;
  Form form = Form::kAll;
  std::uint8_t width = 8;
  Cmp cmp = Cmp::kEq;
  bool vector = false;
};
// Returns how many words satisfied (kAll: count or 0; kAny: 1 or 0; kSome: any number).
// wait = false only tests.
WEFT_API Result<std::size_t> wait_words(Context& ctx, const WaitArgs& args, bool wait);

namespace detail {
template <class T>
WaitArgs wait_args(const T* words, std::size_t count, const int* status, Cmp cmp, const T* values,
                   bool vector, WaitArgs::Form form, std::size_t* indices) {
  static_assert(is_wait_type<T>, "waits take integers and floats of at most 8 bytes");
  WaitArgs args;
  args.words = words;
  args.values = values;
  args.count = count;
  args.status = status;
  args.indices = indices;
  args.type = std::is_floating_point_v<T> ? WaitArgs::Type::kFloat
              : std::is_signed_v<T>       ? WaitArgs::Type::kSigned
                                          : WaitArgs::Type::kUnsigned;
  args.form = form;
  args.width = sizeof(T);
  args.cmp = cmp;
  args.vector = vector;
  return args;
}
}  // namespace detail

template <class T>
Status wait_until(Context& ctx, const T* word, Cmp cmp, T value) {
  auto n = wait_words(
      ctx, detail::wait_args(word, 1, nullptr, cmp, &value, false, WaitArgs::Form::kAll, nullptr),
      true);
  return n.is_ok() ? Status::ok() : n.status();
}
template <class T>
Status wait_until_all(Context& ctx, const T* words, std::size_t count, const int* status, Cmp cmp,
                      T value) {
  auto n = wait_words(
      ctx,
      detail::wait_args(words, count, status, cmp, &value, false, WaitArgs::Form::kAll, nullptr),
      true);
  return n.is_ok() ? Status::ok() : n.status();
}
template <class T>
Status wait_until_all_vector(Context& ctx, const T* words, std::size_t count, const int* status,
                             Cmp cmp, const T* values) {
  auto n = wait_words(
      ctx,
      detail::wait_args(words, count, status, cmp, values, true, WaitArgs::Form::kAll, nullptr),
      true);
  return n.is_ok() ? Status::ok() : n.status();
}
// The index of a word that satisfies; kNoIndex if none takes part.
template <class T>
Result<std::size_t> wait_until_any(Context& ctx, const T* words, std::size_t count,
                                   const int* status, Cmp cmp, T value) {
  std::size_t index = kNoIndex;
  auto n = wait_words(
      ctx,
      detail::wait_args(words, count, status, cmp, &value, false, WaitArgs::Form::kAny, &index),
      true);
  if (!n) return n.status();
  return index;
}
template <class T>
Result<std::size_t> wait_until_any_vector(Context& ctx, const T* words, std::size_t count,
                                          const int* status, Cmp cmp, const T* values) {
  std::size_t index = kNoIndex;
  auto n = wait_words(
      ctx, detail::wait_args(words, count, status, cmp, values, true, WaitArgs::Form::kAny, &index),
      true);
  if (!n) return n.status();
  return index;
}
// How many satisfy, at least one; their indices in `indices` (room for `count`).
template <class T>
Result<std::size_t> wait_until_some(Context& ctx, const T* words, std::size_t count,
                                    std::size_t* indices, const int* status, Cmp cmp, T value) {
  return wait_words(
      ctx,
      detail::wait_args(words, count, status, cmp, &value, false, WaitArgs::Form::kSome, indices),
      true);
}
template <class T>
Result<std::size_t> wait_until_some_vector(Context& ctx, const T* words, std::size_t count,
                                           std::size_t* indices, const int* status, Cmp cmp,
                                           const T* values) {
  return wait_words(
      ctx,
      detail::wait_args(words, count, status, cmp, values, true, WaitArgs::Form::kSome, indices),
      true);
}

template <class T>
Result<bool> test(Context& ctx, const T* word, Cmp cmp, T value) {
  auto n = wait_words(
      ctx, detail::wait_args(word, 1, nullptr, cmp, &value, false, WaitArgs::Form::kAll, nullptr),
      false);
  if (!n) return n.status();
  return *n == 1;
}
// True if every word that takes part satisfies.
template <class T>
Result<bool> test_all(Context& ctx, const T* words, std::size_t count, const int* status, Cmp cmp,
                      T value) {
  auto n = wait_words(
      ctx,
      detail::wait_args(words, count, status, cmp, &value, false, WaitArgs::Form::kAll, nullptr),
      false);
  if (!n) return n.status();
  return *n == count;
}
template <class T>
Result<bool> test_all_vector(Context& ctx, const T* words, std::size_t count, const int* status,
                             Cmp cmp, const T* values) {
  auto n = wait_words(
      ctx,
      detail::wait_args(words, count, status, cmp, values, true, WaitArgs::Form::kAll, nullptr),
      false);
  if (!n) return n.status();
  return *n == count;
}
template <class T>
Result<std::size_t> test_any(Context& ctx, const T* words, std::size_t count, const int* status,
                             Cmp cmp, T value) {
  std::size_t index = kNoIndex;
  auto n = wait_words(
      ctx,
      detail::wait_args(words, count, status, cmp, &value, false, WaitArgs::Form::kAny, &index),
      false);
  if (!n) return n.status();
  return index;
}
template <class T>
Result<std::size_t> test_any_vector(Context& ctx, const T* words, std::size_t count,
                                    const int* status, Cmp cmp, const T* values) {
  std::size_t index = kNoIndex;
  auto n = wait_words(
      ctx, detail::wait_args(words, count, status, cmp, values, true, WaitArgs::Form::kAny, &index),
      false);
  if (!n) return n.status();
  return index;
}
template <class T>
Result<std::size_t> test_some(Context& ctx, const T* words, std::size_t count, std::size_t* indices,
                              const int* status, Cmp cmp, T value) {
  return wait_words(
      ctx,
      detail::wait_args(words, count, status, cmp, &value, false, WaitArgs::Form::kSome, indices),
      false);
}
template <class T>
Result<std::size_t> test_some_vector(Context& ctx, const T* words, std::size_t count,
                                     std::size_t* indices, const int* status, Cmp cmp,
                                     const T* values) {
  return wait_words(
      ctx,
      detail::wait_args(words, count, status, cmp, values, true, WaitArgs::Form::kSome, indices),
      false);
}

// The value of the signal word that made the condition true.
inline Result<std::uint64_t> signal_wait_until(Context& ctx, const std::uint64_t* signal, Cmp cmp,
                                               std::uint64_t value) {
  std::uint64_t seen = 0;
  WaitArgs args =
      detail::wait_args(signal, 1, nullptr, cmp, &value, false, WaitArgs::Form::kAll, nullptr);
  args.seen = &seen;
  auto n = wait_words(ctx, args, true);
  if (!n) return n.status();
  return seen;
}
// An atomic look at one of my own signal words.
inline std::uint64_t signal_fetch(const std::uint64_t* signal) {
  return __atomic_load_n(signal, __ATOMIC_ACQUIRE);
}

}  // namespace weft
