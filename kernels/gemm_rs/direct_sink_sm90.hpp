// The sink of a product that is added up over the members (kernels/gemm/sink_sm90.hpp): every tile
// meets its twins on the other members, word by word (direct_words_sm90.hpp).
//
// A word is four neighbours of a row, from two neighbouring threads, of which the even one has the
// upper row's and the odd one the lower row's. They are the same threads on every member. Words of
// a warp's upper rows lie together, and those of its lower ones behind: so, word by word of a
// thread, rows follow one another.
//
// The last tile of a block goes straight from the registers of those who have multiplied it, and
// nobody waits for others of its block. Blocks of a cluster may split k; then they add up their
// parts first, as in ClusterSumSink, and each has a share of the words.
//
// Tiles before the last are left in shared memory. Three warps of the producer's group, the movers,
// send, wait and add up in their place while the next tile is multiplied. A mover has no more than
// 4 KiB under way: as much as links carry, so that what is sent stays out of the way of operands.
#pragma once

#include "kernels/gemm_rs/direct_words_sm90.hpp"

namespace weft::kernels::sm90 {

template <class Shape>
class DirectSink {
  using T = typename Shape::Element;
  using Words = DirectWords<T>;
  static constexpr int kQuads = Quads<Shape>::kCount;  // of a thread, in a tile
  static constexpr int kWarps = kConsumers * 4, kWriters = 32 * kWarps;
  // Blocks go from tile to tile, of which none splits k.
  static constexpr bool kGoesOn = Shape::kSharing > 1;
  // Words of a thread that are added up together, of more members than two; and how many members'.
  static constexpr int kSome = kQuads < 8        ? kQuads
                               : kQuads % 4 == 0 ? 4
                                                 : 5,
                       kRanks = kGoesOn ? 1 : 12 / kSome;
  static constexpr int kOfTwo = kQuads <= 12 ? kQuads : kQuads / 2;

 public:
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
  static constexpr int kTileWords = kQuads * kWriters;
  static constexpr int kLeftBytes = kGoesOn ? kTileWords * 8 : 0;
  static constexpr int kSharedBytes = kLeftBytes + 5 * 8;  // what the record says; barriers
  static constexpr bool kMeetsCluster = !kGoesOn;
  static constexpr int kMovers = kGoesOn ? 3 : 1;
  static_assert(kTileWords * 8 == Shape::kM * Shape::kN * 2);

  static __device__ void prepare(const Params&, std::uint32_t shared) {
    barrier_init(looked(shared), 1);
    barrier_init(filled(shared), kWriters);
    barrier_init(empty(shared), kMovers);
  }

  template <class Order>
  static __device__ __forceinline__ void move(const Params& p, std::uint32_t shared, int mover,
                                              const Order& order, int cluster, int clusters,
                                              int rank) {
    if (mover == 0) look_at_record(p, shared);
    if constexpr (kGoesOn) {
      Words words = begin(p, shared);
      gemm::Work work;
      int index = cluster;
      for (int turn = 0; turn < turns_of(p) - 1; ++turn, index += clusters) {
        order.work(index, rank, &work);
        barrier_wait(filled(shared), turn & 1);
        for (int j = mover; j < kQuads + kAhead; j += kMovers) {
          if (j < kQuads) send_left(p, shared, j, work, words);
          if (j >= kAhead) add_up_left(p, shared, j - kAhead, work, words);
        }
        __syncwarp();
        if (threadIdx.x % 32 == 0) barrier_arrive(empty(shared));
      }
      words.finish();
    }
  }

  __device__ DirectSink(const Params& p, std::uint32_t base, std::uint32_t shared)
      : p_(p), base_(base), shared_(shared), left_(turns_of(p)) {}

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
    if constexpr (kGoesOn) {
      if (--left_ > 0) return leave(writer, sums);
    }
    const int row = part.row + part.first_row() + (lower ? 8 : 0);
    const int column = part.column + part.first_column() / 4 * 4;
    const unsigned there = __ballot_sync(~0u, row < p_.rows);
    if (row >= p_.rows) return;
    Words words = begin(p_, shared_);
    const int tile = tile_at(p_, part.row, part.column);
    const std::uint64_t first = place_of(tile, writer);
    const auto owner = [&](int j) { return owner_of(p_, tile, j, row); };
    const auto have = [&](int j) { return mine.have(j); };
    words.template send<kWriters>(first, have, owner, sums);
    __syncwarp(there);  // nobody waits before all have sent
    if (p_.members.team.size == 2) {
      by_parts<kOfTwo>(sums, [&](int from, auto& some) {
        const auto adds = [&](int j) { return kGoesOn ? p_.members.team.rank : owner(from + j); };
        const auto have_here = [&](int j) { return have(from + j); };
        words.template add_two<kWriters>(first + from * kWriters, have_here, adds, some);
        put(words, row, column + 8 * from, have_here, adds, some);
      });
    } else {
      by_parts<kSome>(sums, [&](int from, auto& some) {
        const auto adds = [&](int j) { return owner(from + j); };
        const auto have_here = [&](int j) { return have(from + j); };
        words.template add_more<kWriters, kRanks>(first + from * kWriters, have_here, adds, some);
        put(words, row, column + 8 * from, have_here, adds, some);
      });
    }
    words.finish();
  }
  __device__ void finish() const {}

