// dev::Context: put, get, atomics, signals and waits inside kernels. The contract; bodies are in
// device/weft/dev/.
//
// `scope` is Thread{}, Warp{} or Block{} (scope.hpp); every thread of it makes the call, with the
// same arguments, and all act as one: the call sees what any of them did before it, and what it
// promises on return holds for each. Names, addresses and ordering are those of the host's
// weft::Context (weft/context.hpp): `dst` of a put and `src` of a get are my own addresses of
// symmetric objects. To a peer whose heap is not mapped (ptr() is null) the host carries operations
// out; the other address of a put or get must then be memory that the host can reach, too: the
// heap, or on the CPU target any memory.
//
// Barriers of the scope: each call begins with one, and put, get, iput and iget end with one, also
// those of no elements. put_nbi and get_nbi have none at their end, and a put with a notify has one
// between its bytes and the signal but none behind the signal. So where one thread fences, signals
// or says quiet for the others of its scope, scope.sync() must stand between their nonblocking call
// and that; fence(scope) and quiet(scope) begin with it.
//
// Device calls return no Status: the first failure of a kernel fills the runtime's fault record,
// which the host prints and Runtime::health() returns. A refused call does nothing; with
// WEFT_CHECK=1 every PE number, range and alignment is verified.
//
// Ordering: fence() and quiet() cover the operations of the calling thread and, when given a scope,
// of all its threads. Puts, single values, atomics and signals are not ordered with each other
// otherwise; a put with a notify is complete in itself: who sees the signal, through a wait, a test
// or a fetching atomic, sees the data.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device/handle.hpp>
#include <weft/device/scope.hpp>
#include <weft/signal.hpp>
#include <weft/target.hpp>
#include <weft/types.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {

class Context {
 public:
  // In the thread that calls.
  WEFT_DEVICE_CALL explicit Context(const DeviceContext& handle);

  WEFT_DEVICE int pe() const { return h_.pe; }
  WEFT_DEVICE int npes() const { return h_.npes; }
  WEFT_DEVICE const DeviceContext& handle() const { return h_; }
  // Where my symmetric address `symmetric` of `pe` can be loaded and stored directly, or null.
  template <class T>
  WEFT_DEVICE_CALL T* ptr(T* symmetric, int pe) const;

  // --- put and get: `count` elements -------------------------------------------------------
  // Return when the source may be reused (put) or the result is here (get). `dst` and `src` do not
  // overlap. One aligned word of 1, 2, 4 or 8 bytes is stored at once, so it may be waited for.
  template <class Scope, class T>
  WEFT_DEVICE_CALL void put(Scope scope, T* dst, const T* src, std::size_t count, int pe,
                            Notify notify = none()) const;
  template <class Scope, class T>
  WEFT_DEVICE_CALL void get(Scope scope, T* dst, const T* src, std::size_t count, int pe) const;
  // May return before that; quiet() then says so.
  template <class Scope, class T>
  WEFT_DEVICE_CALL void put_nbi(Scope scope, T* dst, const T* src, std::size_t count, int pe,
                                Notify notify = none()) const;
  template <class Scope, class T>
  WEFT_DEVICE_CALL void get_nbi(Scope scope, T* dst, const T* src, std::size_t count, int pe) const;
  // Element i goes from src[i * src_stride] to dst[i * dst_stride]; strides are at least 1.
  template <class Scope, class T>
  WEFT_DEVICE_CALL void iput(Scope scope, T* dst, const T* src, std::ptrdiff_t dst_stride,
                             std::ptrdiff_t src_stride, std::size_t count, int pe) const;
  template <class Scope, class T>
  WEFT_DEVICE_CALL void iget(Scope scope, T* dst, const T* src, std::ptrdiff_t dst_stride,
                             std::ptrdiff_t src_stride, std::size_t count, int pe) const;
  // One value, by one thread. A T of 1, 2, 4 or 8 bytes that is aligned to its size is stored and
  // loaded as one word.
  template <class T>
  WEFT_DEVICE_CALL void p(T* dst, T value, int pe) const;
  template <class T>
  WEFT_DEVICE_CALL T g(const T* src, int pe) const;

  // --- atomics, by one thread ---------------------------------------------------------------
  // Atomics that return a value acquire: a thread that gets a value which was written after a fence
  // sees what came before that fence.
  template <class T>
  WEFT_DEVICE_CALL void atomic_set(T* dst, T value, int pe) const;
  template <class T>
  WEFT_DEVICE_CALL void atomic_add(T* dst, T value, int pe) const;
  template <class T>
  WEFT_DEVICE_CALL void atomic_inc(T* dst, int pe) const;
  template <class T>
  WEFT_DEVICE_CALL void atomic_and(T* dst, T value, int pe) const;
  template <class T>
  WEFT_DEVICE_CALL void atomic_or(T* dst, T value, int pe) const;
  template <class T>
  WEFT_DEVICE_CALL void atomic_xor(T* dst, T value, int pe) const;
  template <class T>
  WEFT_DEVICE_CALL T atomic_fetch(const T* src, int pe) const;
  template <class T>
  WEFT_DEVICE_CALL T atomic_swap(T* dst, T value, int pe) const;
  template <class T>
  WEFT_DEVICE_CALL T atomic_compare_swap(T* dst, T compare, T value, int pe) const;
  template <class T>
  WEFT_DEVICE_CALL T atomic_fetch_add(T* dst, T value, int pe) const;
  template <class T>
  WEFT_DEVICE_CALL T atomic_fetch_inc(T* dst, int pe) const;
  template <class T>
  WEFT_DEVICE_CALL T atomic_fetch_and(T* dst, T value, int pe) const;
  template <class T>
  WEFT_DEVICE_CALL T atomic_fetch_or(T* dst, T value, int pe) const;
  template <class T>
  WEFT_DEVICE_CALL T atomic_fetch_xor(T* dst, T value, int pe) const;

