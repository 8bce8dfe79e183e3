// The sink of a product that is added up over the members (kernels/gemm/sink_sm90.hpp): every tile
// meets its twins on the other members, word by word (direct_words_sm90.hpp).
//
// The last tile of a block goes by way of shared memory (direct_left_sm90.hpp): where it is the
// only one, of few rows, so that all threads have as many words; blocks of a cluster may split k,
// then they add up their parts first, as in ClusterSumSink, and each has a share of the words.
// Where blocks go on and there are two members, straight from the registers of those who have
// multiplied it, and nobody waits for others of its block.
//
// Tiles before the last are left in shared memory. Three warps of the producer's group, the movers,
// send, wait and add up in their place while the next tile is multiplied. A mover has no more than
// 4 KiB under way: as much as links carry, so that what is sent stays out of the way of operands.
#pragma once

#include "kernels/gemm_rs/direct_left_sm90.hpp"

namespace weft::kernels::sm90 {

template <class Shape>
class DirectSink {
  using Tiles = DirectTiles<Shape>;
  using Left = LeftTile<Shape>;
  using T = typename Tiles::T;
  using Words = typename Tiles::Words;
  static constexpr bool kGoesOn = Tiles::kGoesOn;
  static constexpr int kQuads = Tiles::kQuads, kWriters = Tiles::kWriters;

 public:
  using Params = typename Tiles::Params;
  static constexpr int kTileWords = Tiles::kTileWords, kSharedBytes = Tiles::kSharedBytes;
  static constexpr int kMovers = Tiles::kMovers;
  static constexpr bool kMeetsCluster = !kGoesOn;

  static __device__ void prepare(const Params&, std::uint32_t shared) {
    barrier_init(Tiles::looked(shared), 1);
    barrier_init(Tiles::filled(shared), kWriters);
    barrier_init(Tiles::empty(shared), kMovers);
  }

  template <class Order>
  static __device__ __forceinline__ void move(const Params& p, std::uint32_t shared, int mover,
                                              const Order& order, int cluster, int clusters,
                                              int rank) {
    if (mover == 0) Tiles::look_at_record(p, shared);
    if constexpr (kGoesOn) {
      Words words = Tiles::begin(p, shared);
      gemm::Work work;
      int index = cluster;
      for (int turn = 0; turn < Tiles::turns_of(p) - 1; ++turn, index += clusters) {
        order.work(index, rank, &work);
        barrier_wait(Tiles::filled(shared), turn & 1);
        if (p.members.team.size == 2) {
          Left::move_of_two(p, shared, mover, work, words);
        } else {
          Left::move(p, shared, mover, work, words);
        }
        __syncwarp();
        if (threadIdx.x % 32 == 0) barrier_arrive(Tiles::empty(shared));
      }
      words.finish();
    }
  }

  __device__ DirectSink(const Params& p, std::uint32_t base, std::uint32_t shared)
      : p_(p), base_(base), shared_(shared), left_(Tiles::turns_of(p)) {}

  // Rows that are not there do not travel.
  __device__ __forceinline__ void store(const Part<Shape>& part, float (&d)[Shape::kPartN / 2]) {
    Quads<Shape> mine{0, kQuads};
    if constexpr (!kGoesOn) mine = add_up(base_, part, d);
    const bool lower = part.thread % 2 != 0;
    const int lane = part.thread % 32;
    const int writer =
        part.consumer * kGroupThreads + part.thread - lane + lane / 2 + (lower ? 16 : 0);
    std::uint64_t sums[kQuads];
#pragma unroll
    for (int j = 0; j < kQuads; ++j) sums[j] = row_of(lower, d + 4 * j);
    if (kGoesOn && --left_ > 0) {
      leave(writer, sums);
      barrier_arrive(Tiles::filled(shared_));  // releases: pairs with move()'s wait
    } else if (!kGoesOn) {
      leave(writer, sums);
      named_barrier(1, kWriters);
      Left::share(p_, shared_, part, mine);
    } else if (p_.members.team.size > 2) {
      leave(writer, sums);
      __syncwarp();
      Left::meet(p_, shared_, part);
    } else {
      meet(part, writer, lower, sums);
    }
    // The next tile's first product does not read them: so they need no registers in between.
#pragma unroll
    for (float& sum : d) sum = 0;
  }
  __device__ void finish() const {}

