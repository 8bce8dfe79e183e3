// Words of a tile that lies in shared memory (one_kernel_epilogue_sm90.hpp), word j of all consumer
// threads, then the next: sent, waited for and added up by warps, the communication warps', or the
// consumers' own of the last tile.
#pragma once

#include "kernels/fused/gemm_reduce_scatter/one_kernel_tiles_sm90.hpp"

namespace weft::kernels::sm90 {

template <class Shape>
class LeftTile {
  using Tiles = OneKernelTiles<Shape>;
  using Params = typename Tiles::Params;
  using Lamport = typename Tiles::Lamport;
  using Pair = typename Lamport::Pair;
  static constexpr int kQuads = Tiles::kQuads, kMany = Tiles::kMany, kCommWarps = Tiles::kCommWarps;
  static constexpr int kWarps = Tiles::kWarps, kWriters = Tiles::kWriters;

 public:
  // For two members. A communication warp takes word j of all threads; what a lane has of each warp
  // lies in rows that are 16 apart. One is sent before one is awaited.
  static __device__ __forceinline__ void move_of_two(const Params& p, std::uint32_t shared,
                                                     int comm_warp, const gemm::Work& work,
                                                     Lamport& lamport) {
    const int lane = static_cast<int>(threadIdx.x % 32), row = work.row + lane / 2;
    const int tile = Tiles::tile_at(p, work.row, work.column);
    const auto have = [&](int i) { return row + 16 * i < p.rows; };
    for (int j = comm_warp; j < kQuads + kCommWarps; j += kCommWarps) {
      std::uint64_t left[kWarps];
      if (j < kQuads) {
        const int at = j * kWriters + lane;
        load(shared + at * 8, left);
        lamport.send(
            Tiles::word_offset(tile, at), 32, have, [&](int) { return p.members.team.rank; }, left);
      }
      if (j < kCommWarps) continue;
      const int at = (j - kCommWarps) * kWriters + lane;
      load(shared + at * 8, left);
      lamport.add_two(Tiles::word_offset(tile, at), 32, have, left);
      if (!lamport.ok()) continue;
      const int column = work.column + 8 * (j - kCommWarps) + lane % 2 * 4;
#pragma unroll
      for (int i = 0; i < kWarps; ++i) p.c.put_four(row + 16 * i, column, left[i]);
    }
  }

  // For more members: two words of a row at a time. Sums go on their way before those that are sent
  // meanwhile are awaited.
  static __device__ __forceinline__ void move(const Params& p, std::uint32_t shared, int comm_warp,
                                              const gemm::Work& work, Lamport& lamport) {
    const int tile = Tiles::tile_at(p, work.row, work.column);
#pragma unroll 1
    for (int j = comm_warp; j < kQuads + 2 * kCommWarps; j += kCommWarps) {
      if (j < kQuads) send(p, shared, tile, j, work, lamport);
      if (j >= kCommWarps && j < kQuads + kCommWarps)
        add_up(p, shared, tile, j - kCommWarps, work, lamport);
      if (j >= 2 * kCommWarps) take(p, tile, j - 2 * kCommWarps, work, lamport);
    }
  }

