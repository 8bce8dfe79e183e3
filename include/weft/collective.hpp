// Collectives over a team, called by one host thread of every member, in the same order on all.
//
// `dst` and `src` are symmetric. A member's dst is not written before it has made the call. On
// return my dst is complete and my src may be reused; other members may still be inside. `count` is
// in elements of T, per PE where the result has one block per PE. Only sync and barrier promise
// that all members have come.
//
// dst == src is allowed for reductions and scans, and on the root of a broadcast; any other overlap
// is an error (WEFT_CHECK=1 reports it). Sums and products are formed in rank order, so the result
// is the same on every PE and in every run; integers wrap around. Complex numbers have sum and
// prod. Floats of two bytes (weft/small_float.hpp) are rounded after each step. A NaN stays in sums
// and products; minimum and maximum keep what they have so far unless the next is smaller or
// larger, so that of NaNs only that of the first rank stays.
//
// A count of zero moves nothing, but is a call like any other: all members make it (null pointers
// are fine then). Arguments that are wrong in the same way on all members are refused on all, and
// the team goes on. When a wait fails (deadline, lost peer) the members are out of step: the team
// is given up, and later collectives on it fail at once. WEFT_CHECK=1 also compares the calls of
// all members. A PE that is not a member gets kInvalidArgument.
// Source: OpenSHMEM 1.5, 9.9; scans: OpenSHMEM 1.6.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <weft/context.hpp>
#include <weft/reduce_op.hpp>
#include <weft/status.hpp>
#include <weft/team.hpp>
#include <weft/types.hpp>

