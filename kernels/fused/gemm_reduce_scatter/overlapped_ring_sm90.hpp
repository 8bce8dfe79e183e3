// The data that all others have sent of a part of mine, piece by piece, of each piece rank by rank,
// as a warp finds them in shared memory: they come through a ring of slots, ahead of who adds them.
#pragma once

#include "kernels/fused/gemm_reduce_scatter/overlapped_kernels_sm90.hpp"
#include "kernels/fused/gemm_reduce_scatter/space.hpp"
#include "kernels/gemm/kernel_sm90.hpp"

namespace weft::kernels::sm90 {

inline constexpr int kPieceBytes = 2048;

template <int kSlots>
class ScatterRing {
 public:
  static constexpr int kBytes = kSlots * kPieceBytes, kBarrierBytes = kSlots * 8;

  // By one thread, before all others.
  static __device__ void prepare(std::uint32_t barriers) {
    for (int slot = 0; slot < kSlots; ++slot) barrier_init(barriers + 8 * slot, 1);
  }

  __device__ ScatterRing(const Members& m, std::uint32_t slots, std::uint32_t barriers)
      : m_(m), slots_(slots), barriers_(barriers) {}

  // By all of the warp, once all others' flags have been acquired. `part`: as sender 0 has it.
  __device__ __forceinline__ void begin(const std::byte* part, int bytes) {
    part_ = part;
    left_ = bytes;
    rank_ = m_.team.rank == 0;
    if (threadIdx.x % 32 != 0) return;
    fence_global_for_copies();
    Cursor<kSlots> to = at_;
#pragma unroll 1
    for (int slot = 0; slot < kSlots; ++slot, to.next()) bring(to.stage);
  }
  // Where the next piece is, which has come; and when all of the warp have read it.
  __device__ __forceinline__ std::uint32_t wait() const {
    barrier_wait(barriers_ + 8 * at_.stage, at_.phase);
    return slots_ + at_.stage * kPieceBytes;
  }
  __device__ __forceinline__ void release() {
    __syncwarp();
    if (threadIdx.x % 32 == 0) bring(at_.stage);
    at_.next();
  }

 private:
  // By one thread: has the next piece come, if there is any.
  __device__ __forceinline__ void bring(int slot) {
    if (left_ == 0) return;
    const int sender = gemm_rs::sender_number(rank_, m_.team.rank, m_.team.size);
    const std::uint32_t barrier = barriers_ + 8 * slot;
    barrier_arrive_expect(barrier, kPieceBytes);
    bulk_load(slots_ + slot * kPieceBytes, part_ + sender * m_.space.slot_bytes, kPieceBytes,
              barrier);
    rank_ += rank_ + 1 == m_.team.rank ? 2 : 1;
    if (rank_ < m_.team.size) return;
    rank_ = m_.team.rank == 0;
    part_ += kPieceBytes;
    left_ -= kPieceBytes;
  }

  const Members& m_;
  const std::uint32_t slots_, barriers_;
  Cursor<kSlots> at_;
  // The next to come: from there, so many bytes of each rank's, and whose.
  const std::byte* part_ = nullptr;
  int left_ = 0, rank_ = 0;
};

}  // namespace weft::kernels::sm90
