// OnStream: operations queued on a stream, where they run in order with kernels and copies that are
// queued there. A call returns when the operation is queued; its Status says whether it could be.
// A later failure is reported as in kernels: printed, and returned by Runtime::health().
//
//   weft::OnStream queue(runtime.context(), stream);    // a cudaStream_t
//   queue.put(dst, src, count, right, weft::set(signal, round));
//   queue.wait_until(signal, weft::Cmp::kGe, round);
//   kernel<<<..., stream>>>(...);
//   queue.barrier(runtime.world());
//
// Symmetric memory is what kernels take (Runtime::allocate_device); the other side of a put or get
// is any memory that the stream's device reaches. Arrays and buffers must stay as they are until
// the operation has run. On GPUs copies are carried out by copy engines, and single signals and
// waits by the stream itself, so that neither takes room on the GPU; the rest are short kernels.
// All of it can be captured in a graph and replayed: each replay moves what the memory holds then.
//
// The names, arguments and promises are those of weft/context.hpp, weft/wait.hpp and
// weft/collective.hpp. Streams of one PE that run collectives at once have a team each.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/collective.hpp>
#include <weft/context.hpp>
#include <weft/signal.hpp>
#include <weft/status.hpp>
#include <weft/stream.hpp>
#include <weft/team.hpp>
#include <weft/types.hpp>
#include <weft/wait.hpp>

namespace weft {

class WEFT_API OnStream {
 public:
  // Both outlive the object; several may have one stream.
  OnStream(Context& context, Stream stream) : context_(&context), stream_(stream) {}
  Stream stream() const { return stream_; }

  // --- put, get, signal ----------------------------------------------------------------------
  // Complete, at the target too, before what is queued behind begins.
  Status put_bytes(void* dst, const void* src, std::size_t bytes, int pe, Notify notify = none());
  Status get_bytes(void* dst, const void* src, std::size_t bytes, int pe);
  template <class T>
  Status put(T* dst, const T* src, std::size_t count, int pe, Notify notify = none()) {
    static_assert(is_rma_type<T>, "put moves trivially copyable types");
    return put_bytes(dst, src, bytes_of<T>(count), pe, notify);
  }
  template <class T>
  Status get(T* dst, const T* src, std::size_t count, int pe) {
    static_assert(is_rma_type<T>, "get moves trivially copyable types");
    return get_bytes(dst, src, bytes_of<T>(count), pe);
  }
  Status signal(Notify notify, int pe) { return put_bytes(nullptr, nullptr, 0, pe, notify); }
  // An atomic without a result on a word of `pe`.
  Status amo_bytes(Amo amo, void* dst, std::size_t width, std::uint64_t value, int pe);

  // --- waits on my own words -----------------------------------------------------------------
  // Work queued behind a wait begins when the condition holds, and sees what came before the
  // signal. When WEFT_WAIT_TIMEOUT has passed, that is reported; a wait by the stream itself goes
  // on. Such a wait takes 8-byte integers, compares with kEq, kGe or kGt, and takes a word that is
  // up to 2^63 - 1 above the value for greater, one further above for smaller.
  template <class T>
  Status wait_until(const T* word, Cmp cmp, T value) {
    return wait_words(
        detail::wait_args(word, 1, nullptr, cmp, &value, false, WaitArgs::Form::kAll, nullptr));
  }
  // `status` and `values` lie where kernels reach them.
  template <class T>
  Status wait_until_all(const T* words, std::size_t count, const int* status, Cmp cmp, T value) {
    return wait_words(
        detail::wait_args(words, count, status, cmp, &value, false, WaitArgs::Form::kAll, nullptr));
  }
  template <class T>
  Status wait_until_all_vector(const T* words, std::size_t count, const int* status, Cmp cmp,
                               const T* values) {
    return wait_words(
        detail::wait_args(words, count, status, cmp, values, true, WaitArgs::Form::kAll, nullptr));
  }
  // kAll only; `indices` and `seen` are not used.
  Status wait_words(const WaitArgs& args);

