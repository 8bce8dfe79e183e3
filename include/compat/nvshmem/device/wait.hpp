// Waits and tests of my own words, by one thread. A wait whose deadline passed returns; the fault
// record says where.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../module_state.hpp"

namespace weft::nvshmem {
inline namespace WEFT_TARGET {

// NVSHMEM counts less-or-equal before greater-or-equal.
static_assert(NVSHMEM_CMP_LE == static_cast<int>(Cmp::kGe) &&
                  NVSHMEM_CMP_GE == static_cast<int>(Cmp::kLe) &&
                  NVSHMEM_CMP_LT == static_cast<int>(Cmp::kLt) &&
                  NVSHMEM_CMP_GT == static_cast<int>(Cmp::kGt),
              "only these two differ");
WEFT_DEVICE Cmp cmp_of(int cmp) {
  const bool other = cmp == NVSHMEM_CMP_LE || cmp == NVSHMEM_CMP_GE;
  return static_cast<Cmp>(other ? NVSHMEM_CMP_LE + NVSHMEM_CMP_GE - cmp : cmp);
}

struct Waits {
  template <class T>
  WEFT_DEVICE static void wait_until(const T* word, int cmp, T value) {
    context().wait_until(dev::Thread{}, word, cmp_of(cmp), value);
  }
  template <class T>
  WEFT_DEVICE static int test(const T* word, int cmp, T value) {
    return context().test(word, cmp_of(cmp), value) ? 1 : 0;
  }
  template <class T>
  WEFT_DEVICE static void wait_until_all(const T* words, std::size_t count, const int* status,
                                         int cmp, T values) {
    context().wait_until_all(dev::Thread{}, words, count, status, cmp_of(cmp), values);
  }
  template <class T>
  WEFT_DEVICE static std::size_t wait_until_any(const T* words, std::size_t count,
                                                const int* status, int cmp, T values) {
    return context().wait_until_any(dev::Thread{}, words, count, status, cmp_of(cmp), values);
  }
  template <class T>
  WEFT_DEVICE static std::size_t wait_until_some(const T* words, std::size_t count,
                                                 std::size_t* indices, const int* status, int cmp,
                                                 T values) {
    return context().wait_until_some(dev::Thread{}, words, count, indices, status, cmp_of(cmp),
                                     values);
  }
  template <class T>
  WEFT_DEVICE static int test_all(const T* words, std::size_t count, const int* status, int cmp,
                                  T values) {
    return context().test_all(words, count, status, cmp_of(cmp), values) ? 1 : 0;
  }
  template <class T>
  WEFT_DEVICE static std::size_t test_any(const T* words, std::size_t count, const int* status,
                                          int cmp, T values) {
    return context().test_any(words, count, status, cmp_of(cmp), values);
  }
  template <class T>
  WEFT_DEVICE static std::size_t test_some(const T* words, std::size_t count, std::size_t* indices,
                                           const int* status, int cmp, T values) {
    return context().test_some(words, count, indices, status, cmp_of(cmp), values);
  }
  template <class T>
  WEFT_DEVICE static void wait_until_all_vector(const T* words, std::size_t count,
                                                const int* status, int cmp, const T* values) {
    context().wait_until_all_vector(dev::Thread{}, words, count, status, cmp_of(cmp), values);
  }
  template <class T>
  WEFT_DEVICE static std::size_t wait_until_any_vector(const T* words, std::size_t count,
                                                       const int* status, int cmp,
                                                       const T* values) {
    return context().wait_until_any_vector(dev::Thread{}, words, count, status, cmp_of(cmp),
                                           values);
  }
  template <class T>
  WEFT_DEVICE static std::size_t wait_until_some_vector(const T* words, std::size_t count,
                                                        std::size_t* indices, const int* status,
                                                        int cmp, const T* values) {
    return context().wait_until_some_vector(dev::Thread{}, words, count, indices, status,
                                            cmp_of(cmp), values);
  }
  template <class T>
  WEFT_DEVICE static int test_all_vector(const T* words, std::size_t count, const int* status,
                                         int cmp, const T* values) {
    return context().test_all_vector(words, count, status, cmp_of(cmp), values) ? 1 : 0;
  }
  template <class T>
  WEFT_DEVICE static std::size_t test_any_vector(const T* words, std::size_t count,
                                                 const int* status, int cmp, const T* values) {
    return context().test_any_vector(words, count, status, cmp_of(cmp), values);
  }
  template <class T>
  WEFT_DEVICE static std::size_t test_some_vector(const T* words, std::size_t count,
                                                  std::size_t* indices, const int* status, int cmp,
                                                  const T* values) {
    return context().test_some_vector(words, count, indices, status, cmp_of(cmp), values);
  }
  WEFT_DEVICE static std::uint64_t signal_fetch(const std::uint64_t* signal) {
    return context().signal_fetch(signal);
  }
  // The value that satisfied, though the next one may be there by then.
  WEFT_DEVICE static std::uint64_t signal_wait_until(const std::uint64_t* signal, int cmp,
                                                     std::uint64_t value) {
    const dev::Context ctx = context();
    std::uint64_t seen = 0;
    while (ctx.wait_until(dev::Thread{}, signal, cmp_of(cmp), value)) {
      seen = ctx.signal_fetch(signal);
      if (holds(cmp_of(cmp), seen, value)) break;
    }
    return seen;
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::nvshmem
