// The waits and tests of OpenSHMEM and NVSHMEM, on the forms of weft/wait.hpp.
#pragma once

#include <weft/wait.hpp>

#include <cstddef>
#include <cstdint>

namespace weft {

// The bodies of wait.def.h. `Call` is one call of a routine, as in `const Call call(routine)`:
// false, and reported, if it may not go on, else it has a context(); settle(failure) returns after
// a call that was wrong, and ends the job after any other failure. `kComparison` is what the
// library's numbers of comparisons mean; what is none of them, the wait refuses.
template <class Call, Cmp (*kComparison)(int)>
struct WaitForms {
  template <class T>
  static void wait_until(const char* routine, const T* ivar, int cmp, T value) {
    wait_until_all(routine, ivar, 1, nullptr, cmp, value);
  }
  template <class T>
  static int test(const char* routine, const T* ivar, int cmp, T value) {
    return test_all(routine, ivar, 1, nullptr, cmp, value);
  }

  // --- several words, and one value for all (vector: one for each) -------------------------------

  template <class T>
  static void wait_until_all(const char* routine, const T* ivars, std::size_t count,
                             const int* status, int cmp, T value) {
    wait_all(routine, ivars, count, status, cmp, &value, false);
  }
  template <class T>
  static void wait_until_all_vector(const char* routine, const T* ivars, std::size_t count,
                                    const int* status, int cmp, const T* values) {
    wait_all(routine, ivars, count, status, cmp, values, true);
  }
  template <class T>
  static std::size_t wait_until_any(const char* routine, const T* ivars, std::size_t count,
                                    const int* status, int cmp, T value) {
    return any_holds(routine, ivars, count, status, cmp, &value, false, true);
  }
  template <class T>
  static std::size_t wait_until_any_vector(const char* routine, const T* ivars, std::size_t count,
                                           const int* status, int cmp, const T* values) {
    return any_holds(routine, ivars, count, status, cmp, values, true, true);
  }
  template <class T>
  static std::size_t wait_until_some(const char* routine, const T* ivars, std::size_t count,
                                     std::size_t* indices, const int* status, int cmp, T value) {
    return some_hold(routine, ivars, count, indices, status, cmp, &value, false, true);
  }
  template <class T>
  static std::size_t wait_until_some_vector(const char* routine, const T* ivars, std::size_t count,
                                            std::size_t* indices, const int* status, int cmp,
                                            const T* values) {
    return some_hold(routine, ivars, count, indices, status, cmp, values, true, true);
  }
  template <class T>
  static int test_all(const char* routine, const T* ivars, std::size_t count, const int* status,
                      int cmp, T value) {
    return all_hold(routine, ivars, count, status, cmp, &value, false);
  }
  template <class T>
  static int test_all_vector(const char* routine, const T* ivars, std::size_t count,
                             const int* status, int cmp, const T* values) {
    return all_hold(routine, ivars, count, status, cmp, values, true);
  }
  template <class T>
  static std::size_t test_any(const char* routine, const T* ivars, std::size_t count,
                              const int* status, int cmp, T value) {
    return any_holds(routine, ivars, count, status, cmp, &value, false, false);
  }
  template <class T>
  static std::size_t test_any_vector(const char* routine, const T* ivars, std::size_t count,
                                     const int* status, int cmp, const T* values) {
    return any_holds(routine, ivars, count, status, cmp, values, true, false);
  }
  template <class T>
  static std::size_t test_some(const char* routine, const T* ivars, std::size_t count,
                               std::size_t* indices, const int* status, int cmp, T value) {
    return some_hold(routine, ivars, count, indices, status, cmp, &value, false, false);
  }
  template <class T>
  static std::size_t test_some_vector(const char* routine, const T* ivars, std::size_t count,
                                      std::size_t* indices, const int* status, int cmp,
                                      const T* values) {
    return some_hold(routine, ivars, count, indices, status, cmp, values, true, false);
  }

  static std::uint64_t signal_wait_until(const char* routine, const std::uint64_t* sig_addr,
                                         int cmp, std::uint64_t value) {
    const Call call(routine);
    if (!call) return 0;
    const auto seen = weft::signal_wait_until(call.context(), sig_addr, kComparison(cmp), value);
    if (!seen) call.settle(seen.status());
    return seen.value_or(0);
  }

 private:
  // One wait or test; how many words satisfied, 0 if it failed.
  static std::size_t look(const char* routine, const WaitArgs& args, bool wait) {
    const Call call(routine);
    if (!call) return 0;
    const auto found = wait_words(call.context(), args, wait);
    if (!found) call.settle(found.status());
    return found.value_or(0);
  }

  template <class T>
  static WaitArgs arguments(const T* words, std::size_t count, const int* status, int cmp,
                            const T* values, bool vector, WaitArgs::Form form,
                            std::size_t* indices) {
    return detail::wait_args(words, count, status, kComparison(cmp), values, vector, form, indices);
  }

  template <class T>
  static void wait_all(const char* routine, const T* ivars, std::size_t count, const int* status,
                       int cmp, const T* values, bool vector) {
    look(routine,
         arguments(ivars, count, status, cmp, values, vector, WaitArgs::Form::kAll, nullptr), true);
  }
  template <class T>
  static int all_hold(const char* routine, const T* ivars, std::size_t count, const int* status,
                      int cmp, const T* values, bool vector) {
    if (count == 0) return 1;
    return look(routine,
                arguments(ivars, count, status, cmp, values, vector, WaitArgs::Form::kAll, nullptr),
                false) == count;
  }
  template <class T>
  static std::size_t any_holds(const char* routine, const T* ivars, std::size_t count,
                               const int* status, int cmp, const T* values, bool vector,
                               bool wait) {
    std::size_t index = SIZE_MAX;
    look(routine,
         arguments(ivars, count, status, cmp, values, vector, WaitArgs::Form::kAny, &index), wait);
    return index;
  }
  template <class T>
  static std::size_t some_hold(const char* routine, const T* ivars, std::size_t count,
                               std::size_t* indices, const int* status, int cmp, const T* values,
                               bool vector, bool wait) {
    return look(
        routine,
        arguments(ivars, count, status, cmp, values, vector, WaitArgs::Form::kSome, indices), wait);
  }
};

}  // namespace weft
