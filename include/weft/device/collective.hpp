// Collectives inside kernels. One block or warp (or thread) of every member calls, in the same
// order on all; the scope's threads share the work. Meaning of the arguments, aliasing, rank order
// of sums: as in weft/collective.hpp. A team is used by one kernel, or by the host, at a time.
// They return false when a deadline passed (the fault record says where).
#pragma once

#include <cstddef>

#include <weft/device/context.hpp>
#include <weft/reduce_op.hpp>
#include <weft/team.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {

template <class Scope>
WEFT_DEVICE bool sync(const Context& ctx, Scope scope, const Team& team);
template <class Scope>
WEFT_DEVICE bool barrier(const Context& ctx, Scope scope, const Team& team);
template <class Scope, class T>
WEFT_DEVICE bool broadcast(const Context& ctx, Scope scope, const Team& team, T* dst, const T* src,
                           std::size_t count, int root);
template <class Scope, class T>
WEFT_DEVICE bool fcollect(const Context& ctx, Scope scope, const Team& team, T* dst, const T* src,
                          std::size_t count);
template <class Scope, class T>
WEFT_DEVICE bool collect(const Context& ctx, Scope scope, const Team& team, T* dst, const T* src,
                         std::size_t count);
template <class Scope, class T>
WEFT_DEVICE bool alltoall(const Context& ctx, Scope scope, const Team& team, T* dst, const T* src,
                          std::size_t count);
template <class Scope, class T>
WEFT_DEVICE bool alltoalls(const Context& ctx, Scope scope, const Team& team, T* dst, const T* src,
                           std::ptrdiff_t dst_stride, std::ptrdiff_t src_stride, std::size_t count);
template <ReduceOp kOp, class Scope, class T>
WEFT_DEVICE bool reduce(const Context& ctx, Scope scope, const Team& team, T* dst, const T* src,
                        std::size_t count);
template <ReduceOp kOp, class Scope, class T>
WEFT_DEVICE bool reducescatter(const Context& ctx, Scope scope, const Team& team, T* dst,
                               const T* src, std::size_t count);
template <ReduceOp kOp, class Scope, class T>
WEFT_DEVICE bool scan_inclusive(const Context& ctx, Scope scope, const Team& team, T* dst,
                                const T* src, std::size_t count);
template <ReduceOp kOp, class Scope, class T>
WEFT_DEVICE bool scan_exclusive(const Context& ctx, Scope scope, const Team& team, T* dst,
                                const T* src, std::size_t count);

}  // namespace WEFT_TARGET
}  // namespace weft::dev