  // A warp's words of the last tile, of more members than two. A lane takes two of a row, of every
  // second number.
  static __device__ __forceinline__ void exchange(const Params& p, std::uint32_t shared,
                                                  const Part<Shape>& part) {
    constexpr int kPairs = kMany / 2, kShare = 3;
    const int lane = part.thread % 32, warp = part.thread / 32, half = lane / 16;
    const int at = part.consumer * kGroupThreads + warp * 32 + lane % 16 * 2;
    const int row = part.row + warp * 16 + lane % 16;
    if (row >= p.rows) return;
    Lamport lamport = Tiles::begin(p, shared);
    const int tile = Tiles::tile_at(p, part.row, part.column), rank = p.members.team.rank;
    const auto offset = [&](int j) { return Tiles::word_offset(tile, j * kWriters + at); };
    const auto here = [&](int j) { return load_pair(shared + (j * kWriters + at) * 8); };
#pragma unroll 1
    for (int from = half; from < kQuads; from += kMany) {
      int owners[kMany];
      Tiles::find_owners(p, tile, from, row, owners);
      Pair some[kPairs];
#pragma unroll
      for (int i = 0; i < kPairs; ++i) some[i] = here(from + 2 * i);
      lamport.send(
          offset(from), 2 * kWriters, [](int) { return true; },
          [&](int i) { return owners[2 * i]; }, some);
    }
    const bool owns_all = p.reduction != gemm_rs::Reduction::kTwoShot;
    const int step = owns_all ? 1 : p.members.team.size;
    int mine = owns_all ? 0 : rank - owner_of(p, tile, 0);
    if (mine < 0) mine += step;
#pragma unroll 1
    for (int j = mine + half * step; j < kQuads; j += 2 * kShare * step) {
      const auto number = [&](int i) { return j + 2 * i * step; };
      const auto have = [&](int i) { return number(i) < kQuads; };
      const auto own = [&](int i) { return here(have(i) ? number(i) : j); };
      Pair some[kShare];
      lamport.add_more(offset(j), 2 * step * kWriters, have, own, some);
      if (!lamport.ok()) break;
#pragma unroll
      for (int i = 0; i < kShare; ++i)
        if (have(i)) put_pair(p, row, part.column + 8 * number(i), some[i]);
    }
#pragma unroll 1
    for (int from = half; !owns_all && from < kQuads; from += kMany) {
      int owners[kMany];
      Tiles::find_owners(p, tile, from, row, owners);
      const auto owner = [&](int i) { return owners[2 * i]; };
      const auto theirs = [&](int i) { return owner(i) != rank; };
      Pair some[kPairs] = {};
      lamport.take_sums(offset(from), 2 * kWriters, theirs, owner, some);
      if (!lamport.ok()) break;
#pragma unroll
      for (int i = 0; i < kPairs; ++i)
        if (theirs(i)) put_pair(p, row, part.column + 8 * (from + 2 * i), some[i]);
    }
    lamport.finish();
  }

  // A tile of few rows, by all consumers' threads, who share out the words that are there, two of a
  // row at a time: each word that a thread sends or polls takes its time.
  static __device__ __forceinline__ void share(const Params& p, std::uint32_t shared,
                                               const Part<Shape>& part, const Quads<Shape>& mine) {
    constexpr int kPairs = (kQuads + 1) / 2, kParts = Shape::kPartsN;
    const int thread = part.consumer * kGroupThreads + part.thread;
    const int top = part.row - part.consumer / kParts * Shape::kPartM;
    const int left = part.column - part.consumer % kParts * Shape::kPartN;
    // A thread's pairs are of one row, and of every step-th number.
    const int rows = p.rows - top < Shape::kM ? p.rows - top : Shape::kM;
    const int bits = 32 - __clz(rows - 1), row = thread & ((1 << bits) - 1), rest = thread >> bits;
    const int step = (kWriters >> bits) / kParts, from = mine.first + rest / kParts;
    const int column = left + rest % kParts * Shape::kPartN;
    const int consumer = kParts == 1 ? row / 64 : rest % kParts;
    const int at = consumer * kGroupThreads + row % 64 * 2;
    const unsigned there = __ballot_sync(~0u, row < rows);
    if (row >= rows) return;
    Lamport lamport = Tiles::begin(p, shared);
    const int tile = Tiles::tile_at(p, top, left), rank = p.members.team.rank;
    const std::uint64_t first = Tiles::word_offset(tile, from * kWriters + at);
    const auto have = [&](int i) { return from + i * step < mine.last; };
    Pair some[kPairs];
    int owners[kPairs];
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      const int number = have(i) ? from + i * step : 0;
      some[i] = load_pair(shared + (number * kWriters + at) * 8);
      int owner[1];
      Tiles::find_owners(p, tile, number, top + row, owner);
      owners[i] = owner[0];
    }
    const auto owner = [&](int i) { return owners[i]; };
    const auto is_mine = [&](int i) { return have(i) & (owners[i] == rank); };
    const auto put_those = [&](auto which) {
      if (!lamport.ok()) return;
#pragma unroll
      for (int i = 0; i < kPairs; ++i)
        if (which(i)) put_pair(p, top + row - p.first, column + 8 * (from + i * step), some[i]);
    };
    lamport.send(first, step * kWriters, have, owner, some);
    __syncwarp(there);  // nobody waits before all have sent
    if (p.members.team.size == 2) {
      lamport.add_two(first, step * kWriters, is_mine, some);
    } else {
      lamport.add_more(
          first, step * kWriters, is_mine, [&](int i) { return some[i]; }, some);
    }
    put_those(is_mine);
    if (p.reduction == gemm_rs::Reduction::kTwoShot) {
      const auto theirs = [&](int i) { return have(i) & (owners[i] != rank); };
      lamport.take_sums(first, step * kWriters, theirs, owner, some);
      put_those(theirs);
    }
    lamport.finish();
  }

