// Context: an ordering domain. put, get, atomics, and the fence and quiet that cover them.
//
// One thread at a time uses a context (make one per thread: Runtime::create_context), unless it is
// made shared. Addresses
// named `symmetric` are this PE's own addresses of objects in the symmetric heap; they stand for
// the same object on `pe`. Sizes are in bytes where the name says bytes, else in elements.
//
// Ordering (OpenSHMEM 1.5, 9.10): operations of one context to one PE may be delivered in any
// order until fence() or quiet(). quiet() completes them all. Operations of different contexts
// are never ordered with each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>

#include <weft/amo.hpp>
#include <weft/device/handle.hpp>
#include <weft/signal.hpp>
#include <weft/result.hpp>
#include <weft/target.hpp>
#include <weft/types.hpp>

namespace weft {

class Runtime;

// When a call returns.
enum class Done : std::uint8_t {
  kLocal,  // put: the source may be reused; get and fetch: the result is here
  kLater,  // at the next quiet (the `_nbi` forms)
};

// The routine that failures of one call name, as under a CallerName, for an interface built on
// these calls: it is looked at where a call fails, so that naming it costs nothing before.
struct Caller {
  const char* routine = nullptr;
};

namespace detail {

// How far the shortest calls may go. Kept up to date by libweft. Read and written relaxed: threads
// may share a context, and a stale value only sends a call the long way.
struct Reachable {
  std::size_t bytes = 0;                  // of the heap, that I know to be there: whole pages
  unsigned npes = 0;                      // 0: nothing goes the direct way
  const AdoptedRange* adopted = nullptr;  // never moves
  std::size_t adopted_count = 0;
};

inline constexpr std::size_t kNowhere = ~std::size_t{0};

// The one that all of [symmetric, symmetric + size) lies in; null: none. Relaxed: another thread
// may be changing a range that has nothing to do with the address.
inline const AdoptedRange* adopted_range(const AdoptedRange* ranges, std::size_t count,
                                         const void* symmetric, std::size_t size) {
  for (const AdoptedRange* range = ranges; range != ranges + count; ++range) {
    const std::size_t bytes = __atomic_load_n(&range->bytes, __ATOMIC_RELAXED);
    const std::size_t at =
        reinterpret_cast<std::uintptr_t>(symmetric) -
        reinterpret_cast<std::uintptr_t>(__atomic_load_n(&range->base, __ATOMIC_RELAXED));
    if (at <= bytes && size <= bytes - at) return range;
  }
  return nullptr;
}

inline std::size_t adopted_offset(const AdoptedRange* ranges, std::size_t count,
                                  const void* symmetric, std::size_t size) {
  const AdoptedRange* const range = adopted_range(ranges, count, symmetric, size);
  if (range == nullptr) return kNowhere;
  return range->offset +
         static_cast<std::size_t>(static_cast<const std::byte*>(symmetric) - range->base);
}

// Where mapped memory lies: all that a context's shortest calls read. Made by libweft; what is not
// plain to see here (a peer that is not mapped, WEFT_CHECK=1, a wrong argument) takes the long way.
struct DirectWay {
  std::uintptr_t heap = 0;  // my heap's first byte
  std::byte* const* peer = nullptr;
  const Reachable* reachable = nullptr;

  std::byte* heap_of(int pe) const {
    return static_cast<unsigned>(pe) < __atomic_load_n(&reachable->npes, __ATOMIC_RELAXED)
               ? peer[pe]
               : nullptr;
  }
  std::size_t offset(const void* symmetric, std::size_t size) const {
    const std::size_t at = reinterpret_cast<std::uintptr_t>(symmetric) - heap;
    const std::size_t bytes = __atomic_load_n(&reachable->bytes, __ATOMIC_RELAXED);
    if (at <= bytes && size <= bytes - at) [[likely]]
      return at;
    // Acquire: pairs with the release where libweft counts another range.
    const std::size_t count = __atomic_load_n(&reachable->adopted_count, __ATOMIC_ACQUIRE);
    return adopted_offset(reachable->adopted, count, symmetric, size);
  }
  // An aligned 8-byte word of `pe`, or null. All tests are branches, so that the address waits for
  // none of them: an atomic begins when its address is there, and nothing overlaps it.
  std::uint64_t* word(const void* symmetric, int pe) const {
    const std::size_t at = reinterpret_cast<std::uintptr_t>(symmetric) - heap;
    if (at % sizeof(std::uint64_t) != 0 ||
        at >= __atomic_load_n(&reachable->bytes, __ATOMIC_RELAXED)) [[unlikely]]
      return nullptr;
    std::byte* const base = heap_of(pe);
    return base == nullptr ? nullptr : reinterpret_cast<std::uint64_t*>(base + at);
  }
};

}  // namespace detail

class WEFT_API Context {
 public:
  Context(Context&&) noexcept;
  Context& operator=(Context&&) noexcept;
  ~Context();  // completes what is outstanding, as quiet() does

