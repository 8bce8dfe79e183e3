// Copies by tiles: some chunks of each lane of a warp, which lie next to those of its neighbours.
// How far a thread's chunks are apart is known when compiled, so their addresses take no registers:
// the chunks themselves are most of what such a copy needs. All at multiples of 16.
#pragma once

#include <cstddef>
#include <type_traits>

#include <weft/dev/copy.hpp>
#include <weft/dev/platform.hpp>
#include <weft/dev/scope.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {

template <class Scope>
inline constexpr int kTileLanes = std::is_same_v<Scope, Thread>
                                      ? 1
                                      : static_cast<int>(platform::kWarpSize);
inline constexpr int kTileDepth = 8;  // chunks of each lane, all under way at once
template <int kLanes>
inline constexpr unsigned kTileChunks = kLanes* kTileDepth;
inline constexpr std::size_t kMostTiled = std::size_t{16} << 31;  // chunks are counted in 32 bits

WEFT_DEVICE bool can_tile(const void* dst, const void* src, std::size_t bytes) {
  return is_in_chunks(dst, src, bytes) && bytes <= kMostTiled;
}

// The chunks of my lane in one tile: loaded once, and stored as often as wanted.
template <int kLanes>
class ChunkTile {
 public:
  // `left`: chunks from my first one on, 1 at least.
  WEFT_DEVICE ChunkTile(const std::byte* from, unsigned left) : left_(left) {
    for (unsigned k = 0; k < kTileDepth; ++k)
      if (k == 0 || k * kLanes < left_)
        part_[k] = *reinterpret_cast<const Unit*>(from + k * kApart);
  }
  WEFT_DEVICE void store(std::byte* to) const {
    for (unsigned k = 0; k < kTileDepth; ++k)
      if (k == 0 || k * kLanes < left_) *reinterpret_cast<Unit*>(to + k * kApart) = part_[k];
  }

 private:
  using Unit = Chunk<16>::type;
  static constexpr unsigned kApart = 16 * kLanes;
  Unit part_[kTileDepth] = {};  // known, or registers would be kept for them from tile to tile
  unsigned left_;
};

// Which tiles a thread copies: those of its warp, of which there are `step`.
template <class Scope>
struct TileShare {
  static constexpr int kLanes = kTileLanes<Scope>;
  int lane, tile, step;

  WEFT_DEVICE explicit TileShare(const Scope& scope)
      : lane(scope.rank() % kLanes), tile(scope.rank() / kLanes), step(scope.size() / kLanes) {}
  // Whole warps alone copy; false: there is none.
  WEFT_DEVICE bool can_copy() const { return step != 0; }
  // visit(offset, left) of my first chunk in each tile: its bytes, and the chunks from it on.
  template <class Visit>
  WEFT_DEVICE void for_tiles(unsigned chunks, Visit visit) const {
    if (tile >= step) return;  // a warp that is not whole
    WEFT_DEVICE_AS_A_LOOP
    for (unsigned at =
             static_cast<unsigned>(tile) * kTileChunks<kLanes> + static_cast<unsigned>(lane);
         at < chunks; at += static_cast<unsigned>(step) * kTileChunks<kLanes>)
      visit(std::size_t{at} * 16, chunks - at);
  }
};

template <class Scope>
WEFT_DEVICE void copy_tiles(const TileShare<Scope>& share, std::byte* dst, const std::byte* src,
                            unsigned chunks) {
  share.for_tiles(chunks, [&](std::size_t offset, unsigned left) {
    ChunkTile<TileShare<Scope>::kLanes>(src + offset, left).store(dst + offset);
  });
}

}  // namespace WEFT_TARGET
}  // namespace weft::dev
