// Element: a type as the checks see it, so that they need no template.
#pragma once

#include <complex>
#include <cstddef>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>

namespace census {

enum class Operator { kSum, kProd, kMin, kMax, kAnd, kOr, kXor };

struct Element {
  std::size_t size;
  void (*fill)(void* out, std::size_t count, std::mt19937_64& random);
  bool (*equal)(const void* a, const void* b);
  void (*combine)(void* into, const void* value, Operator op);
};

template <class T>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<std::complex<T>> = true;

// Integers of all bits; small whole numbers where arithmetic shall stay exact.
template <class T>
T random_value(std::mt19937_64& random) {
  if constexpr (is_complex<T>) {
    using Part = typename T::value_type;
    const Part real = random_value<Part>(random);
    return {real, random_value<Part>(random)};
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(static_cast<int>(random() % 15) - 7);
  } else {
    return static_cast<T>(random());
  }
}

template <class T>
void fill_typed(void* out, std::size_t count, std::mt19937_64& random) {
  for (std::size_t i = 0; i < count; ++i) static_cast<T*>(out)[i] = random_value<T>(random);
}

template <class T>
bool equal_typed(const void* a, const void* b) {
  return *static_cast<const T*>(a) == *static_cast<const T*>(b);
}

// Integers wrap around.
template <class T>
T wrap(unsigned long long value) {
  return static_cast<T>(value);
}

template <class T>
T combined(T a, T b, Operator op) {
  if constexpr (is_complex<T>) {
    return op == Operator::kSum ? a + b : a * b;
  } else if constexpr (std::is_floating_point_v<T>) {
    switch (op) {
      case Operator::kSum: return a + b;
      case Operator::kProd: return a * b;
      case Operator::kMin: return b < a ? b : a;
      default: return a < b ? b : a;
    }
  } else {
    const auto x = static_cast<unsigned long long>(a), y = static_cast<unsigned long long>(b);
    switch (op) {
      case Operator::kSum: return wrap<T>(x + y);
      case Operator::kProd: return wrap<T>(x * y);
      case Operator::kMin: return b < a ? b : a;
      case Operator::kMax: return a < b ? b : a;
      case Operator::kAnd: return wrap<T>(x & y);
      case Operator::kOr: return wrap<T>(x | y);
      case Operator::kXor: return wrap<T>(x ^ y);
    }
    return a;
  }
}

template <class T>
void combine_typed(void* into, const void* value, Operator op) {
  *static_cast<T*>(into) = combined(*static_cast<T*>(into), *static_cast<const T*>(value), op);
}

template <std::size_t kBytes>
void fill_bytes(void* out, std::size_t count, std::mt19937_64& random) {
  auto* byte = static_cast<unsigned char*>(out);
  for (std::size_t i = 0; i < count * kBytes; ++i) byte[i] = static_cast<unsigned char>(random());
}
template <std::size_t kBytes>
bool equal_bytes(const void* a, const void* b) {
  return std::memcmp(a, b, kBytes) == 0;
}

// The element of a row: of its type, or of so many bytes where the type is void.
template <class T, std::size_t kBytes>
Element element_of() {
  if constexpr (std::is_void_v<T>)
    return {kBytes, fill_bytes<kBytes>, equal_bytes<kBytes>, nullptr};
  else
    return {sizeof(T), fill_typed<T>, equal_typed<T>, combine_typed<T>};
}

}  // namespace census