  int pe() const;
  int npes() const;
  Runtime& runtime() const;

  // From here on threads may use the context at once, also for collectives of different
  // teams. Calls that mapped memory answers cost the same; those of a transport, fence and quiet
  // take turns.
  void share();

  // --- bytes ------------------------------------------------------------------------------
  // Memory of a call that failed may still be read, or written by a get, until the runtime is gone:
  // a network finishes what it has begun.
  //
  // `bytes` from `src` (any memory of mine) to `dst` (symmetric) on `pe`, then `notify` there once
  // all of them are visible. 0 bytes with a notify is a plain signal.
  Status put_bytes(void* dst, const void* src, std::size_t bytes, int pe, Notify notify = none(),
                   Done done = Done::kLocal, Caller caller = {}) {
    return Status(raw_put(dst, src, bytes, pe, notify, done, caller));
  }
  // `bytes` from `src` (symmetric) on `pe` to `dst` (any memory of mine).
  Status get_bytes(void* dst, const void* src, std::size_t bytes, int pe, Done done = Done::kLocal,
                   Caller caller = {}) {
    return Status(raw_get(dst, src, bytes, pe, done, caller));
  }
  // One atomic on the `width`-byte word `dst` (symmetric) of `pe`. `value` and `compare` hold the
  // operand's bits; the old value's bits go to `result` (width bytes; may be null if not fetching).
  Status amo_bytes(Amo amo, void* dst, std::size_t width, std::uint64_t value,
                   std::uint64_t compare, void* result, int pe, Done done = Done::kLocal,
                   Caller caller = {}) {
    // Counters are added to right here: a call alone, which stores its return address, would cost
    // half as much again as the hardware's add, which waits for all stores before it. One that
    // fetches and adds 0 is a read, as in a loop that waits.
    const bool adds =
        amo == Amo::kAdd || (amo == Amo::kFetchAdd && result != nullptr && value != 0);
    if (adds && width == 8) {
      if (std::uint64_t* const word = way_.word(dst, pe)) {
        const std::uint64_t old = __atomic_fetch_add(word, value, __ATOMIC_ACQ_REL);
        if (amo == Amo::kFetchAdd) std::memcpy(result, &old, sizeof(old));
        return Status::ok();
      }
    }
    return Status(raw_amo(amo, dst, width, value, compare, result, pe, done, caller));
  }

