// The sink of a product that is added up over the members (kernels/gemm/sink_sm90.hpp): blocks of a
// cluster add up their parts of k, as in ClusterSumSink; each sends its share of the tile on, word
// by word, to whoever adds it up, and adds up or takes what is its own to have.
//
// A word is four neighbours of a row, from two neighbouring threads, of which the even one has the
// upper row's and the odd one the lower row's. They are the same threads on every member: so nobody
// has to wait for others of its block.
#pragma once

#include <weft/device.hpp>

#include "kernels/core/sendable.hpp"
#include "kernels/gemm/sink_sm90.hpp"
#include "kernels/gemm_rs/direct_kernels_sm90.hpp"

namespace weft::kernels::sm90 {

template <class Shape>
class DirectSink {
  using T = typename Shape::Element;
  static constexpr int kQuads = Quads<Shape>::kCount;  // of a thread, in a tile
  static constexpr int kWriters = kConsumers * kGroupThreads;

 public:
  struct Params {
    Matrix<T> c;
    DirectMembers members;
    gemm_rs::Way way;
    int columns;  // of tiles
    int rows;     // of the product
    int each;     // rows of an owner
    int first;    // row of the product that is C's first
  };
  static constexpr int kTileWords = kQuads * kWriters;
  static constexpr int kSharedBytes = 3 * 8;  // a barrier; what the record says
  static constexpr bool kMeetsCluster = true;
  static constexpr int kMovers = 1;  // looks at the record
  static_assert(kTileWords * 8 == Shape::kM * Shape::kN * 2);

  static __device__ void prepare(const Params&, std::uint32_t shared) { barrier_init(shared, 1); }

  // While the product is under way: tells the block the round, and counts it once all blocks have
  // looked. Acquires and releases: who comes last writes what the others have read before. One
  // block greets the other members.
  template <class Order>
  static __device__ __forceinline__ void move(const Params& p, std::uint32_t shared, int,
                                              const Order&, int, int, int) {
    if (threadIdx.x % 32 == 0) {
      gemm_rs::Record* const record = p.members.space.record;
      const std::uint64_t round = record->round + 1, broken = record->broken;
      asm volatile("st.shared.u64 [%0], %2;\nst.shared.u64 [%1], %3;"
                   :
                   : "r"(shared + 8), "r"(shared + 16), "l"(round), "l"(broken)
                   : "memory");
      barrier_arrive(shared);  // releases: pairs with store()'s wait
      const std::uint32_t last = gridDim.x - 1;
      if (count_up(&record->leaving, last) == last) record->round = round;
      if (blockIdx.x == 0 && !greet(p, round, broken)) record->broken = round;
    }
    __syncwarp();
  }

  __device__ DirectSink(const Params& p, std::uint32_t base, std::uint32_t shared)
      : p_(p), base_(base), shared_(shared) {}

  // Rows that are not there do not travel.
  __device__ __forceinline__ void store(const Part<Shape>& part, float (&d)[Shape::kPartN / 2]) {
    const Quads<Shape> mine = add_up(base_, part, d);
    const bool lower = part.thread % 2 != 0;
    const int row = part.row + part.first_row() + (lower ? 8 : 0);
    const int column = part.column + part.first_column() / 4 * 4;
    std::uint64_t words[kQuads];
#pragma unroll
    for (int j = 0; j < kQuads; ++j) words[j] = row_of(lower, d + 4 * j);
    const unsigned there = __ballot_sync(~0u, row < p_.rows);
    if (row >= p_.rows) return;
    look();
    if (!sends_) return;
    // Words of a warp's upper rows lie together, and those of its lower ones behind: where only one
    // kind is sent, or there, stores are of whole lines.
    const int lane = part.thread % 32, place = part.thread - lane + lane / 2 + (lower ? 16 : 0);
    const int tile = part.row / Shape::kM * p_.columns + part.column / Shape::kN;
    const std::uint64_t at = std::uint64_t{static_cast<unsigned>(tile)} * kTileWords +
                             part.consumer * kGroupThreads + place;
    const bool is_mine = meet(owner_of(tile, row), there, at, mine, words);
    if (!ok_ || !is_mine) return;
#pragma unroll
    for (int j = 0; j < kQuads; ++j) {
      if (mine.have(j)) p_.c.put_four(row - p_.first, column + 8 * j, words[j]);
    }
  }
  __device__ void finish() {
    gemm_rs::Record* const record = p_.members.space.record;
    if (!ok_ && record->broken == 0) record->broken = round_;
  }

