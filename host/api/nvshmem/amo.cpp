// Atomics: one template for each form behind the names of amo.def.h.
#include <cstdint>

#include "host/api/bits.hpp"
#include "host/api/nvshmem/state.hpp"

namespace weft::nvshmem {
namespace {

// All of them: the old value to `result`, which may be null if nothing is fetched.
template <class T>
void any(const char* routine, Amo amo, T* dest, T value, T cond, T* result, int pe) {
  if (Call call(routine); call)
    settle(call->amo_bytes(amo, dest, sizeof(T), bits(value), bits(cond), result, pe));
}

template <Amo kAmo, class T>
void amo(const char* routine, T* dest, T value, int pe) {
  any<T>(routine, kAmo, dest, value, T{}, nullptr, pe);
}

template <class T>
void inc(const char* routine, T* dest, int pe) {
  amo<Amo::kAdd>(routine, dest, T{1}, pe);
}

template <Amo kAmo, class T>
T fetch_amo(const char* routine, T* dest, T value, int pe) {
  T old{};
  any<T>(routine, kAmo, dest, value, T{}, &old, pe);
  return old;
}

template <class T>
T fetch(const char* routine, const T* source, int pe) {
  return fetch_amo<Amo::kFetch>(routine, const_cast<T*>(source), T{}, pe);
}

template <class T>
T fetch_inc(const char* routine, T* dest, int pe) {
  return fetch_amo<Amo::kFetchAdd>(routine, dest, T{1}, pe);
}

template <class T>
T compare_swap(const char* routine, T* dest, T cond, T value, int pe) {
  T old{};
  any<T>(routine, Amo::kCompareSwap, dest, value, cond, &old, pe);
  return old;
}

}  // namespace
}  // namespace weft::nvshmem

#define WEFT_NVSHMEM_GROUP "amo.def.h"
#define WEFT_NVSHMEM_BOTH WEFT_NVSHMEM_DEFINE
#include <nvshmem/host/routines.def.h>