  // --- typed put and get ------------------------------------------------------------------
  template <class T>
  Status put(T* dst, const T* src, std::size_t count, int pe, Notify notify = none()) {
    static_assert(is_rma_type<T>, "put moves trivially copyable types");
    return put_bytes(dst, src, bytes_of<T>(count), pe, notify);
  }
  template <class T>
  Status put_nbi(T* dst, const T* src, std::size_t count, int pe, Notify notify = none()) {
    static_assert(is_rma_type<T>, "put moves trivially copyable types");
    return put_bytes(dst, src, bytes_of<T>(count), pe, notify, Done::kLater);
  }
  template <class T>
  Status get(T* dst, const T* src, std::size_t count, int pe) {
    static_assert(is_rma_type<T>, "get moves trivially copyable types");
    return get_bytes(dst, src, bytes_of<T>(count), pe);
  }
  template <class T>
  Status get_nbi(T* dst, const T* src, std::size_t count, int pe) {
    static_assert(is_rma_type<T>, "get moves trivially copyable types");
    return get_bytes(dst, src, bytes_of<T>(count), pe, Done::kLater);
  }
  template <class T>
  Status p(T* dst, T value, int pe) {
    static_assert(is_rma_type<T>, "p moves trivially copyable types");
    return put_bytes(dst, &value, sizeof(T), pe);
  }
  template <class T>
  Result<T> g(const T* src, int pe) {
    static_assert(is_rma_type<T>, "g moves trivially copyable types");
    T value{};
    Status status = get_bytes(&value, src, sizeof(T), pe);
    if (!status) return status;
    return value;
  }
  // Strided: element i of `count` goes from src[i * src_stride] to dst[i * dst_stride].
  template <class T>
  Status iput(T* dst, const T* src, std::ptrdiff_t dst_stride, std::ptrdiff_t src_stride,
              std::size_t count, int pe) {
    static_assert(is_rma_type<T>, "iput moves trivially copyable types");
    return put_strided(dst, src, dst_stride, src_stride, sizeof(T), count, pe);
  }
  template <class T>
  Status iget(T* dst, const T* src, std::ptrdiff_t dst_stride, std::ptrdiff_t src_stride,
              std::size_t count, int pe) {
    static_assert(is_rma_type<T>, "iget moves trivially copyable types");
    return get_strided(dst, src, dst_stride, src_stride, sizeof(T), count, pe);
  }
  // The same for elements of `element` bytes; strides count elements and are at least 1.
  Status put_strided(void* dst, const void* src, std::ptrdiff_t dst_stride,
                     std::ptrdiff_t src_stride, std::size_t element, std::size_t count, int pe);
  Status get_strided(void* dst, const void* src, std::ptrdiff_t dst_stride,
                     std::ptrdiff_t src_stride, std::size_t element, std::size_t count, int pe);
  // The same for `count` blocks of `block` elements each; strides, in elements, are from the start
  // of a block to the start of the next.
  Status put_blocks(void* dst, const void* src, std::ptrdiff_t dst_stride,
                    std::ptrdiff_t src_stride, std::size_t element, std::size_t block,
                    std::size_t count, int pe);
  Status get_blocks(void* dst, const void* src, std::ptrdiff_t dst_stride,
                    std::ptrdiff_t src_stride, std::size_t element, std::size_t block,
                    std::size_t count, int pe);

  // --- atomics ----------------------------------------------------------------------------
  template <class T>
  Status atomic_set(T* dst, T value, int pe) {
    return amo<is_xamo_type<T>>(Amo::kSet, dst, value, pe);
  }
  template <class T>
  Status atomic_add(T* dst, T value, int pe) {
    return amo<is_amo_type<T>>(Amo::kAdd, dst, value, pe);
  }
  template <class T>
  Status atomic_inc(T* dst, int pe) {
    return amo<is_amo_type<T>>(Amo::kAdd, dst, T{1}, pe);
  }
  template <class T>
  Status atomic_and(T* dst, T value, int pe) {
    return amo<is_bitwise_amo_type<T>>(Amo::kAnd, dst, value, pe);
  }
  template <class T>
  Status atomic_or(T* dst, T value, int pe) {
    return amo<is_bitwise_amo_type<T>>(Amo::kOr, dst, value, pe);
  }
  template <class T>
  Status atomic_xor(T* dst, T value, int pe) {
    return amo<is_bitwise_amo_type<T>>(Amo::kXor, dst, value, pe);
  }
  template <class T>
  Result<T> atomic_fetch(const T* src, int pe) {
    return amo_fetch<is_xamo_type<T>>(Amo::kFetch, const_cast<T*>(src), T{}, T{}, pe);
  }
  template <class T>
  Result<T> atomic_swap(T* dst, T value, int pe) {
    return amo_fetch<is_xamo_type<T>>(Amo::kSwap, dst, value, T{}, pe);
  }
  template <class T>
  Result<T> atomic_compare_swap(T* dst, T compare, T value, int pe) {
    return amo_fetch<is_amo_type<T>>(Amo::kCompareSwap, dst, value, compare, pe);
  }
  template <class T>
  Result<T> atomic_fetch_add(T* dst, T value, int pe) {
    return amo_fetch<is_amo_type<T>>(Amo::kFetchAdd, dst, value, T{}, pe);
  }
  template <class T>
  Result<T> atomic_fetch_inc(T* dst, int pe) {
    return amo_fetch<is_amo_type<T>>(Amo::kFetchAdd, dst, T{1}, T{}, pe);
  }
  template <class T>
  Result<T> atomic_fetch_and(T* dst, T value, int pe) {
    return amo_fetch<is_bitwise_amo_type<T>>(Amo::kFetchAnd, dst, value, T{}, pe);
  }
  template <class T>
  Result<T> atomic_fetch_or(T* dst, T value, int pe) {
    return amo_fetch<is_bitwise_amo_type<T>>(Amo::kFetchOr, dst, value, T{}, pe);
  }
  template <class T>
  Result<T> atomic_fetch_xor(T* dst, T value, int pe) {
    return amo_fetch<is_bitwise_amo_type<T>>(Amo::kFetchXor, dst, value, T{}, pe);
  }
  // Any fetching atomic without waiting: the old value is in *result after the next quiet().
  template <class T>
  Status atomic_nbi(Amo amo_kind, T* result, T* dst, T value, T compare, int pe) {
    static_assert(is_xamo_type<T>, "atomics take 4- and 8-byte integers, float and double");
    return amo_bytes(amo_kind, dst, sizeof(T), bits(value), bits(compare), result, pe,
                     Done::kLater);
  }

