// The sink of a product whose rows belong to all members (kernels/gemm/sink_sm90.hpp): tiles of
// the others' rows go straight into their staging, rounded; to tiles of mine, what the others have
// sent is added in rank order, and the sum goes to C.
//
// Consumers only fill shared memory, which has room for a tile: each its part, as the copy engine
// stores it to C. All else is the work of two more warps, the movers, one for each consumer: so
// nobody who multiplies waits for a link, or adds. While a tile is multiplied, its mover sends the
// one before as it lies there; or waits for what others have sent of it, adds it up in place, and
// stores it.
#pragma once

#include <weft/device.hpp>

#include "kernels/gemm/sink_sm90.hpp"
#include "kernels/gemm_rs/scatter_ring_sm90.hpp"
#include "kernels/gemm_rs/space.hpp"

namespace weft::kernels::sm90 {

// Shared memory of the sink: a tile, a ring for each consumer, the round, barriers.
constexpr int scatter_bytes(int tile_bytes, int slots) {
  return tile_bytes + kConsumers * slots * (kPieceBytes + 8) + 8 + 2 * kConsumers * 8;
}

template <class Shape, int kSlots>
class ScatterSink {
  using T = typename Shape::Element;
  using Store = StoreSink<Shape>;
  using Ring = ScatterRing<kSlots>;
  static_assert(Shape::kBlocks == 1, "a tile of more rows has no room in shared memory");

 public:
  struct Params {
    CUtensorMap c;  // my rows; boxes as Store has them
    Members members;
    int columns;  // of tiles
    int pace;     // clocks for a piece that is sent
  };
  static constexpr int kPartBytes = 64 * Shape::kPartN * 2;
  static constexpr int kTileBytes = kConsumers * kPartBytes;
  static constexpr int kSharedBytes = scatter_bytes(kTileBytes, kSlots);
  static constexpr bool kMeetsCluster = false;
  static constexpr int kMovers = kConsumers;  // warps

  // By one thread, before all others.
  static __device__ void prepare(const Params& p, std::uint32_t shared) {
    for (int consumer = 0; consumer < kConsumers; ++consumer) {
      barrier_init(empty(shared, consumer), 1);
      barrier_init(filled(shared, consumer), kGroupThreads);
      Ring::prepare(ring_barriers(shared, consumer));
    }
    asm volatile("st.shared.u64 [%0], %1;"
                 :
                 : "r"(shared + kRound), "l"(p.members.space.record->round + 1)
                 : "memory");
  }

  // By the warp of that number.
  template <class Order>
  static __device__ __forceinline__ void move(const Params& p, std::uint32_t shared, int consumer,
                                              const Order& order, int cluster, int clusters,
                                              int rank) {
    const Members& m = p.members;
    const std::uint32_t buffer = shared + consumer * kPartBytes;
    const bool leads = threadIdx.x % 32 == 0;
    const std::uint64_t broken = m.space.record->broken;
    bool ok = broken == 0;
    // Who sends in later rounds overwrites what a late member reads.
    const bool sends = ok || broken == round_of(shared);
    std::uint32_t phase = 0;
    Ring ring(m, shared + kRings + consumer * Ring::kBytes, ring_barriers(shared, consumer));
    gemm::Work work;
    for (int index = cluster; order.work(index, rank, &work); index += clusters, phase ^= 1) {
      const bool mine = work.segment == m.team.rank;
      const std::uint32_t part = part_number(p, work.row, work.column, consumer);
      if (mine) {
        ok = have_sent(m, part, round_of(shared), ok);
        if (ok) ring.begin(m.space.slot(round_of(shared), 0) + bytes_before(part), kPartBytes);
      }
      barrier_wait(filled(shared, consumer), phase);
      if (mine && ok) add_up(p, work, consumer, buffer, ring);
      const std::uint32_t is_empty = empty(shared, consumer);
      if (leads && !mine && sends) {
        // Where no tile follows, no loads have to wait.
        const int pace = order.has(index + clusters) ? p.pace : 0;
        send(m, round_of(shared), work.segment, part, buffer, is_empty, pace);
      } else if (leads) {
        tma_store_wait_read<0>();
        barrier_arrive(is_empty);
      }
      __syncwarp();  // nobody looks for flags while the first thread sends
    }
    if (leads) leave(m.space.record, round_of(shared), ok);
  }

