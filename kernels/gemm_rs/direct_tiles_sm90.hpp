// Tiles of a product that is added up over the members (direct_sink_sm90.hpp), as all threads of a
// block know them: where words lie and whose they are, what they share, which round it is.
//
// A word is four neighbours of a row, from two neighbouring threads, of which the even one has the
// upper row's and the odd one the lower row's. They are the same threads on every member. Words of
// a warp's upper rows lie together, and those of its lower ones behind: so, word by word of a
// thread, rows follow one another.
#pragma once

#include "kernels/gemm_rs/direct_words_sm90.hpp"

namespace weft::kernels::sm90 {

template <class Shape>
struct DirectTiles {
  using T = typename Shape::Element;
  using Words = DirectWords<T>;
  static constexpr int kQuads = Quads<Shape>::kCount;  // of a thread, in a tile
  static constexpr int kWarps = Shape::kConsumers * 4, kWriters = 32 * kWarps;
  static constexpr int kTileWords = kQuads * kWriters;
  static_assert(kTileWords * 8 == Shape::kM * Shape::kN * 2);
  // Blocks go from tile to tile, of which none splits k.
  static constexpr bool kGoesOn = Shape::kSharing > 1;
  static_assert(Shape::kPartsN == 1 || !kGoesOn);
  static constexpr int kMovers = kGoesOn ? 3 : 1;
  // Words of a thread that it looks for at once, one of each member.
  static constexpr int kMany = kQuads <= 12 ? kQuads : kQuads / 2;

  struct Params {
    Matrix<T> c;
    DirectMembers members;
    gemm_rs::Way way;
    int tiles;    // of a cluster's blocks together
    int columns;  // of tiles
    int rows;     // of the product
    int each;     // rows of an owner
    int first;    // row of the product that is C's first
  };

  // Shared memory: a tile that was left, what the record says, barriers.
  static constexpr int kLeftBytes = kTileWords * 8;
  static constexpr int kSharedBytes = kLeftBytes + 5 * 8;
  static __device__ std::uint32_t record(std::uint32_t shared) { return shared + kLeftBytes; }
  static __device__ std::uint32_t looked(std::uint32_t shared) { return record(shared) + 16; }
  static __device__ std::uint32_t filled(std::uint32_t shared) { return looked(shared) + 8; }
  static __device__ std::uint32_t empty(std::uint32_t shared) { return looked(shared) + 16; }

  // Tiles of this block.
  static __device__ int turns_of(const Params& p) {
    if constexpr (!kGoesOn) return 1;
    const int cluster = static_cast<int>(blockIdx.x) / Shape::kSharing;
    const int clusters = static_cast<int>(gridDim.x) / Shape::kSharing;
    return (p.tiles - cluster + clusters - 1) / clusters;
  }
  static __device__ int tile_at(const Params& p, int row, int column) {
    return row / Shape::kM * p.columns + column / Shape::kN;
  }
  // Of word `at` of a tile, as a tile lies there: word j of all threads, then the next.
  static __device__ std::uint64_t place_of(int tile, int at) {
    return std::uint64_t{static_cast<unsigned>(tile)} * kTileWords + at;
  }

  // owners[i]: of the from + i-th of a thread's words, of that row.
  template <int kCount>
  static __device__ __forceinline__ void find_owners(const Params& p, int tile, int from, int row,
                                                     int (&owners)[kCount]) {
    const Team& team = p.members.team;
    const bool takes_turns = p.way == gemm_rs::Way::kTwoShots;
    int owner = takes_turns ? gemm_rs::owner_of(tile * kQuads + from, team.size) : team.rank;
    if (!kGoesOn && p.way == gemm_rs::Way::kScatter) owner = row / p.each;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      owners[i] = owner;
      if (takes_turns && ++owner == team.size) owner = 0;
    }
  }

  // While the product is under way: tells the block the round, and counts it once all blocks have
  // looked. Acquires and releases: who comes last writes what the others have read before. One
  // block greets the other members.
  static __device__ __forceinline__ void look_at_record(const Params& p, std::uint32_t shared) {
    if (threadIdx.x % 32 == 0) {
      gemm_rs::Record* const r = p.members.space.record;
      const std::uint64_t round = r->round + 1, broken = r->broken;
      asm volatile("st.shared.u64 [%0], %2;\nst.shared.u64 [%1], %3;"
                   :
                   : "r"(record(shared)), "r"(record(shared) + 8), "l"(round), "l"(broken)
                   : "memory");
      barrier_arrive(looked(shared));  // releases: pairs with begin()'s wait
      const std::uint32_t last = gridDim.x - 1;
      if (count_up(&r->leaving, last) == last) r->round = round;
      if (blockIdx.x == 0) {
        Words words(p.members, p.way, round, broken);
        words.greet();
        words.finish();
      }
    }
    __syncwarp();
  }
  static __device__ __forceinline__ Words begin(const Params& p, std::uint32_t shared) {
    barrier_wait(looked(shared), 0);
    std::uint64_t round, broken;
    asm volatile("ld.shared.u64 %0, [%2];\nld.shared.u64 %1, [%3];"
                 : "=&l"(round), "=l"(broken)
                 : "r"(record(shared)), "r"(record(shared) + 8)
                 : "memory");
    return Words(p.members, p.way, round, broken);
  }
};

}  // namespace weft::kernels::sm90