  // --- ordering ------------------------------------------------------------------------------
  // All that was queued before is complete everywhere before what is queued behind begins.
  Status quiet();

  // --- collectives ---------------------------------------------------------------------------
  // sync: what is queued behind begins when every member's stream has come here. barrier: and all
  // that kernels and operations queued before it have put is complete everywhere.
  Status sync(const Team& team);
  Status barrier(const Team& team);
  Status broadcast_bytes(const Team& team, void* dst, const void* src, std::size_t bytes, int root,
                         bool root_too = true);
  Status fcollect_bytes(const Team& team, void* dst, const void* src, std::size_t bytes);
  Status collect_bytes(const Team& team, void* dst, const void* src, std::size_t bytes);
  Status alltoall_bytes(const Team& team, void* dst, const void* src, std::size_t bytes);
  Status alltoalls_bytes(const Team& team, void* dst, const void* src, std::ptrdiff_t dst_stride,
                         std::ptrdiff_t src_stride, std::size_t element, std::size_t count);
  // Integers and floats of up to 8 bytes.
  Status reduce_elements(const Team& team, void* dst, const void* src, std::size_t count,
                         Element element, ReduceOp op);
  Status reducescatter_elements(const Team& team, void* dst, const void* src, std::size_t count,
                                Element element, ReduceOp op);
  Status scan_elements(const Team& team, void* dst, const void* src, std::size_t count,
                       Element element, ReduceOp op, bool inclusive);
  template <class T>
  Status broadcast(const Team& team, T* dst, const T* src, std::size_t count, int root) {
    static_assert(is_rma_type<T>, "broadcast moves trivially copyable types");
    return broadcast_bytes(team, dst, src, bytes_of<T>(count), root);
  }
  template <class T>
  Status fcollect(const Team& team, T* dst, const T* src, std::size_t count) {
    static_assert(is_rma_type<T>, "fcollect moves trivially copyable types");
    return fcollect_bytes(team, dst, src, bytes_of<T>(count));
  }
  template <class T>
  Status collect(const Team& team, T* dst, const T* src, std::size_t count) {
    static_assert(is_rma_type<T>, "collect moves trivially copyable types");
    return collect_bytes(team, dst, src, bytes_of<T>(count));
  }
  template <class T>
  Status alltoall(const Team& team, T* dst, const T* src, std::size_t count) {
    static_assert(is_rma_type<T>, "alltoall moves trivially copyable types");
    return alltoall_bytes(team, dst, src, bytes_of<T>(count));
  }
  template <class T>
  Status alltoalls(const Team& team, T* dst, const T* src, std::ptrdiff_t dst_stride,
                   std::ptrdiff_t src_stride, std::size_t count) {
    static_assert(is_rma_type<T>, "alltoalls moves trivially copyable types");
    return alltoalls_bytes(team, dst, src, dst_stride, src_stride, sizeof(T), count);
  }
  template <class T>
  Status reduce(const Team& team, T* dst, const T* src, std::size_t count, ReduceOp op) {
    return reduce_elements(team, dst, src, count, element_of<T>(), op);
  }
  template <class T>
  Status reducescatter(const Team& team, T* dst, const T* src, std::size_t count, ReduceOp op) {
    return reducescatter_elements(team, dst, src, count, element_of<T>(), op);
  }
  template <class T>
  Status scan_inclusive(const Team& team, T* dst, const T* src, std::size_t count,
                        ReduceOp op = ReduceOp::kSum) {
    return scan_elements(team, dst, src, count, element_of<T>(), op, true);
  }
  template <class T>
  Status scan_exclusive(const Team& team, T* dst, const T* src, std::size_t count,
                        ReduceOp op = ReduceOp::kSum) {
    return scan_elements(team, dst, src, count, element_of<T>(), op, false);
  }

 private:
  Context* context_;
  Stream stream_;
};

}  // namespace weft