 private:
  static constexpr int kMost = kMostMembers;

  static __device__ __forceinline__ std::uint64_t joined(std::uint32_t left, std::uint32_t right) {
    return sendable(std::uint64_t{right} << 32 | left);
  }
  static __device__ __forceinline__ std::uint64_t packed(const float4& sum) {
    return joined(pack<T>(sum.x, sum.y), pack<T>(sum.z, sum.w));
  }
  // Of the sums of two rows that I have a half of each, as my neighbour has the others. By a warp.
  static __device__ __forceinline__ std::uint64_t row_of(bool lower, const float* d) {
    const std::uint32_t above = pack<T>(d[0], d[1]), below = pack<T>(d[2], d[3]);
    const std::uint32_t given = __shfl_xor_sync(~0u, lower ? above : below, 1);
    return lower ? joined(given, below) : joined(above, given);
  }

  // False: somebody did not come.
  static __device__ __forceinline__ bool greet(const Params& p, std::uint64_t round,
                                               std::uint64_t broken) {
    const DirectMembers& m = p.members;
    if (broken != 0 && broken != round) return true;  // no more than anything else
    const std::uint64_t my_place = m.space.greeting_offset(round, m.team.rank);
    for (int rank = 0; rank < m.team.size; ++rank) {
      if (rank != m.team.rank) dev::send_word(m.words[rank] + my_place, round);
    }
    const auto awaited = [&](int rank) -> dev::AwaitedWord {
      if (rank >= m.team.size || rank == m.team.rank) return {nullptr, -1};
      return {m.space.words + m.space.greeting_offset(round, rank), m.team.pe_of(rank)};
    };
    std::uint64_t greetings[kMost];
    return broken != 0 || dev::take_words<kMost>(m.handle, name(p), awaited, greetings);
  }
  static __device__ __forceinline__ const char* name(const Params& p) {
    return gemm_rs::name_of(p.way == gemm_rs::Way::kScatter);
  }
  // What move() has told.
  __device__ __forceinline__ void look() {
    barrier_wait(shared_, 0);
    std::uint64_t broken;
    asm volatile("ld.shared.u64 %0, [%2];\nld.shared.u64 %1, [%3];"
                 : "=&l"(round_), "=l"(broken)
                 : "r"(shared_ + 8), "r"(shared_ + 16)
                 : "memory");
    ok_ = broken == 0;
    // Who sends in later rounds overwrites what a late member reads.
    sends_ = ok_ || broken == round_;
  }

