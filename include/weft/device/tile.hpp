// Tiles inside kernels: boxes of elements that lie in memory with gaps or without, such as a block
// of a matrix. Neighbours that lie next to each other at both ends are moved by the widest words
// that the addresses allow, all others element by element.
#pragma once

#include <cstdint>

#include <weft/device/context.hpp>
#include <weft/reduce_op.hpp>
#include <weft/team.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {

// A tile at both ends of a call: extent[d] elements along dimension d (none at all if one is not
// positive, at most 2^32 - 1), each so many elements behind the one before. Strides are at least 0,
// and no two elements of dst lie at the same place. Dimensions come in any order.
template <int kDims>
struct TileShape {
  std::int64_t extent[kDims];
  std::int64_t dst_stride[kDims];
  std::int64_t src_stride[kDims];
};

// Context::put_nbi and Context::get_nbi of a tile whose first element is *dst and *src: complete
// after quiet(). Addresses, ordering and what is refused are theirs.
template <class Scope, class T, int kDims>
WEFT_DEVICE_CALL void put_tile_nbi(const Context& ctx, Scope scope, T* dst, const T* src,
                                   const TileShape<kDims>& shape, int pe);
template <class Scope, class T, int kDims>
WEFT_DEVICE_CALL void get_tile_nbi(const Context& ctx, Scope scope, T* dst, const T* src,
                                   const TileShape<kDims>& shape, int pe);

inline constexpr int kEachMember = -1;

// Every member calls, as for any collective (weft/device/collective.hpp). When all have, the member
// of rank `root`, or each of them for kEachMember, folds the tiles of all in rank order into its
// own dst, which it then finds there; the others return at once and their dst is left alone.
// src is symmetric, of the same shape and strides on all; whoever folds may read it until it has
// returned. With a root dst may be src; for kEachMember they do not overlap.
template <ReduceOp kOp, class Scope, class T, int kDims>
WEFT_DEVICE_CALL bool reduce_tile(const Context& ctx, Scope scope, const Team& team, T* dst,
                                  const T* src, const TileShape<kDims>& shape, int root);

}  // namespace WEFT_TARGET
}  // namespace weft::dev
