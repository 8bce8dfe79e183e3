// Atomics: one template for each form behind the names of amo.def.h.
#include <cstddef>
#include <cstdint>

#include "host/api/bits.hpp"
#include "host/api/shmem/state.hpp"

namespace weft::shmem {
namespace {

// All of them: the old value to `result`, which may be null if nothing is fetched.
template <class T>
[[gnu::always_inline]] inline void any(const char* routine, shmem_ctx_t ctx, Amo amo, T* dest,
                                       T value, T cond, T* result, int pe, Done done) {
  if (ResolvedCall call(routine, ctx, pe); call)
    settle(call->amo_bytes(amo, dest, sizeof(T), bits(value), bits(cond), result, call.pe(), done,
                           Caller{routine}));
}

template <Amo kAmo, class T>
void amo(const char* routine, shmem_ctx_t ctx, T* dest, T value, int pe) {
  any<T>(routine, ctx, kAmo, dest, value, T{}, nullptr, pe, Done::kLocal);
}

template <class T>
void inc(const char* routine, shmem_ctx_t ctx, T* dest, int pe) {
  amo<Amo::kAdd>(routine, ctx, dest, T{1}, pe);
}

template <Amo kAmo, class T>
T fetch_amo(const char* routine, shmem_ctx_t ctx, T* dest, T value, int pe) {
  T old{};
  any<T>(routine, ctx, kAmo, dest, value, T{}, &old, pe, Done::kLocal);
  return old;
}

template <class T>
T fetch(const char* routine, shmem_ctx_t ctx, const T* source, int pe) {
  return fetch_amo<Amo::kFetch>(routine, ctx, const_cast<T*>(source), T{}, pe);
}

template <class T>
T fetch_inc(const char* routine, shmem_ctx_t ctx, T* dest, int pe) {
  return fetch_amo<Amo::kFetchAdd>(routine, ctx, dest, T{1}, pe);
}

template <class T>
T compare_swap(const char* routine, shmem_ctx_t ctx, T* dest, T cond, T value, int pe) {
  T old{};
  any<T>(routine, ctx, Amo::kCompareSwap, dest, value, cond, &old, pe, Done::kLocal);
  return old;
}

// --- without waiting -----------------------------------------------------------------------------

template <Amo kAmo, class T>
void fetch_amo_nbi(const char* routine, shmem_ctx_t ctx, T* result, T* dest, T value, int pe) {
  any<T>(routine, ctx, kAmo, dest, value, T{}, result, pe, Done::kLater);
}

template <class T>
void fetch_nbi(const char* routine, shmem_ctx_t ctx, T* result, const T* source, int pe) {
  fetch_amo_nbi<Amo::kFetch>(routine, ctx, result, const_cast<T*>(source), T{}, pe);
}

template <class T>
void fetch_inc_nbi(const char* routine, shmem_ctx_t ctx, T* result, T* dest, int pe) {
  fetch_amo_nbi<Amo::kFetchAdd>(routine, ctx, result, dest, T{1}, pe);
}

template <class T>
void compare_swap_nbi(const char* routine, shmem_ctx_t ctx, T* result, T* dest, T cond, T value,
                      int pe) {
  any<T>(routine, ctx, Amo::kCompareSwap, dest, value, cond, result, pe, Done::kLater);
}

// --- deprecated: always the default context ------------------------------------------------------

template <class T>
T old_cswap(const char* routine, T* dest, T cond, T value, int pe) {
  return compare_swap(routine, SHMEM_CTX_DEFAULT, dest, cond, value, pe);
}
template <class T>
T old_finc(const char* routine, T* dest, int pe) {
  return fetch_inc(routine, SHMEM_CTX_DEFAULT, dest, pe);
}
template <class T>
void old_inc(const char* routine, T* dest, int pe) {
  inc(routine, SHMEM_CTX_DEFAULT, dest, pe);
}
template <class T>
T old_fadd(const char* routine, T* dest, T value, int pe) {
  return fetch_amo<Amo::kFetchAdd>(routine, SHMEM_CTX_DEFAULT, dest, value, pe);
}
template <class T>
void old_add(const char* routine, T* dest, T value, int pe) {
  amo<Amo::kAdd>(routine, SHMEM_CTX_DEFAULT, dest, value, pe);
}
template <class T>
T old_fetch(const char* routine, const T* source, int pe) {
  return fetch(routine, SHMEM_CTX_DEFAULT, source, pe);
}
template <class T>
void old_set(const char* routine, T* dest, T value, int pe) {
  amo<Amo::kSet>(routine, SHMEM_CTX_DEFAULT, dest, value, pe);
}
template <class T>
T old_swap(const char* routine, T* dest, T value, int pe) {
  return fetch_amo<Amo::kSwap>(routine, SHMEM_CTX_DEFAULT, dest, value, pe);
}

}  // namespace

}  // namespace weft::shmem

#define WEFT_SHMEM_GROUP "amo.def.h"
#define WEFT_SHMEM_ROUTINE WEFT_SHMEM_DEFINE
#include <shmem/families.def.h>