  // The rank that adds up the words of a row; mine where all do.
  __device__ __forceinline__ int owner_of(int tile, int row) const {
    const Team& team = p_.members.team;
    if (p_.way == gemm_rs::Way::kScatter) return row / p_.each;
    return p_.way == gemm_rs::Way::kTwoShots ? gemm_rs::owner_of(tile, team.size) : team.rank;
  }
  // What I have of the tile's words, `mine`, becomes the sum of all. False: where that is not mine
  // to have. By those of a warp that are `there`, who may have different owners.
  __device__ __forceinline__ bool meet(int owner, unsigned there, std::uint64_t at,
                                       const Quads<Shape>& mine, std::uint64_t (&words)[kQuads]) {
    using gemm_rs::Way;
    const DirectMembers& m = p_.members;
    const std::uint64_t part = m.space.slot_offset(round_, m.team.rank) + at;
    const bool adds = owner == m.team.rank;
    if (p_.way == Way::kOneShot) {
      send_to_all(part, mine, words);
    } else if (!adds) {
      send(m.words[owner] + part, mine, words);
    }
    __syncwarp(there);  // nobody waits before all have sent
    if (adds) {
      fold(at, mine, words);
      if (p_.way == Way::kTwoShots && ok_) send_to_all(part, mine, words);  // else they find out
    } else if (p_.way == Way::kTwoShots) {
      const std::uint64_t sum = m.space.slot_offset(round_, owner) + at;
      take(m.space.words + sum, m.team.pe_of(owner), mine, words);
    }
    return adds || p_.way == Way::kTwoShots;
  }
  static __device__ __forceinline__ void send(std::uint64_t* there, const Quads<Shape>& mine,
                                              const std::uint64_t (&words)[kQuads]) {
#pragma unroll
    for (int j = 0; j < kQuads; ++j) {
      if (mine.have(j)) dev::send_word(there + j * kWriters, words[j]);
    }
  }
  __device__ __forceinline__ void send_to_all(std::uint64_t offset, const Quads<Shape>& mine,
                                              const std::uint64_t (&words)[kQuads]) const {
    const DirectMembers& m = p_.members;
    for (int i = 1; i < m.team.size; ++i) {
      const int rank = m.team.rank + i;
      send(m.words[rank < m.team.size ? rank : rank - m.team.size] + offset, mine, words);
    }
  }
  __device__ __forceinline__ void take(std::uint64_t* place, int pe, const Quads<Shape>& mine,
                                       std::uint64_t (&words)[kQuads]) {
    if (!ok_) return;
    const auto awaited = [&](int j) -> dev::AwaitedWord {
      return {mine.have(j) ? place + j * kWriters : nullptr, pe};
    };
    ok_ = dev::take_words<kQuads>(p_.members.handle, name(p_), awaited, words);
  }
  // The parts of all, in rank order, to one sum that is rounded once.
  __device__ __forceinline__ void fold(std::uint64_t at, const Quads<Shape>& mine,
                                       std::uint64_t (&words)[kQuads]) {
    const DirectMembers& m = p_.members;
    if (m.team.size == 2) {  // in either order; all words are one wait
      std::uint64_t others[kQuads] = {};
      const int other = 1 - m.team.rank;
      take(m.space.words + m.space.slot_offset(round_, other) + at, m.team.pe_of(other), mine,
           others);
#pragma unroll
      for (int j = 0; j < kQuads; ++j) {
        if (mine.have(j)) words[j] = packed(added(unpacked(words[j]), unpacked(others[j])));
      }
      return;
    }
#pragma unroll
    for (int j = 0; j < kQuads; ++j) {
      if (!ok_ || !mine.have(j)) continue;
      const auto awaited = [&](int rank) -> dev::AwaitedWord {
        if (rank >= m.team.size || rank == m.team.rank) return {nullptr, -1};
        return {m.space.words + m.space.slot_offset(round_, rank) + at + j * kWriters,
                m.team.pe_of(rank)};
      };
      std::uint64_t parts[kMost];
      ok_ = dev::take_words<kMost>(m.handle, name(p_), awaited, parts);
      float4 sum;
#pragma unroll
      for (int rank = 0; rank < kMost; ++rank) {
        if (rank >= m.team.size) continue;
        const float4 next = unpacked(rank == m.team.rank ? words[j] : parts[rank]);
        sum = rank == 0 ? next : added(sum, next);
      }
      words[j] = packed(sum);
    }
  }
  static __device__ __forceinline__ float4 unpacked(std::uint64_t word) {
    const float2 low = unpack<T>(static_cast<std::uint32_t>(word));
    const float2 high = unpack<T>(static_cast<std::uint32_t>(word >> 32));
    return {low.x, low.y, high.x, high.y};
  }
  static __device__ __forceinline__ float4 added(const float4& a, const float4& b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
  }

  const Params& p_;
  const std::uint32_t base_, shared_;
  std::uint64_t round_ = 0;
  bool ok_ = true, sends_ = false;
};

}  // namespace weft::kernels::sm90