  __device__ ScatterSink(const Params&, std::uint32_t, std::uint32_t shared) : shared_(shared) {}

  __device__ __forceinline__ void store(const Part<Shape>& part,
                                        const float (&d)[Shape::kPartN / 2]) {
    const std::uint32_t buffer = shared_ + part.consumer * kPartBytes;
    barrier_wait(empty(shared_, part.consumer), phase_ ^ 1);  // the first time, it is
    phase_ ^= 1;
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      Store::fill(buffer + chunk * Store::kChunkBytes, part.thread,
                  d + chunk * (Store::kChunk / 2));
    }
    fence_shared_for_copies();
    barrier_arrive(filled(shared_, part.consumer));
  }
  __device__ void finish() const {}

 private:
  static constexpr int kChunks = Shape::kPartN / Store::kChunk;
  static constexpr int kUnitBytes = 32 * 16;  // of a warp
  static constexpr int kUnits = kPieceBytes / kUnitBytes;
  static_assert(Store::kChunkBytes % kPieceBytes == 0);
  static constexpr int kRings = kTileBytes, kRound = kRings + kConsumers * Ring::kBytes;
  static constexpr int kBarriers = kRound + 8;

  static __device__ std::uint32_t empty(std::uint32_t shared, int consumer) {
    return shared + kBarriers + 8 * consumer;
  }
  static __device__ std::uint32_t filled(std::uint32_t shared, int consumer) {
    return empty(shared, kConsumers + consumer);
  }
  static __device__ std::uint32_t ring_barriers(std::uint32_t shared, int consumer) {
    return empty(shared, 2 * kConsumers) + consumer * Ring::kBarrierBytes;
  }
  static __device__ __forceinline__ std::uint64_t round_of(std::uint32_t shared) {
    std::uint64_t round;
    asm volatile("ld.shared.u64 %0, [%1];" : "=l"(round) : "r"(shared + kRound) : "memory");
    return round;
  }
  // Of the parts that travel, in a slot.
  static __device__ __forceinline__ std::uint32_t part_number(const Params& p, int row, int column,
                                                              int consumer) {
    const int tile = row / Shape::kM * p.columns + column / Shape::kN;
    return static_cast<std::uint32_t>(kConsumers * tile + consumer);
  }
  static __device__ __forceinline__ std::uint64_t bytes_before(std::uint32_t part) {
    return std::uint64_t{part} * kPartBytes;
  }

  // A warp, of all others: lane r looks for rank r.
  static __device__ __forceinline__ bool have_sent(const Members& m, std::uint32_t part,
                                                   std::uint64_t round, bool ok) {
    const int rank = static_cast<int>(threadIdx.x % 32);
    if (ok && rank < m.team.size && rank != m.team.rank) {
      const int sender = gemm_rs::sender_number(rank, m.team.rank, m.team.size);
      ok = dev::wait_flag(m.handle, "GemmRs", {m.space.flag(sender, part), m.team.pe_of(rank)},
                          round);
    }
    ok = __all_sync(0xffffffff, ok);
    __syncwarp();  // brings what the others have acquired
    return ok;
  }
  // A piece is sent when the one before has come, and not before its time: links carry less than
  // multiprocessors send, and what they do not take yet would keep loads of operands waiting.
  static __device__ __forceinline__ void send(const Members& m, std::uint64_t round, int rank,
                                              std::uint32_t part, std::uint32_t buffer,
                                              std::uint32_t is_empty, int pace) {
    const gemm_rs::Space& s = m.space;
    std::byte* const slot = m.slot[rank] + (round & 1) * s.senders * s.slot_bytes;
    std::byte* const to = slot + bytes_before(part);
    const long long start = clock64();
    long long due = 0;
#pragma unroll 1
    for (int done = 0; done < kPartBytes; done += kPieceBytes, due += pace) {
      tma_store_wait_all();
      while (clock64() - start < due) __nanosleep(100);
      bulk_store(to + done, buffer + done, kPieceBytes);
      tma_store_commit();
    }
    tma_store_wait_read<0>();
    barrier_arrive(is_empty);
    tma_store_wait_all();
    // Release: pairs with the acquire of wait_flag() there. All copies are complete, and seen by
    // this thread.
    store_release(m.flags[rank] + part, round);
  }
  // All has been sent and stored. Who comes last counts the round: acquires and releases, since all
  // others must have looked at the number before.
  static __device__ void leave(gemm_rs::Record* record, std::uint64_t round, bool ok) {
    tma_store_wait_all();
    if (!ok && record->broken == 0) record->broken = round;
    const std::uint32_t last = kMovers * gridDim.x - 1;
    if (count_up(&record->leaving, last) == last) record->round = round;
  }

