// Tiles of a GEMM that is added up over the members (one_kernel_epilogue_sm90.hpp), as all threads
// of a block know them: where words lie and whose they are, what they share, which round it is.
//
// A word is four neighbours of a row, from two neighbouring threads, of which the even one has the
// upper row's and the odd one the lower row's. They are the same threads on every member. Words of
// a warp's upper rows lie together, and those of its lower ones behind: so, word by word of a
// thread, rows follow one another.
#pragma once

#include "kernels/fused/gemm_reduce_scatter/one_kernel_lamport_sm90.hpp"

namespace weft::kernels::sm90 {

template <class Shape>
struct OneKernelTiles {
  using T = typename Shape::Element;
  using Lamport = OneKernelLamport<T>;
  static constexpr int kQuads = Quads<Shape>::kCount;  // of a thread, in a tile
  static constexpr int kWarps = Shape::kConsumers * 4, kWriters = 32 * kWarps;
  static constexpr int kTileWords = kQuads * kWriters;
  static_assert(kTileWords * 8 == Shape::kM * Shape::kN * 2);
  // Blocks go from tile to tile, of which none splits k.
  static constexpr bool kGoesOn = Shape::kSharing > 1;
  static_assert(Shape::kPartsN == 1 || !kGoesOn);
  static constexpr int kCommWarps = kGoesOn ? 3 : 1;
  // Words of a thread that it polls at once, one of each member.
  static constexpr int kMany = kQuads <= 12 ? kQuads : kQuads / 2;

  struct Params {
    Matrix<T> c;
    OneKernelMembers members;
    gemm_rs::Reduction reduction;
    int tiles;    // of a cluster's blocks together
    int columns;  // of tiles
    int rows;     // of the GEMM
    int each;     // rows of an owner
    int first;    // row of the GEMM that is C's first
  };

  // Shared memory: a tile that was left, what the record says, barriers.
  static constexpr int kLeftBytes = kTileWords * 8;
  static constexpr int kSharedBytes = kLeftBytes + 5 * 8;
  static __device__ std::uint32_t record(std::uint32_t shared) { return shared + kLeftBytes; }
  static __device__ std::uint32_t record_read(std::uint32_t shared) { return record(shared) + 16; }
  static __device__ std::uint32_t filled(std::uint32_t shared) { return record_read(shared) + 8; }
  static __device__ std::uint32_t empty(std::uint32_t shared) { return record_read(shared) + 16; }

  // Tiles of this block.
  static __device__ int waves_of(const Params& p) {
    if constexpr (!kGoesOn) return 1;
    const int cluster = static_cast<int>(blockIdx.x) / Shape::kSharing;
    const int clusters = static_cast<int>(gridDim.x) / Shape::kSharing;
    return (p.tiles - cluster + clusters - 1) / clusters;
  }
  static __device__ int tile_at(const Params& p, int row, int column) {
    return row / Shape::kM * p.columns + column / Shape::kN;
  }
  // The offset in a slot of word `at` of a tile, which lies there as word j of all threads, then
  // the next.
  static __device__ std::uint64_t word_offset(int tile, int at) {
    return std::uint64_t{static_cast<unsigned>(tile)} * kTileWords + at;
  }

  // owners[i]: of the from + i-th of a thread's words, of that row.
  template <int kCount>
  static __device__ __forceinline__ void find_owners(const Params& p, int tile, int from, int row,
                                                     int (&owners)[kCount]) {
    const Team& team = p.members.team;
    const bool spreads_owners = p.reduction == gemm_rs::Reduction::kTwoShot;
    int owner = spreads_owners ? gemm_rs::owner_of(tile * kQuads + from, team.size) : team.rank;
    if (!kGoesOn && p.reduction == gemm_rs::Reduction::kScatter) owner = row / p.each;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      owners[i] = owner;
      if (spreads_owners && ++owner == team.size) owner = 0;
    }
  }

  // While the GEMM is under way: reads the round for the block, and counts it once all blocks have
  // read it. Acquires and releases: the block that comes last writes what the others have read
  // before. One block exchanges handshakes with the other members.
  static __device__ __forceinline__ void read_record(const Params& p, std::uint32_t shared) {
    if (threadIdx.x % 32 == 0) {
      gemm_rs::Record* const r = p.members.space.record;
      const std::uint64_t round = r->round + 1, failed_round = r->failed_round;
      asm volatile("st.shared.u64 [%0], %2;\nst.shared.u64 [%1], %3;"
                   :
                   : "r"(record(shared)), "r"(record(shared) + 8), "l"(round), "l"(failed_round)
                   : "memory");
      barrier_arrive(record_read(shared));  // releases: pairs with begin()'s wait
      const std::uint32_t last = gridDim.x - 1;
      if (count_up(&r->leaving, last) == last) r->round = round;
      if (blockIdx.x == 0) {
        Lamport lamport(p.members, p.reduction, round, failed_round);
        lamport.handshake();
        lamport.finish();
      }
    }
    __syncwarp();
  }
  static __device__ __forceinline__ Lamport begin(const Params& p, std::uint32_t shared) {
    barrier_wait(record_read(shared), 0);
    std::uint64_t round, failed_round;
    asm volatile("ld.shared.u64 %0, [%2];\nld.shared.u64 %1, [%3];"
                 : "=&l"(round), "=l"(failed_round)
                 : "r"(record(shared)), "r"(record(shared) + 8)
                 : "memory");
    return Lamport(p.members, p.reduction, round, failed_round);
  }
};

}  // namespace weft::kernels::sm90
