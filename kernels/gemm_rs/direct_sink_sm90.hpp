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
    int columns;  // of tiles
    bool two_shots;
  };
  static constexpr int kTileWords = kQuads * kWriters;
  static constexpr int kSharedBytes = 3 * 8;  // a barrier; what the record says
  static constexpr bool kMeetsCluster = true;
  static constexpr int kMovers = 1;  // looks at the record
  static_assert(kTileWords * 8 == Shape::kM * Shape::kN * 2);

  static __device__ void prepare(const Params&, std::uint32_t shared) { barrier_init(shared, 1); }

  // While the product is under way: tells the block the round, and counts it once all blocks have
  // looked. Acquires and releases: who comes last writes what the others have read before.
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
    }
    __syncwarp();
  }

  __device__ DirectSink(const Params& p, std::uint32_t base, std::uint32_t shared)
      : p_(p), base_(base), shared_(shared) {}

  // Rows that are not there do not travel.
  __device__ __forceinline__ void store(const Part<Shape>& part, float (&d)[Shape::kPartN / 2]) {
    const Quads<Shape> mine = add_up(base_, part, d);
    const int row = part.row + part.first_row(), column = part.column + part.first_column();
    if (row >= p_.c.rows) return;
    look();
    const int tile = part.row / Shape::kM * p_.columns + part.column / Shape::kN;
    const std::uint64_t at = std::uint64_t{static_cast<unsigned>(tile)} * kTileWords +
                             part.consumer * kGroupThreads + part.thread;
    std::uint64_t words[kQuads];
#pragma unroll
    for (int j = 0; j < kQuads; ++j) {
      words[j] = packed({d[4 * j], d[4 * j + 1], d[4 * j + 2], d[4 * j + 3]});
    }
    meet(tile, at, mine, words);
    if (!ok_) return;
#pragma unroll
    for (int j = 0; j < kQuads; ++j) {
      if (!mine.have(j)) continue;
      p_.c.put(0, row, column + 8 * j, static_cast<std::uint32_t>(words[j]));
      p_.c.put(0, row + 8, column + 8 * j, static_cast<std::uint32_t>(words[j] >> 32));
    }
  }
  __device__ void finish() {
    gemm_rs::Record* const record = p_.members.space.record;
    if (!ok_ && record->broken == 0) record->broken = round_;
  }

 private:
  static constexpr int kMost = kMostMembers;

  static __device__ __forceinline__ std::uint64_t packed(const float4& sum) {
    const std::uint32_t low = pack<T>(sum.x, sum.y), high = pack<T>(sum.z, sum.w);
    return sendable(std::uint64_t{high} << 32 | low);
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

  // What I have of the tile's words, `mine`, becomes the sum of all.
  __device__ __forceinline__ void meet(int tile, std::uint64_t at, const Quads<Shape>& mine,
                                       std::uint64_t (&words)[kQuads]) {
    const DirectMembers& m = p_.members;
    const std::uint64_t part = m.space.slot_offset(round_, m.team.rank) + at;
    if (!sends_) return;
    if (!p_.two_shots) {
      send_to_all(part, mine, words);
      return fold(at, mine, words);
    }
    const int owner = gemm_rs::owner_of(tile, m.team.size);
    const std::uint64_t sum = m.space.slot_offset(round_, m.team.size) + at;
    if (owner == m.team.rank) {
      fold(at, mine, words);
      if (ok_) send_to_all(sum, mine, words);  // else they find out themselves
    } else {
      send(m.words[owner] + part, mine, words);
      take(m.space.words + sum, m.team.pe_of(owner), mine, words);
    }
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
    ok_ = dev::take_words<kQuads>(p_.members.handle, "GemmAr", awaited, words);
  }
  // The parts of all, in rank order, to one sum that is rounded once.
  __device__ __forceinline__ void fold(std::uint64_t at, const Quads<Shape>& mine,
                                       std::uint64_t (&words)[kQuads]) {
    const DirectMembers& m = p_.members;
    if (m.team.size == 2) {  // in either order; all words are one wait
      std::uint64_t others[kQuads] = {};
      take(m.space.part(round_, 1 - m.team.rank) + at, m.team.pe_of(1 - m.team.rank), mine, others);
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
  const std::uint32_t base_, shared_;
  std::uint64_t round_ = 0;
  bool ok_ = true, sends_ = false;
};

}  // namespace weft::kernels::sm90