namespace weft {

// Element type of a reduction as a value; one row per arithmetic representation.
enum class Element : std::uint8_t {
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kHalf,
  kBfloat16,
  kFloat,
  kDouble,
  kLongDouble,
  kComplexFloat,
  kComplexDouble,
};

template <class T>
inline constexpr bool is_complex_type =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

template <class T>
constexpr Element element_of() {
  static_assert(is_reduce_type<T> || is_complex_type<T>,
                "reductions take integers, floats and complex numbers");
  if constexpr (SmallFloat<T>::value)
    return std::is_same_v<typename SmallFloat<T>::Format, Half> ? Element::kHalf
                                                                : Element::kBfloat16;
  else if constexpr (std::is_same_v<T, std::complex<float>>)
    return Element::kComplexFloat;
  else if constexpr (std::is_same_v<T, std::complex<double>>)
    return Element::kComplexDouble;
  else if constexpr (std::is_same_v<T, float>)
    return Element::kFloat;
  else if constexpr (std::is_same_v<T, double>)
    return Element::kDouble;
  else if constexpr (std::is_same_v<T, long double>)
    return Element::kLongDouble;
  else if constexpr (std::is_signed_v<T>)
    return sizeof(T) == 1   ? Element::kInt8
           : sizeof(T) == 2 ? Element::kInt16
           : sizeof(T) == 4 ? Element::kInt32
                            : Element::kInt64;
  else
    return sizeof(T) == 1   ? Element::kUint8
           : sizeof(T) == 2 ? Element::kUint16
           : sizeof(T) == 4 ? Element::kUint32
                            : Element::kUint64;
}

// sync: every member has arrived. barrier: and all puts of `ctx` before it are complete everywhere.
WEFT_API Status sync(Context& ctx, const Team& team);
WEFT_API Status barrier(Context& ctx, const Team& team);

// The bytes forms; every typed call below is one call of these. Without `root_too` (the same on
// all) a broadcast leaves the root's own dst as it is, as active sets want it.
WEFT_API Status broadcast_bytes(Context& ctx, const Team& team, void* dst, const void* src,
                                std::size_t bytes, int root, bool root_too = true);
WEFT_API Status fcollect_bytes(Context& ctx, const Team& team, void* dst, const void* src,
                               std::size_t bytes);
WEFT_API Status collect_bytes(Context& ctx, const Team& team, void* dst, const void* src,
                              std::size_t bytes);
WEFT_API Status alltoall_bytes(Context& ctx, const Team& team, void* dst, const void* src,
                               std::size_t bytes);
WEFT_API Status alltoalls_bytes(Context& ctx, const Team& team, void* dst, const void* src,
                                std::ptrdiff_t dst_stride, std::ptrdiff_t src_stride,
                                std::size_t element, std::size_t count);
WEFT_API Status reduce_elements(Context& ctx, const Team& team, void* dst, const void* src,
                                std::size_t count, Element element, ReduceOp op);
WEFT_API Status reducescatter_elements(Context& ctx, const Team& team, void* dst, const void* src,
                                       std::size_t count, Element element, ReduceOp op);
WEFT_API Status scan_elements(Context& ctx, const Team& team, void* dst, const void* src,
                              std::size_t count, Element element, ReduceOp op, bool inclusive);

// `count` elements of `src` on rank `root` to `dst` of every member, root included.
template <class T>
Status broadcast(Context& ctx, const Team& team, T* dst, const T* src, std::size_t count,
                 int root) {
  static_assert(is_rma_type<T>, "broadcast moves trivially copyable types");
  return broadcast_bytes(ctx, team, dst, src, bytes_of<T>(count), root);
}
// dst[rank * count ...] = src of that rank; the same count on all.
template <class T>
Status fcollect(Context& ctx, const Team& team, T* dst, const T* src, std::size_t count) {
  static_assert(is_rma_type<T>, "fcollect moves trivially copyable types");
  return fcollect_bytes(ctx, team, dst, src, bytes_of<T>(count));
}
// The same with a count of its own on each member (0 allowed); blocks follow in rank order.
template <class T>
Status collect(Context& ctx, const Team& team, T* dst, const T* src, std::size_t count) {
  static_assert(is_rma_type<T>, "collect moves trivially copyable types");
  return collect_bytes(ctx, team, dst, src, bytes_of<T>(count));
}
// Block i of src goes to rank i, where it becomes block my-rank of dst; `count` elements a block.
template <class T>
Status alltoall(Context& ctx, const Team& team, T* dst, const T* src, std::size_t count) {
  static_assert(is_rma_type<T>, "alltoall moves trivially copyable types");
  return alltoall_bytes(ctx, team, dst, src, bytes_of<T>(count));
}
// The same with elements dst_stride and src_stride apart (strides >= 1, counted in elements);
// blocks are count * stride elements apart.
template <class T>
Status alltoalls(Context& ctx, const Team& team, T* dst, const T* src, std::ptrdiff_t dst_stride,
                 std::ptrdiff_t src_stride, std::size_t count) {
  static_assert(is_rma_type<T>, "alltoalls moves trivially copyable types");
  return alltoalls_bytes(ctx, team, dst, src, dst_stride, src_stride, sizeof(T), count);
}
// dst[i] = src[i] of rank 0 op src[i] of rank 1 op ..., on every member.
template <class T>
Status reduce(Context& ctx, const Team& team, T* dst, const T* src, std::size_t count,
              ReduceOp op) {
  return reduce_elements(ctx, team, dst, src, count, element_of<T>(), op);
}
// src holds size * count elements; dst gets the reduced block of my rank: `count` elements.
template <class T>
Status reducescatter(Context& ctx, const Team& team, T* dst, const T* src, std::size_t count,
                     ReduceOp op) {
  return reducescatter_elements(ctx, team, dst, src, count, element_of<T>(), op);
}
// Inclusive: ranks 0..mine. Exclusive: ranks 0..mine-1, and on rank 0 the operator's identity (0
// for sum, 1 for prod, the largest value for min, the lowest for max, all bits for and).
template <class T>
Status scan_inclusive(Context& ctx, const Team& team, T* dst, const T* src, std::size_t count,
                      ReduceOp op = ReduceOp::kSum) {
  return scan_elements(ctx, team, dst, src, count, element_of<T>(), op, true);
}
template <class T>
Status scan_exclusive(Context& ctx, const Team& team, T* dst, const T* src, std::size_t count,
                      ReduceOp op = ReduceOp::kSum) {
  return scan_elements(ctx, team, dst, src, count, element_of<T>(), op, false);
}

}  // namespace weft
