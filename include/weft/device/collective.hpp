// Collectives inside kernels. One block or warp (or thread) of every member calls, in the same
// order and by the same kind of scope on all, since that decides how bytes travel; how many threads
// it has may differ. The scope's threads share the work. Meaning of the arguments, aliasing, rank
// order of sums, and what happens to a team after a failure: as in weft/collective.hpp. Host and
// kernels may take turns on a team, but one caller at a time uses a team on each PE. Blocks that
// run collectives at once have a team each. All threads of the scope get the same answer: false
// when the arguments were refused, a deadline passed, or the team has failed (the fault record says
// which).
#pragma once

#include <cstddef>

#include <weft/device/context.hpp>
#include <weft/reduce_op.hpp>
#include <weft/team.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {

template <class Scope>
WEFT_DEVICE_CALL bool sync(const Context& ctx, Scope scope, const Team& team);
template <class Scope>
WEFT_DEVICE_CALL bool barrier(const Context& ctx, Scope scope, const Team& team);
template <class Scope, class T>
WEFT_DEVICE_CALL bool broadcast(const Context& ctx, Scope scope, const Team& team, T* dst,
                                const T* src, std::size_t count, int root);
template <class Scope, class T>
WEFT_DEVICE_CALL bool fcollect(const Context& ctx, Scope scope, const Team& team, T* dst,
                               const T* src, std::size_t count);
template <class Scope, class T>
WEFT_DEVICE_CALL bool collect(const Context& ctx, Scope scope, const Team& team, T* dst,
                              const T* src, std::size_t count);
template <class Scope, class T>
WEFT_DEVICE_CALL bool alltoall(const Context& ctx, Scope scope, const Team& team, T* dst,
                               const T* src, std::size_t count);
template <class Scope, class T>
WEFT_DEVICE_CALL bool alltoalls(const Context& ctx, Scope scope, const Team& team, T* dst,
                                const T* src, std::ptrdiff_t dst_stride, std::ptrdiff_t src_stride,
                                std::size_t count);
template <ReduceOp kOp, class Scope, class T>
WEFT_DEVICE_CALL bool reduce(const Context& ctx, Scope scope, const Team& team, T* dst,
                             const T* src, std::size_t count);
template <ReduceOp kOp, class Scope, class T>
WEFT_DEVICE_CALL bool reducescatter(const Context& ctx, Scope scope, const Team& team, T* dst,
                                    const T* src, std::size_t count);
template <ReduceOp kOp, class Scope, class T>
WEFT_DEVICE_CALL bool scan_inclusive(const Context& ctx, Scope scope, const Team& team, T* dst,
                                     const T* src, std::size_t count);
template <ReduceOp kOp, class Scope, class T>
WEFT_DEVICE_CALL bool scan_exclusive(const Context& ctx, Scope scope, const Team& team, T* dst,
                                     const T* src, std::size_t count);

}  // namespace WEFT_TARGET
}  // namespace weft::dev