  // A warp: to a part of mine, what all others have sent of it, in place; and stores it.
  static __device__ __forceinline__ void add_up(const Params& p, const gemm::Work& work,
                                                int consumer, std::uint32_t buffer, Ring& ring) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const Team& team = p.members.team;
#pragma unroll 1
    for (int done = 0; done < kPartBytes;) {
      const std::uint32_t own = buffer + done + lane * 16;
      if (team.size == 2) {
        add_other(own, lane, ring);
      } else {
        add_others(own, lane, team, ring);
      }
      done += kPieceBytes;
      if (done % Store::kChunkBytes != 0) continue;
      fence_shared_for_copies();
      __syncwarp();
      if (lane == 0) store_chunk(p, work, consumer, buffer, done / Store::kChunkBytes - 1);
    }
  }
  static __device__ __forceinline__ void store_chunk(const Params& p, const gemm::Work& work,
                                                     int consumer, std::uint32_t buffer,
                                                     int chunk) {
    const int row = work.row + consumer / Shape::kPartsN * Shape::kPartM;
    const int column = work.column + consumer % Shape::kPartsN * Shape::kPartN;
    tma_store(p.c, buffer + chunk * Store::kChunkBytes, 0, row, column + chunk * Store::kChunk);
    tma_store_commit();
  }
  // Of two, in either order. A float has twice the digits of T and two: so a float's sum, rounded
  // to T, is the sum rounded once (Figueroa, When is double rounding innocuous?, 1995).
  static __device__ __forceinline__ void add_other(std::uint32_t own, int lane, Ring& ring) {
    const std::uint32_t other = ring.wait() + lane * 16;
    uint4 x[kUnits], y[kUnits];
#pragma unroll
    for (int unit = 0; unit < kUnits; ++unit) {
      x[unit] = shared_load(own + unit * kUnitBytes);
      y[unit] = shared_load(other + unit * kUnitBytes);
    }
    ring.release();
#pragma unroll
    for (int unit = 0; unit < kUnits; ++unit) {
      const uint4 &a = x[unit], &b = y[unit];
      shared_store(own + unit * kUnitBytes, {add_pair<T>(a.x, b.x), add_pair<T>(a.y, b.y),
                                             add_pair<T>(a.z, b.z), add_pair<T>(a.w, b.w)});
    }
  }
  // Of more, in rank order, float, rounded once. Mine are rounded before, as what travels is.
  static __device__ __forceinline__ void add_others(std::uint32_t own, int lane, const Team& team,
                                                    Ring& ring) {
    float sums[8 * kUnits];
#pragma unroll
    for (float& sum : sums) sum = -0.0f;  // to which every number can be added as it is
#pragma unroll 1
    for (int rank = 0; rank < team.size; ++rank) {
      if (rank == team.rank) {
        add(sums, own);
      } else {
        add(sums, ring.wait() + lane * 16);
        ring.release();
      }
    }
#pragma unroll
    for (int unit = 0; unit < kUnits; ++unit) {
      const float* const s = sums + 8 * unit;
      shared_store(own + unit * kUnitBytes, {pack<T>(s[0], s[1]), pack<T>(s[2], s[3]),
                                             pack<T>(s[4], s[5]), pack<T>(s[6], s[7])});
    }
  }
  static __device__ __forceinline__ void add(float* sums, std::uint32_t from) {
#pragma unroll
    for (int unit = 0; unit < kUnits; ++unit, sums += 8) {
      const uint4 part = shared_load(from + unit * kUnitBytes);
      const std::uint32_t words[] = {part.x, part.y, part.z, part.w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float2 pair = unpack<T>(words[i]);
        sums[2 * i] += pair.x;
        sums[2 * i + 1] += pair.y;
      }
    }
  }

  const std::uint32_t shared_;
  std::uint32_t phase_ = 0;
};

}  // namespace weft::kernels::sm90
