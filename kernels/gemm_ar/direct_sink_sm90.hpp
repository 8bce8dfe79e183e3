// The sink of a product that all members get whole (kernels/gemm/sink_sm90.hpp): blocks of a
// cluster add up their parts of k, as in ClusterSumSink; each sends its share of the tile to the
// other members, word by word, and adds up what they send of the same, or takes the sum from the
// tile's owner.
//
// A word is four neighbours-by-two of the sums of one thread, which is the same thread on every
// member: so nobody has to wait for others of its block.
#pragma once

#include <weft/device.hpp>

#include "kernels/core/sendable.hpp"
#include "kernels/gemm/sink_sm90.hpp"
#include "kernels/gemm_ar/direct_kernels_sm90.hpp"

namespace weft::kernels::sm90 {

template <class Shape>
class DirectSink {
  using T = typename Shape::Element;
  static constexpr int kQuads = Shape::kPartN / 8;  // of a thread, in a tile
  static constexpr int kWriters = kConsumers * kGroupThreads;

 public:
  struct Params {
    Matrix<T> c;
    DirectMembers members;
    int columns;  // of tiles
    bool two_shots;
  };
  static constexpr int kTileWords = kQuads * kWriters;
  static constexpr int kSharedBytes = 0;  // the ring's, which is not needed any more
  static constexpr bool kMeetsCluster = true;
  static constexpr int kMovers = 0;
  static_assert(Shape::kM * Shape::kN * 4 <= Shape::kRingBytes, "sums must fit into the ring");
  static_assert(kTileWords * 8 == Shape::kM * Shape::kN * 2);

  __device__ DirectSink(const Params& p, std::uint32_t base, std::uint32_t)
      : p_(p),
        base_(base),
        round_(p.members.space.record->round + 1),
        ok_(p.members.space.record->broken == 0),
        // Who sends in later rounds overwrites what a late member reads.
        sends_(ok_ || p.members.space.record->broken == round_) {}

