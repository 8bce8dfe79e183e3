// Waits and tests: the forms of weft/wait.hpp behind the names of wait.def.h.
#include <weft/wait.hpp>

#include <cstddef>
#include <cstdint>

#include "host/api/nvshmem/signal.hpp"
#include "host/api/nvshmem/state.hpp"

namespace weft::nvshmem {
namespace {

// One wait or test; how many words satisfied, 0 if it failed.
std::size_t look(const char* routine, const WaitArgs& args, bool wait) {
  const Call call(routine);
  return call ? wait_words(call.context(), args, wait).value_or(0) : 0;
}

template <class T>
WaitArgs arguments(const T* words, std::size_t count, const int* status, int cmp, const T* values,
                   bool vector, WaitArgs::Form form, std::size_t* indices) {
  return detail::wait_args(words, count, status, comparison(cmp), values, vector, form, indices);
}

template <class T>
void wait_until(const char* routine, const T* ivar, int cmp, T value) {
  look(routine, arguments(ivar, 1, nullptr, cmp, &value, false, WaitArgs::Form::kAll, nullptr),
       true);
}

template <class T>
int test(const char* routine, const T* ivar, int cmp, T value) {
  return look(routine,
              arguments(ivar, 1, nullptr, cmp, &value, false, WaitArgs::Form::kAll, nullptr),
              false) == 1;
}

// --- several words, one value (vector: false) or one each ---------------------------------------

template <class T>
void wait_all(const char* routine, const T* ivars, std::size_t count, const int* status, int cmp,
              const T* values, bool vector) {
  look(routine, arguments(ivars, count, status, cmp, values, vector, WaitArgs::Form::kAll, nullptr),
       true);
}

template <class T>
int all_hold(const char* routine, const T* ivars, std::size_t count, const int* status, int cmp,
             const T* values, bool vector) {
  if (count == 0) return 1;
  return look(routine,
              arguments(ivars, count, status, cmp, values, vector, WaitArgs::Form::kAll, nullptr),
              false) == count;
}

template <class T>
std::size_t any_holds(const char* routine, const T* ivars, std::size_t count, const int* status,
                      int cmp, const T* values, bool vector, bool wait) {
  std::size_t index = SIZE_MAX;
  look(routine, arguments(ivars, count, status, cmp, values, vector, WaitArgs::Form::kAny, &index),
       wait);
  return index;
}

template <class T>
std::size_t some_hold(const char* routine, const T* ivars, std::size_t count, std::size_t* indices,
                      const int* status, int cmp, const T* values, bool vector, bool wait) {
  return look(routine,
              arguments(ivars, count, status, cmp, values, vector, WaitArgs::Form::kSome, indices),
              wait);
}

template <class T>
void wait_until_all(const char* routine, const T* ivars, std::size_t count, const int* status,
                    int cmp, T value) {
  wait_all(routine, ivars, count, status, cmp, &value, false);
}
template <class T>
void wait_until_all_vector(const char* routine, const T* ivars, std::size_t count,
                           const int* status, int cmp, const T* values) {
  wait_all(routine, ivars, count, status, cmp, values, true);
}
template <class T>
std::size_t wait_until_any(const char* routine, const T* ivars, std::size_t count,
                           const int* status, int cmp, T value) {
  return any_holds(routine, ivars, count, status, cmp, &value, false, true);
}
template <class T>
std::size_t wait_until_any_vector(const char* routine, const T* ivars, std::size_t count,
                                  const int* status, int cmp, const T* values) {
  return any_holds(routine, ivars, count, status, cmp, values, true, true);
}
template <class T>
std::size_t wait_until_some(const char* routine, const T* ivars, std::size_t count,
                            std::size_t* indices, const int* status, int cmp, T value) {
  return some_hold(routine, ivars, count, indices, status, cmp, &value, false, true);
}
template <class T>
std::size_t wait_until_some_vector(const char* routine, const T* ivars, std::size_t count,
                                   std::size_t* indices, const int* status, int cmp,
                                   const T* values) {
  return some_hold(routine, ivars, count, indices, status, cmp, values, true, true);
}
template <class T>
int test_all(const char* routine, const T* ivars, std::size_t count, const int* status, int cmp,
             T value) {
  return all_hold(routine, ivars, count, status, cmp, &value, false);
}
template <class T>
int test_all_vector(const char* routine, const T* ivars, std::size_t count, const int* status,
                    int cmp, const T* values) {
  return all_hold(routine, ivars, count, status, cmp, values, true);
}
template <class T>
std::size_t test_any(const char* routine, const T* ivars, std::size_t count, const int* status,
                     int cmp, T value) {
  return any_holds(routine, ivars, count, status, cmp, &value, false, false);
}
template <class T>
std::size_t test_any_vector(const char* routine, const T* ivars, std::size_t count,
                            const int* status, int cmp, const T* values) {
  return any_holds(routine, ivars, count, status, cmp, values, true, false);
}
template <class T>
std::size_t test_some(const char* routine, const T* ivars, std::size_t count, std::size_t* indices,
                      const int* status, int cmp, T value) {
  return some_hold(routine, ivars, count, indices, status, cmp, &value, false, false);
}
template <class T>
std::size_t test_some_vector(const char* routine, const T* ivars, std::size_t count,
                             std::size_t* indices, const int* status, int cmp, const T* values) {
  return some_hold(routine, ivars, count, indices, status, cmp, values, true, false);
}

// --- signals -------------------------------------------------------------------------------------

// An atomic, since the word may lie on the GPU.
std::uint64_t signal_fetch(const char* routine, const std::uint64_t* sig_addr) {
  std::uint64_t value = 0;
  if (Call call(routine); call)
    call->amo_bytes(Amo::kFetch, const_cast<std::uint64_t*>(sig_addr), sizeof(value), 0, 0, &value,
                    call->pe())
        .ignore();
  return value;
}

std::uint64_t signal_wait_until(const char* routine, const std::uint64_t* sig_addr, int cmp,
                                std::uint64_t value) {
  const Call call(routine);
  if (!call) return 0;
  return weft::signal_wait_until(call.context(), sig_addr, comparison(cmp), value).value_or(0);
}

}  // namespace
}  // namespace weft::nvshmem

#define WEFT_NVSHMEM_GROUP "wait.def.h"
#define WEFT_NVSHMEM_BOTH WEFT_NVSHMEM_DEFINE
#include <weft/compat/nvshmem/host/routines.def.h>
