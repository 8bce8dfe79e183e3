// The sum of the squares of a row whose pairs of units threads have in registers, in the order of
// row_sums.hpp: a warp has a chunk. Blocks that share a row are a cluster of a GPU (sm_90), each of
// which stores the sums of its chunks into the shared memory of all.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device.hpp>

#include "kernels/collectives/all_reduce_norm/row_sums.hpp"
#include "kernels/collectives/all_reduce_norm/call.hpp"
#include "kernels/core/cluster.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

inline constexpr unsigned kPairsOfChunk = kUnitsOfChunk / 2;

// All threads of the cluster call everything, as often.
class RowSquares {
 public:
  // On hosts threads have no registers in common, so squares lie in shared memory.
  static constexpr std::size_t shared_bytes(unsigned chunks) {
    return (2 * kMostChunks + (WEFT_TARGET_CPU ? chunks * kPairsOfChunk : 0)) * sizeof(float);
  }

  // Rows of so many `chunks`, at most kMostChunks.
  WEFT_DEVICE RowSquares(std::byte* shared, unsigned split, unsigned chunks)
      : sums_(reinterpret_cast<float*>(shared)), split_(split), chunks_(chunks) {
    if (split_ > 1) cluster_arrive_relaxed();
  }
  // Before the first add(): the cluster's blocks are there, and have their shared memory.
  WEFT_DEVICE void open() const {
    if (split_ > 1) cluster_wait();
  }
  // Adds the squares of the units in a pair of the row. The threads of a warp have a chunk.
  WEFT_DEVICE void add(unsigned pair, float squares) const {
    const unsigned chunk = pair / kPairsOfChunk;
#if WEFT_TARGET_CPU
    if (chunk < chunks_) (sums_ + 2 * kMostChunks)[pair] = squares;
#else
    for (unsigned step = 1; step < kPairsOfChunk; step *= 2)
      squares += of_lane_across(squares, step);
    const unsigned lane = pair % kPairsOfChunk;
    if (chunk >= chunks_) return;
    if (split_ == 1) {
      if (lane == 0) of_this_row()[chunk] = squares;
    } else if (lane < split_) {
      cluster_store(lane, of_this_row() + chunk, squares);
    }
#endif
  }
  // All pairs of the row have been added.
  WEFT_DEVICE float total() {
    const float* const sums = of_this_row();
    sync();
    // The sums of the next row go elsewhere, and those of the one behind it are stored by threads
    // that have passed one more barrier: so all have read these.
    is_odd_ = !is_odd_;
    float sum = 0;
    for (unsigned c = 0; c < chunks_; ++c) sum += sums[c];
    return sum;
  }

 private:
  WEFT_DEVICE float* of_this_row() const { return sums_ + (is_odd_ ? kMostChunks : 0); }

#if WEFT_TARGET_CPU
  WEFT_DEVICE void sync() const {
    dev::Block{}.sync();
    const float* const squares = sums_ + 2 * kMostChunks;
    for (unsigned c = dev::thread_rank(); c < chunks_; c += dev::block_size())
      of_this_row()[c] = sum_by_twos<kPairsOfChunk>(squares + c * kPairsOfChunk);
    dev::Block{}.sync();
  }
#else
  // From the lane whose number differs by the bit `step`: never beyond a chunk's lanes, also where
  // a wavefront has two chunks.
  static WEFT_DEVICE float of_lane_across(float value, unsigned step) {
#if WEFT_TARGET_HIP
    return __shfl_xor(value, static_cast<int>(step));
#else
    return __shfl_xor_sync(~0u, value, static_cast<int>(step));
#endif
  }
  WEFT_DEVICE void sync() const {
    if (split_ == 1) return dev::Block{}.sync();
    cluster_arrive();
    cluster_wait();
  }
#endif

  float* const sums_;  // [parity][chunk of the row]
  const unsigned split_, chunks_;
  bool is_odd_ = false;
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