  __device__ __forceinline__ void store(const Part<Shape>& part,
                                        const float (&d)[Shape::kPartN / 2]) {
    const int thread = part.consumer * kGroupThreads + part.thread;
    const std::uint32_t mine = base_ + thread * 16;
    named_barrier(1, kWriters);  // both consumers have multiplied all that was in the ring
#pragma unroll
    for (int j = 0; j < kQuads; ++j) {
      asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};"
                   :
                   : "r"(mine + j * kWriters * 16), "f"(d[4 * j]), "f"(d[4 * j + 1]),
                     "f"(d[4 * j + 2]), "f"(d[4 * j + 3])
                   : "memory");
    }
    cluster_sync();
    const int ranks = static_cast<int>(cluster_size()), rank = static_cast<int>(cluster_rank());
    const int first = kQuads * rank / ranks, last = kQuads * (rank + 1) / ranks;
    const int tile = part.row / Shape::kM * p_.columns + part.column / Shape::kN;
    const std::uint64_t at = std::uint64_t{static_cast<unsigned>(tile)} * kTileWords + thread;
    std::uint64_t words[kQuads] = {};
#pragma unroll
    for (int j = 0; j < kQuads; ++j) {
      if (first <= j && j < last) words[j] = sum_of_cluster(mine + j * kWriters * 16, ranks);
    }
    meet(tile, at, first, last, words);
    if (!ok_) return;
#pragma unroll
    for (int j = 0; j < kQuads; ++j) {
      if (j < first || last <= j) continue;
      const int row = part.row + part.first_row(),
                column = part.column + part.first_column() + 8 * j;
      p_.c.put(0, row, column, static_cast<std::uint32_t>(words[j]));
      p_.c.put(0, row + 8, column, static_cast<std::uint32_t>(words[j] >> 32));
    }
  }
  // All threads of the block have looked at the round, and left it. Who comes last counts it:
  // acquires and releases, since all others must have looked at the number before.
  __device__ void finish() {
    gemm_ar::Record* const record = p_.members.space.record;
    if (!ok_ && record->broken == 0) record->broken = round_;
    named_barrier(1, kWriters);
    if (threadIdx.x != kGroupThreads) return;
    const std::uint32_t last = gridDim.x - 1;
    if (count_up(&record->leaving, last) == last) record->round = round_;
  }

 private:
  static constexpr int kMost = kMostMembers;

  static __device__ __forceinline__ std::uint64_t packed(const float4& sum) {
    const std::uint32_t low = pack<T>(sum.x, sum.y), high = pack<T>(sum.z, sum.w);
    return sendable(std::uint64_t{high} << 32 | low);
  }
  static __device__ __forceinline__ std::uint64_t sum_of_cluster(std::uint32_t at, int ranks) {
    float4 sum = cluster_load(cluster_map(at, 0));
    for (int r = 1; r < ranks; ++r) {
      const float4 more = cluster_load(cluster_map(at, r));
      sum.x += more.x;
      sum.y += more.y;
      sum.z += more.z;
      sum.w += more.w;
    }
    return packed(sum);
  }

  // What I have of the tile's words [first, last) becomes the sum of all.
  __device__ __forceinline__ void meet(int tile, std::uint64_t at, int first, int last,
                                       std::uint64_t (&words)[kQuads]) {
    const DirectMembers& m = p_.members;
    const std::uint64_t part = m.space.slot_offset(round_, m.team.rank) + at;
    if (!sends_) return;
    if (!p_.two_shots) {
      send_to_all(part, first, last, words);
      return fold(at, first, last, words);
    }
    const int owner = gemm_ar::owner_of(tile, m.team.size);
    const std::uint64_t sum = m.space.slot_offset(round_, m.team.size) + at;
    if (owner == m.team.rank) {
      fold(at, first, last, words);
      if (ok_) send_to_all(sum, first, last, words);  // else they find out themselves
    } else {
      send(m.words[owner] + part, first, last, words);
      take(m.space.words + sum, m.team.pe_of(owner), first, last, words);
    }
  }
  static __device__ __forceinline__ void send(std::uint64_t* there, int first, int last,
                                              const std::uint64_t (&words)[kQuads]) {
#pragma unroll
    for (int j = 0; j < kQuads; ++j) {
      if (first <= j && j < last) dev::send_word(there + j * kWriters, words[j]);
    }
  }
  __device__ __forceinline__ void send_to_all(std::uint64_t offset, int first, int last,
                                              const std::uint64_t (&words)[kQuads]) const {
    const DirectMembers& m = p_.members;
    for (int i = 1; i < m.team.size; ++i) {
      const int rank = m.team.rank + i;
      send(m.words[rank < m.team.size ? rank : rank - m.team.size] + offset, first, last, words);
    }
  }
  __device__ __forceinline__ void take(std::uint64_t* place, int pe, int first, int last,
                                       std::uint64_t (&words)[kQuads]) {
    if (!ok_) return;
    const auto awaited = [&](int j) -> dev::AwaitedWord {
      return {first <= j && j < last ? place + j * kWriters : nullptr, pe};
    };
    ok_ = dev::take_words<kQuads>(p_.members.handle, "GemmAr", awaited, words);
  }
  // The parts of all, in rank order, to one sum that is rounded once.
  __device__ __forceinline__ void fold(std::uint64_t at, int first, int last,
                                       std::uint64_t (&words)[kQuads]) {
    const DirectMembers& m = p_.members;
    if (m.team.size == 2) {  // in either order; all words are one wait
      std::uint64_t others[kQuads] = {};
      take(m.space.part(round_, 1 - m.team.rank) + at, m.team.pe_of(1 - m.team.rank), first, last,
           others);
#pragma unroll
      for (int j = 0; j < kQuads; ++j) {
        if (first <= j && j < last)
          words[j] = packed(added(unpacked(words[j]), unpacked(others[j])));
      }
      return;
    }
#pragma unroll
    for (int j = 0; j < kQuads; ++j) {
      if (!ok_ || j < first || last <= j) continue;
      const auto awaited = [&](int rank) -> dev::AwaitedWord {
        if (rank >= m.team.size || rank == m.team.rank) return {nullptr, -1};
        return {m.space.part(round_, rank) + at + j * kWriters, m.team.pe_of(rank)};
      };
      std::uint64_t parts[kMost];
      ok_ = dev::take_words<kMost>(m.handle, "GemmAr", awaited, parts);
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
  const std::uint32_t base_;
  const std::uint64_t round_;
  bool ok_;
  const bool sends_;
};

}  // namespace weft::kernels::sm90