 private:
  // Where it is found by its number: word j of all consumer threads, then the next.
  __device__ __forceinline__ void leave(int writer, const std::uint64_t (&sums)[kQuads]) {
    barrier_wait(Tiles::empty(shared_), phase_ ^ 1);  // the first time, it is
    phase_ ^= 1;
#pragma unroll
    for (int j = 0; j < kQuads; ++j)
      asm volatile("st.shared.u64 [%0], %1;"
                   :
                   : "r"(shared_ + (j * kWriters + writer) * 8), "l"(sums[j])
                   : "memory");
  }

  // From registers, of two members.
  __device__ __forceinline__ void meet(const Part<Shape>& part, int writer, bool lower,
                                       std::uint64_t (&sums)[kQuads]) {
    const int row = part.row + part.first_row() + (lower ? 8 : 0);
    const int column = part.column + part.first_column() / 4 * 4;
    const unsigned there = __ballot_sync(~0u, row < p_.rows);
    if (row >= p_.rows) return;
    Words words = Tiles::begin(p_, shared_);
    const std::uint64_t first = Tiles::place_of(Tiles::tile_at(p_, part.row, part.column), writer);
    const auto all = [](int) { return true; };
    words.send(
        first, kWriters, all, [&](int) { return p_.members.team.rank; }, sums);
    __syncwarp(there);  // nobody waits before all have sent
    by_parts<Tiles::kMany>(sums, [&](int from, auto& some) {
      words.add_two(first + from * kWriters, kWriters, all, some);
      put(words, row, column + 8 * from, some);
    });
    words.finish();
  }

  // Of the sums of two rows that I have a half of each, as my neighbour has the others. By a warp.
  static __device__ __forceinline__ std::uint64_t row_of(bool lower, const float* d) {
    const std::uint32_t above = pack<T>(d[0], d[1]), below = pack<T>(d[2], d[3]);
    const std::uint32_t given = __shfl_xor_sync(~0u, lower ? above : below, 1);
    return lower ? Words::joined(given, below) : Words::joined(above, given);
  }
  template <int kCount>
  __device__ __forceinline__ void put(const Words& words, int row, int column,
                                      const std::uint64_t (&sums)[kCount]) const {
    if (!words.ok()) return;
#pragma unroll
    for (int j = 0; j < kCount; ++j) p_.c.put_four(row - p_.first, column + 8 * j, sums[j]);
  }

  // call(from, words) for words [from, from + kSize), then the next.
  template <int kSize, class Call>
  static __device__ __forceinline__ void by_parts(const std::uint64_t (&words)[kQuads], Call call) {
    static_assert(kQuads % kSize == 0);
#pragma unroll
    for (int from = 0; from < kQuads; from += kSize) {
      std::uint64_t some[kSize];
#pragma unroll
      for (int j = 0; j < kSize; ++j) some[j] = words[from + j];
      call(from, some);
    }
  }

  const Params& p_;
  const std::uint32_t base_, shared_;
  int left_;
  std::uint32_t phase_ = 0;
};

template <class Shape>
inline constexpr bool kSinkMayStartEarly<DirectSink<Shape>> = !DirectTiles<Shape>::kGoesOn;
// Movers add up what several members have sent.
template <class Shape>
inline constexpr int kMoverRegisters<DirectSink<Shape>> = DirectTiles<Shape>::kGoesOn ? 128 : 104;
template <class Shape>
inline constexpr int kMoverConsumerRegisters<DirectSink<Shape>> =
    DirectTiles<Shape>::kGoesOn ? 184 : 200;

}  // namespace weft::kernels::sm90
