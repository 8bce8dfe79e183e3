// Gate: what the producer waits for before it reads rows of A that come from other PEs while the
// product runs (kernels/core/gathering.hpp). One that has no gathering costs a comparison a tile.
#pragma once

#include "kernels/core/gathering.hpp"
#include "kernels/gemm/ptx_sm90.hpp"

namespace weft::kernels::sm90 {

class Gate {
 public:
  Gate() = default;
  explicit Gate(const Gathering& g)
      : flags_(g.flags),
        rounds_(g.product_rounds),
        broken_(g.broken),
        count_(g.count),
        own_(g.own),
        rows_(g.rows),
        pieces_(g.pieces) {}

  __device__ bool is_there() const { return flags_ != nullptr; }
  __device__ bool is_own(int segment) const { return segment == own_; }

  // Whether calls still do something: the same for all blocks, since what breaks in this call is
  // looked at in the next. Before the block's threads meet for the first time; round() by the
  // producer alone, who moves it on in the end.
  __device__ bool is_open() const {
    if (!is_there()) return true;
    const std::uint64_t broken = load(broken_);
    return broken == 0 || broken == round();
  }
  __device__ std::uint64_t round() const { return is_there() ? rounds_[blockIdx.x] + 1 : 0; }
  // What the blocks of this call leave out, the ones that there are count as well.
  __device__ void leave(std::uint64_t round) const {
    if (!is_there()) return;
    for (unsigned block = blockIdx.x; block < kMostGatherBlocks; block += gridDim.x)
      rounds_[block] = round;
  }

  // Of a segment, among those that are gathered.
  __device__ int place_of(std::uint64_t round, int segment) const {
    return static_cast<int>(round & 1) * count_ + segment;
  }

  // Until `height` rows of the segment have come, or those of them that there are. The kernel that
  // gathers waits for the same, with a deadline and a report: when it gives up, so does this.
  __device__ void wait_rows(std::uint64_t round, int segment, int row, int height) const {
    const int end = min(row + height, rows_);
    const std::uint64_t* const flags = flags_ + segment * pieces_;
    for (int piece = row / kGatherRows; piece * kGatherRows < end; ++piece) {
      while (load(flags + piece) < round) {
        if (load(broken_) == round) return;
      }
      acquire(flags + piece);
    }
    fence_global_for_copies();
  }

 private:
  static __device__ std::uint64_t load(const std::uint64_t* word) {
    std::uint64_t value;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
  }
  // Pairs with the release of the put that set it (push.hpp).
  static __device__ std::uint64_t acquire(const std::uint64_t* word) {
    std::uint64_t value;
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
  }

  const std::uint64_t* flags_ = nullptr;
  std::uint64_t* rounds_ = nullptr;
  const std::uint64_t* broken_ = nullptr;
  int count_ = 1, own_ = 0, rows_ = 0, pieces_ = 0;
};

}  // namespace weft::kernels::sm90