  // --- signals and waits on my own words ----------------------------------------------------
  // Sets or adds to a signal word of `pe`. Not ordered after earlier puts unless fence() is
  // between.
  WEFT_DEVICE_CALL void signal(Notify notify, int pe) const;
  // Waits until `*word cmp value`; then every byte put before the signal that made it true is
  // visible to all threads of the scope. False: the deadline passed (the fault record says where).
  template <class Scope, class T>
  WEFT_DEVICE_CALL bool wait_until(Scope scope, const T* word, Cmp cmp, T value) const;
  // The forms of weft/wait.hpp; `status[i] != 0` leaves word i out, null leaves none out.
  template <class Scope, class T>
  WEFT_DEVICE_CALL bool wait_until_all(Scope scope, const T* words, std::size_t count,
                                       const int* status, Cmp cmp, T value) const;
  template <class Scope, class T>
  WEFT_DEVICE_CALL bool wait_until_all_vector(Scope scope, const T* words, std::size_t count,
                                              const int* status, Cmp cmp, const T* values) const;
  // Index of a word that satisfies, the same for all threads of the scope; ~0 if none takes part
  // or the deadline passed.
  template <class Scope, class T>
  WEFT_DEVICE_CALL std::size_t wait_until_any(Scope scope, const T* words, std::size_t count,
                                              const int* status, Cmp cmp, T value) const;
  template <class Scope, class T>
  WEFT_DEVICE_CALL std::size_t wait_until_any_vector(Scope scope, const T* words, std::size_t count,
                                                     const int* status, Cmp cmp,
                                                     const T* values) const;
  // How many satisfy (0: none takes part, or the deadline passed); indices has room for `count`.
  template <class Scope, class T>
  WEFT_DEVICE_CALL std::size_t wait_until_some(Scope scope, const T* words, std::size_t count,
                                               std::size_t* indices, const int* status, Cmp cmp,
                                               T value) const;
  template <class Scope, class T>
  WEFT_DEVICE_CALL std::size_t wait_until_some_vector(Scope scope, const T* words,
                                                      std::size_t count, std::size_t* indices,
                                                      const int* status, Cmp cmp,
                                                      const T* values) const;
  // One look, no waiting; by one thread.
  template <class T>
  WEFT_DEVICE_CALL bool test(const T* word, Cmp cmp, T value) const;
  template <class T>
  WEFT_DEVICE_CALL bool test_all(const T* words, std::size_t count, const int* status, Cmp cmp,
                                 T value) const;
  template <class T>
  WEFT_DEVICE_CALL bool test_all_vector(const T* words, std::size_t count, const int* status,
                                        Cmp cmp, const T* values) const;
  template <class T>
  WEFT_DEVICE_CALL std::size_t test_any(const T* words, std::size_t count, const int* status,
                                        Cmp cmp, T value) const;
  template <class T>
  WEFT_DEVICE_CALL std::size_t test_any_vector(const T* words, std::size_t count, const int* status,
                                               Cmp cmp, const T* values) const;
  template <class T>
  WEFT_DEVICE_CALL std::size_t test_some(const T* words, std::size_t count, std::size_t* indices,
                                         const int* status, Cmp cmp, T value) const;
  template <class T>
  WEFT_DEVICE_CALL std::size_t test_some_vector(const T* words, std::size_t count,
                                                std::size_t* indices, const int* status, Cmp cmp,
                                                const T* values) const;
  WEFT_DEVICE_CALL std::uint64_t signal_fetch(const std::uint64_t* signal) const;

  // --- ordering ------------------------------------------------------------------------------
  template <class Scope>
  WEFT_DEVICE_CALL void fence(Scope scope) const;
  template <class Scope>
  WEFT_DEVICE_CALL void quiet(Scope scope) const;
  // The same, only for what this thread has outstanding to one PE.
  WEFT_DEVICE_CALL void fence_pe(int pe) const;
  WEFT_DEVICE_CALL void quiet_pe(int pe) const;

  // For Weft's own calls: the scope, without asking anew which of its threads I am.
  template <class Scope>
  WEFT_DEVICE_CALL auto known(Scope scope) const;

 private:
  DeviceContext h_;
  unsigned thread_;  // my rank in the block
};

}  // namespace WEFT_TARGET
}  // namespace weft::dev
