// The epilogue of a GEMM that is added up over the members (kernels/gemm/epilogue_sm90.hpp):
// every tile is exchanged with its peer blocks on the other members, word by word
// (one_kernel_lamport_sm90.hpp).
//
// The last tile of a block goes by way of shared memory (one_kernel_left_sm90.hpp): where it is the
// only one, of few rows, so that all threads have as many words; blocks of a cluster may split k,
// then they add up their parts first, as in ClusterReduceEpilogue, and each has a share of the
// words. Where blocks go on and there are two members, straight from the registers of those who
// have multiplied it, and nobody waits for others of its block.
//
// Tiles before the last are left in shared memory. Three warps of the producer's group, the
// communication warps, send, wait and add up in their place while the next tile is multiplied. A
// communication warp has no more than 4 KiB under way: as much as links carry, so that what is sent
// stays out of the way of operands.
#pragma once

#include "kernels/fused/gemm_reduce_scatter/one_kernel_exchange_sm90.hpp"

namespace weft::kernels::sm90 {

template <class Shape>
class OneKernelEpilogue {
  using Tiles = OneKernelTiles<Shape>;
  using Left = LeftTile<Shape>;
  using T = typename Tiles::T;
  using Lamport = typename Tiles::Lamport;
  static constexpr bool kGoesOn = Tiles::kGoesOn;
  static constexpr int kQuads = Tiles::kQuads, kWriters = Tiles::kWriters;

 public:
  using Params = typename Tiles::Params;
  static constexpr int kTileWords = Tiles::kTileWords, kSharedBytes = Tiles::kSharedBytes;
  static constexpr int kCommWarps = Tiles::kCommWarps;
  static constexpr bool kSyncsCluster = !kGoesOn;

  static __device__ void prepare(const Params&, std::uint32_t shared) {
    barrier_init(Tiles::record_read(shared), 1);
    barrier_init(Tiles::filled(shared), kWriters);
    barrier_init(Tiles::empty(shared), kCommWarps);
  }

  template <class Scheduler>
  static __device__ __forceinline__ void move(const Params& p, std::uint32_t shared, int comm_warp,
                                              const Scheduler& scheduler, int cluster, int clusters,
                                              int rank) {
    if (comm_warp == 0) Tiles::read_record(p, shared);
    if constexpr (kGoesOn) {
      Lamport lamport = Tiles::begin(p, shared);
      gemm::Work work;
      int index = cluster;
      for (int wave = 0; wave < Tiles::waves_of(p) - 1; ++wave, index += clusters) {
        scheduler.work(index, rank, &work);
        barrier_wait(Tiles::filled(shared), wave & 1);
        if (p.members.team.size == 2) {
          Left::move_of_two(p, shared, comm_warp, work, lamport);
        } else {
          Left::move(p, shared, comm_warp, work, lamport);
        }
        __syncwarp();
        if (threadIdx.x % 32 == 0) barrier_arrive(Tiles::empty(shared));
      }
      lamport.finish();
    }
  }

  __device__ OneKernelEpilogue(const Params& p, std::uint32_t base, std::uint32_t shared)
      : p_(p), base_(base), shared_(shared), left_(Tiles::waves_of(p)) {}

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
      Left::exchange(p_, shared_, part);
    } else {
      exchange(part, writer, lower, sums);
    }
    // The next tile's first wgmma does not read them: so they need no registers in between.
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
  __device__ __forceinline__ void exchange(const Part<Shape>& part, int writer, bool lower,
                                           std::uint64_t (&sums)[kQuads]) {
    const int row = part.row + part.first_row() + (lower ? 8 : 0);
    const int column = part.column + part.first_column() / 4 * 4;
    const unsigned there = __ballot_sync(~0u, row < p_.rows);
    if (row >= p_.rows) return;
    Lamport lamport = Tiles::begin(p_, shared_);
    const std::uint64_t first =
        Tiles::word_offset(Tiles::tile_at(p_, part.row, part.column), writer);
    const auto all = [](int) { return true; };
    lamport.send(
        first, kWriters, all, [&](int) { return p_.members.team.rank; }, sums);
    __syncwarp(there);  // nobody waits before all have sent
    by_parts<Tiles::kMany>(sums, [&](int from, auto& some) {
      lamport.add_two(first + from * kWriters, kWriters, all, some);
      put(lamport, row, column + 8 * from, some);
    });
    lamport.finish();
  }

  // A word of one row, from the sums of two rows of which I have a half each, as my neighbour has
  // the others. By a warp.
  static __device__ __forceinline__ std::uint64_t row_of(bool lower, const float* d) {
    const std::uint32_t above = pack<T>(d[0], d[1]), below = pack<T>(d[2], d[3]);
    const std::uint32_t given = __shfl_xor_sync(~0u, lower ? above : below, 1);
    return lower ? Lamport::joined(given, below) : Lamport::joined(above, given);
  }
  template <int kCount>
  __device__ __forceinline__ void put(const Lamport& lamport, int row, int column,
                                      const std::uint64_t (&sums)[kCount]) const {
    if (!lamport.ok()) return;
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
inline constexpr bool kEpilogueMayStartEarly<OneKernelEpilogue<Shape>> =
    !OneKernelTiles<Shape>::kGoesOn;
// Communication warps add up what several members have sent.
template <class Shape>
inline constexpr int kCommWarpRegisters<OneKernelEpilogue<Shape>> =
    OneKernelTiles<Shape>::kGoesOn ? 128 : 104;
template <class Shape>
inline constexpr int kConsumerRegistersBesideCommWarps<OneKernelEpilogue<Shape>> =
    OneKernelTiles<Shape>::kGoesOn ? 184 : 200;

}  // namespace weft::kernels::sm90