 private:
  // The words j that a communication warp's lane has: two of a row, of every second warp.
  static constexpr int kPairs = kWarps / 2;
  static __device__ __forceinline__ int pair_at(int j) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    return j * kWriters + lane / 16 * 32 + lane % 16 * 2;
  }
  static __device__ __forceinline__ int row_at(const gemm::Work& work) {
    return work.row + static_cast<int>(threadIdx.x % 32);
  }

  static __device__ __forceinline__ void send(const Params& p, std::uint32_t shared, int tile,
                                              int j, const gemm::Work& work,
                                              const Lamport& lamport) {
    const int row = row_at(work), owner = owner_of(p, tile, j);
    Pair left[kPairs];
#pragma unroll
    for (int i = 0; i < kPairs; ++i) left[i] = load_pair(shared + (pair_at(j) + i * 64) * 8);
    lamport.send(
        Tiles::word_offset(tile, pair_at(j)), 64, [&](int i) { return row + 32 * i < p.rows; },
        [&](int) { return owner; }, left);
  }
  static __device__ __forceinline__ void add_up(const Params& p, std::uint32_t shared, int tile,
                                                int j, const gemm::Work& work, Lamport& lamport) {
    constexpr int kAtOnce = 2;
    if (owner_of(p, tile, j) != p.members.team.rank) return;
#pragma unroll 1
    for (int from = 0; from < kPairs; from += kAtOnce) {
      const int at = pair_at(j) + from * 64, row = row_at(work) + 32 * from;
      Pair sums[kAtOnce];
      lamport.add_more(
          Tiles::word_offset(tile, at), 64, [&](int i) { return row + 32 * i < p.rows; },
          [&](int i) { return load_pair(shared + (at + i * 64) * 8); }, sums);
      put(p, row, work.column + 8 * j, lamport, sums);
    }
  }
  static __device__ __forceinline__ void take(const Params& p, int tile, int j,
                                              const gemm::Work& work, Lamport& lamport) {
    const int row = row_at(work), owner = owner_of(p, tile, j);
    if (owner == p.members.team.rank) return;
    Pair sums[kPairs] = {};
    lamport.take_sums(
        Tiles::word_offset(tile, pair_at(j)), 64, [&](int i) { return row + 32 * i < p.rows; },
        [&](int) { return owner; }, sums);
    put(p, row, work.column + 8 * j, lamport, sums);
  }

  static __device__ __forceinline__ int owner_of(const Params& p, int tile, int j) {
    int owner[1];
    Tiles::find_owners(p, tile, j, 0, owner);
    return owner[0];
  }
  template <int kCount>
  static __device__ __forceinline__ void put(const Params& p, int row, int column,
                                             const Lamport& lamport, const Pair (&sums)[kCount]) {
    if (!lamport.ok()) return;
#pragma unroll
    for (int i = 0; i < kCount; ++i) put_pair(p, row + 32 * i, column, sums[i]);
  }
  static __device__ __forceinline__ void put_pair(const Params& p, int row, int column,
                                                  const Pair& sums) {
    p.c.put_four(row, column, sums.first);
    p.c.put_four(row, column + 4, sums.second);
  }

  // Words of the same lane of warps that follow one another.
  template <int kCount>
  static __device__ __forceinline__ void load(std::uint32_t from, std::uint64_t (&words)[kCount]) {
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      asm volatile("ld.shared.u64 %0, [%1];" : "=l"(words[i]) : "r"(from + i * 32 * 8) : "memory");
  }
  static __device__ __forceinline__ Pair load_pair(std::uint32_t from) {
    Pair words;
    asm volatile("ld.shared.v2.u64 {%0, %1}, [%2];"
                 : "=l"(words.first), "=l"(words.second)
                 : "r"(from)
                 : "memory");
    return words;
  }
};

}  // namespace weft::kernels::sm90