 private:
  static constexpr int kAhead = kMovers;  // a mover sends one word more before it waits

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
  static __device__ std::uint64_t place_of(int tile, int writer) {
    return std::uint64_t{static_cast<unsigned>(tile)} * kTileWords + writer;
  }
  // Of word j of a thread, of that row.
  static __device__ __forceinline__ int owner_of(const Params& p, int tile, int j, int row) {
    const Team& team = p.members.team;
    if (!kGoesOn && p.way == gemm_rs::Way::kScatter) return row / p.each;
    return p.way == gemm_rs::Way::kTwoShots ? gemm_rs::owner_of(tile * kQuads + j, team.size)
                                            : team.rank;
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

  // Of the sums of two rows that I have a half of each, as my neighbour has the others. By a warp.
  static __device__ __forceinline__ std::uint64_t row_of(bool lower, const float* d) {
    const std::uint32_t above = pack<T>(d[0], d[1]), below = pack<T>(d[2], d[3]);
    const std::uint32_t given = __shfl_xor_sync(~0u, lower ? above : below, 1);
    return lower ? Words::joined(given, below) : Words::joined(above, given);
  }
  template <int kMany, class Have, class Owner>
  __device__ __forceinline__ void put(const Words& words, int row, int column, Have have,
                                      Owner owner, const std::uint64_t (&sums)[kMany]) const {
    if (!words.ok()) return;
#pragma unroll
    for (int j = 0; j < kMany; ++j) {
      if (!have(j) || (p_.way == gemm_rs::Way::kScatter && owner(j) != p_.members.team.rank))
        continue;
      p_.c.put_four(row - p_.first, column + 8 * j, sums[j]);
    }
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

  // Where the movers find it: word j of all consumer threads, then the next.
  __device__ __forceinline__ void leave(int writer, const std::uint64_t (&sums)[kQuads]) {
    barrier_wait(empty(shared_), phase_ ^ 1);  // the first time, it is
    phase_ ^= 1;
#pragma unroll
    for (int j = 0; j < kQuads; ++j)
      asm volatile("st.shared.u64 [%0], %1;"
                   :
                   : "r"(shared_ + (j * kWriters + writer) * 8), "l"(sums[j])
                   : "memory");
    barrier_arrive(filled(shared_));  // releases: pairs with move()'s wait
  }
  // Of word j of all consumer threads, by a warp. What a lane has of each warp lies in rows that
  // are 16 apart.
  static_assert(Shape::kPartsN == 1 || !kGoesOn);
  static __device__ __forceinline__ void send_left(const Params& p, std::uint32_t shared, int j,
                                                   const gemm::Work& work, const Words& words) {
    const int lane = static_cast<int>(threadIdx.x % 32), row = work.row + lane / 2;
    const int tile = tile_at(p, work.row, work.column);
    std::uint64_t left[kWarps];
    load(shared + (j * kWriters + lane) * 8, left);
    words.template send<32>(
        place_of(tile, j * kWriters + lane), [&](int i) { return row + 16 * i < p.rows; },
        [&](int) { return owner_of(p, tile, j, row); }, left);
  }
  static __device__ __forceinline__ void add_up_left(const Params& p, std::uint32_t shared, int j,
                                                     const gemm::Work& work, Words& words) {
    if (p.members.team.size == 2) return add_up_warps<kWarps>(p, shared, j, 0, work, words);
#pragma unroll 1
    for (int warp = 0; warp < kWarps; warp += 4) add_up_warps<4>(p, shared, j, warp, work, words);
  }
  template <int kMany>
  static __device__ __forceinline__ void add_up_warps(const Params& p, std::uint32_t shared, int j,
                                                      int warp, const gemm::Work& work,
                                                      Words& words) {
    const int lane = static_cast<int>(threadIdx.x % 32), row = work.row + lane / 2 + 16 * warp;
    const int tile = tile_at(p, work.row, work.column), at = j * kWriters + warp * 32 + lane;
    const auto have = [&](int i) { return row + 16 * i < p.rows; };
    const auto owner = [&](int) { return owner_of(p, tile, j, row); };
    std::uint64_t left[kMany];
    load(shared + at * 8, left);
    if constexpr (kMany == kWarps) {
      words.template add_two<32>(
          place_of(tile, at), have, [&](int) { return p.members.team.rank; }, left);
    } else {
      words.template add_more<32, 1>(place_of(tile, at), have, owner, left);
    }
    if (!words.ok()) return;
    const int column = work.column + 8 * j + lane % 2 * 4;
#pragma unroll
    for (int i = 0; i < kMany; ++i) p.c.put_four(row + 16 * i, column, left[i]);
  }
  // Words of the same lane of warps that follow one another.
  template <int kMany>
  static __device__ __forceinline__ void load(std::uint32_t from, std::uint64_t (&words)[kMany]) {
#pragma unroll
    for (int i = 0; i < kMany; ++i)
      asm volatile("ld.shared.u64 %0, [%1];" : "=l"(words[i]) : "r"(from + i * 32 * 8) : "memory");
  }

  const Params& p_;
  const std::uint32_t base_, shared_;
  int left_;
  std::uint32_t phase_ = 0;
};

}  // namespace weft::kernels::sm90