  // --- signals ----------------------------------------------------------------------------
  Status put_signal(void* dst, const void* src, std::size_t bytes, Notify notify, int pe) {
    return put_bytes(dst, src, bytes, pe, notify);
  }
  Status signal(Notify notify, int pe) { return put_bytes(nullptr, nullptr, 0, pe, notify); }

  // --- ordering ---------------------------------------------------------------------------
  // Every operation before it to a PE is delivered there before any operation after it.
  Status fence(Caller caller = {});
  Status fence(int pe);
  // Every operation before it is complete and visible; every kLater result is here. Returns the
  // first failure since the last quiet.
  Status quiet(Caller caller = {});
  Status quiet(int pe);

  // --- the direct way ---------------------------------------------------------------------
  // Where `symmetric` of `pe` can be loaded and stored directly; null if it cannot.
  void* ptr(const void* symmetric, int pe) const;
  // The handle that a kernel gets. Operations that kernels issue are ordered by the kernel's own
  // fence and quiet, not by this object's.
  Result<DeviceContext> device();
  // The same in memory that kernels read: GPU memory if they run there. For kernels that cannot
  // take a struct (weft/device/bitcode.h). Lives as long as this context; the same at each call.
  Result<const DeviceContext*> device_pointer();

  struct [[gnu::visibility("hidden")]] Impl;
  Impl& impl() const { return *impl_; }

 private:
  friend class Runtime;
  explicit Context(std::unique_ptr<Impl> impl);

  // The hot calls return a Status in a register rather than in memory: the one pointer that it is.
  using Raw = Status::Rep*;
  Raw raw_put(void* dst, const void* src, std::size_t bytes, int pe, const Notify& notify,
              Done done, Caller caller);
  Raw raw_get(void* dst, const void* src, std::size_t bytes, int pe, Done done, Caller caller);
  Raw raw_amo(Amo amo, void* dst, std::size_t width, std::uint64_t value, std::uint64_t compare,
              void* result, int pe, Done done, Caller caller);

  template <class T>
  static std::uint64_t bits(T value) {
    std::uint64_t word = 0;
    std::memcpy(&word, &value, sizeof(T));
    return word;
  }
  template <bool kAllowed, class T>
  Status amo(Amo kind, T* dst, T value, int pe) {
    static_assert(kAllowed, "this atomic does not exist for this type (see weft/types.hpp)");
    return amo_bytes(kind, dst, sizeof(T), bits(value), 0, nullptr, pe);
  }
  template <bool kAllowed, class T>
  Result<T> amo_fetch(Amo kind, T* dst, T value, T compare, int pe) {
    static_assert(kAllowed, "this atomic does not exist for this type (see weft/types.hpp)");
    T old{};
    Status status = amo_bytes(kind, dst, sizeof(T), bits(value), bits(compare), &old, pe);
    if (!status) return status;
    return old;
  }

  std::unique_ptr<Impl> impl_;
  detail::DirectWay way_;  // for as long as impl_ lives
};

}  // namespace weft
