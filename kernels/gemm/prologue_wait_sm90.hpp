// PrologueWait: what the producer waits for before it reads rows of A that come from other PEs
// while the GEMM runs (kernels/protocol/all_gather_buffer.hpp). One without an all-gather buffer
// costs a comparison a tile.
#pragma once

#include "kernels/gemm/ptx_sm90.hpp"
#include "kernels/protocol/all_gather_buffer.hpp"

namespace weft::kernels::sm90 {

class PrologueWait {
 public:
  PrologueWait() = default;
  explicit PrologueWait(const AllGatherBuffer& g)
      : flags_(g.flags),
        rounds_(g.gemm_rounds),
        count_(g.count),
        own_(g.own),
        rows_(g.rows),
        pieces_(g.pieces),
        parts_(g.parts),
        part_blocks_(g.part_blocks) {}

  __device__ bool is_there() const { return flags_ != nullptr; }
  __device__ bool is_own(int segment) const { return segment == own_; }

  // Whether calls still do something: the same for all blocks, since a failure in this call is
  // read in the next. Called before the first barrier of the block; round() by the producer
  // alone, who moves it on in the end.
  __device__ bool is_open() const {
    if (!is_there()) return true;
    const std::uint64_t failed_round = load(failed_round_address());
    return failed_round == 0 || failed_round == round();
  }
  __device__ std::uint64_t round() const { return is_there() ? rounds_[blockIdx.x] + 1 : 0; }
  // Counts the round, for blocks that this call does not have as well.
  __device__ void leave(std::uint64_t round) const {
    if (!is_there()) return;
    for (unsigned block = blockIdx.x; block < kMostGatherBlocks; block += gridDim.x)
      rounds_[block] = round;
  }

  // The index of a segment's first part among those that are gathered.
  __device__ int first_part_of(std::uint64_t round, int segment) const {
    return (static_cast<int>(round & 1) * count_ + segment) * parts_;
  }

  // Blocks of 64 columns in a part.
  __device__ int part_blocks() const { return part_blocks_; }

  // The part of a tile's rows, or of those of them that there are, that is waited for next.
  struct Awaited {
    const std::uint64_t* flags;
    int count;
  };
  __device__ Awaited rows_of(int segment, int row, int height) const {
    const int first = row / kGatherRows, end = min(row + height, rows_);
    return {flags_ + (static_cast<std::int64_t>(segment) * parts_ * pieces_ + first),
            (end + kGatherRows - 1) / kGatherRows - first};
  }
  // Until it has come. The kernel that gathers waits for the same, with a deadline and a report:
  // when it gives up, so does this.
  __device__ void wait_part(std::uint64_t round, Awaited* rows) const {
    for (int piece = 0; piece < rows->count; ++piece)
      while (acquire(rows->flags + piece) < round)
        if (load(failed_round_address()) == round) return;
    rows->flags += pieces_;
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

  // Before the flags (all_gather_buffer.hpp).
  __device__ const std::uint64_t* failed_round_address() const { return flags_ - 1; }

  const std::uint64_t* flags_ = nullptr;
  std::uint64_t* rounds_ = nullptr;
  int count_ = 1, own_ = 0, rows_ = 0, pieces_ = 0, parts_ = 1, part_blocks_ = 0;
};

}  // namespace weft::kernels::sm90
