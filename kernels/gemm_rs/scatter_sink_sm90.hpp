// The sink of a product whose rows belong to all members (kernels/gemm/sink_sm90.hpp): tiles of
// the others' rows go straight into their staging, rounded; to tiles of mine, what the others have
// sent is added in rank order, and the sum goes to C.
//
// Consumers only fill shared memory, which has room for a tile: each its part. What moves between
// there and memory is the work of two more warps, the movers, one for each consumer: so nobody who
// multiplies waits for a link. While a tile is multiplied, its mover sends the one before, and
// brings what a member has sent of this one.
//
// A part travels as its sums lie in registers: eight of a thread are a unit of 16 bytes, beside
// those of its neighbours. So a thread of the owner adds what belongs to its own sums.
#pragma once

#include <weft/device.hpp>

#include "kernels/gemm/sink_sm90.hpp"
#include "kernels/gemm_rs/scatter_kernels_sm90.hpp"
#include "kernels/gemm_rs/space.hpp"

namespace weft::kernels::sm90 {

template <class Shape>
class ScatterSink {
  using T = typename Shape::Element;
  using Store = StoreSink<Shape>;
  static_assert(Shape::kBlocks == 1, "a tile of more rows leaves no registers");

 public:
  struct Params {
    CUtensorMap c;  // my rows; boxes as Store has them
    Members members;
    int columns;  // of tiles
  };
  static constexpr int kPartBytes = 64 * Shape::kPartN * 2;
  static constexpr int kTileBytes = kConsumers * kPartBytes;
  static constexpr int kPieceBytes = kPartBytes % 4096 == 0 ? 4096 : 2048;
  static_assert(kPartBytes % kPieceBytes == 0);
  static constexpr int kSharedBytes = kTileBytes + 8 * (1 + 2 * kConsumers);
  static constexpr bool kMeetsCluster = false;
  static constexpr int kMovers = kConsumers;  // warps

  // By one thread, before all others.
  static __device__ void prepare(const Params& p, std::uint32_t shared) {
    for (int consumer = 0; consumer < kConsumers; ++consumer) {
      barrier_init(ready(shared, consumer), 1);
      barrier_init(filled(shared, consumer), kGroupThreads);
    }
    asm volatile("st.shared.u64 [%0], %1;"
                 :
                 : "r"(shared + kTileBytes), "l"(p.members.space.record->round + 1)
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
    gemm::Work work;
    for (int index = cluster; order.work(index, rank, &work); index += clusters, phase ^= 1) {
      const bool mine = work.segment == m.team.rank;
      const std::uint32_t part = part_number(p, work.row, work.column, consumer);
      if (mine) ok = have_sent(m, part, round_of(shared), ok);
      if (!leads) continue;
      tma_store_wait_read<0>();  // the last tile has left shared memory
      if (mine && ok) {
        barrier_arrive_expect(ready(shared, consumer), kPartBytes);
        fence_global_for_copies();
        const std::byte* const from = m.space.slot(round_of(shared), first_sender(m));
        bulk_load(buffer, from + bytes_before(part), kPartBytes, ready(shared, consumer));
      } else {
        barrier_arrive(ready(shared, consumer));
      }
      barrier_wait(filled(shared, consumer), phase);
      if (!mine) {
        if (sends) send(m, round_of(shared), work.segment, part, buffer);
      } else if (ok) {
#pragma unroll 1
        for (int chunk = 0; chunk < Shape::kPartN / Store::kChunk; ++chunk) {
          tma_store(
              p.c, buffer + chunk * Store::kChunkBytes, 0,
              work.row + consumer / Shape::kPartsN * Shape::kPartM,
              work.column + consumer % Shape::kPartsN * Shape::kPartN + chunk * Store::kChunk);
        }
        tma_store_commit();
      }
    }
    if (leads) leave(m.space.record, round_of(shared), ok);
  }

  __device__ ScatterSink(const Params& p, std::uint32_t, std::uint32_t shared)
      : p_(p), shared_(shared) {}

  __device__ __forceinline__ void store(const Part<Shape>& part, float (&d)[Shape::kPartN / 2]) {
    const std::uint32_t buffer = shared_ + part.consumer * kPartBytes;
    // The buffer is empty, or holds what the first of the others has sent.
    barrier_wait(ready(shared_, part.consumer), phase_);
    phase_ ^= 1;
    const bool mine = part.segment == p_.members.team.rank;
    if (mine) {
      const std::uint32_t number = part_number(p_, part.row, part.column, part.consumer);
      const std::uint64_t at = bytes_before(number) + part.thread * 16;
#pragma unroll
      for (int unit = 0; unit < kUnits; unit += kTogether) {
        fold(d + 8 * unit, buffer + part.thread * 16 + unit * kUnitBytes, at + unit * kUnitBytes);
      }
    }
    pin(d);
    named_barrier(1 + part.consumer, kGroupThreads);  // all have read
    if (mine) {
#pragma unroll
      for (int chunk = 0; chunk < Shape::kPartN / Store::kChunk; ++chunk) {
        Store::fill(buffer + chunk * Store::kChunkBytes, part.thread,
                    d + chunk * (Store::kChunk / 2));
      }
    } else {
#pragma unroll
      for (int unit = 0; unit < kUnits; ++unit) {
        shared_store(buffer + part.thread * 16 + unit * kUnitBytes, packed(d + 8 * unit));
      }
    }
    fence_shared_for_copies();
    barrier_arrive(filled(shared_, part.consumer));
  }
  __device__ void finish() const {}

 private:
  static constexpr int kUnits = Shape::kPartN / 16, kUnitBytes = 16 * kGroupThreads;  // of a part
  static constexpr int kTogether = kUnits % 4 == 0 ? 4 : kUnits % 2 == 0 ? 2 : 1;

  static __device__ std::uint32_t ready(std::uint32_t shared, int consumer) {
    return shared + kTileBytes + 8 + 8 * consumer;
  }
  static __device__ std::uint32_t filled(std::uint32_t shared, int consumer) {
    return ready(shared, kConsumers + consumer);
  }
  static __device__ __forceinline__ std::uint64_t round_of(std::uint32_t shared) {
    std::uint64_t round;
    asm volatile("ld.shared.u64 %0, [%1];" : "=l"(round) : "r"(shared + kTileBytes) : "memory");
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
  static __device__ __forceinline__ int first_sender(const Members& m) {
    return gemm_rs::sender_number(m.team.rank == 0, m.team.rank, m.team.size);
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
  static __device__ __forceinline__ void send(const Members& m, std::uint64_t round, int rank,
                                              std::uint32_t part, std::uint32_t buffer) {
    const gemm_rs::Space& s = m.space;
    std::byte* const slot = m.slot[rank] + (round & 1) * s.senders * s.slot_bytes;
    std::byte* const to = slot + bytes_before(part);
    // Two pieces at a time: the loads of operands go by the same engine, and would wait behind
    // more.
#pragma unroll 1
    for (int done = 0; done < kPartBytes; done += kPieceBytes) {
      bulk_store(to + done, buffer + done, kPieceBytes);
      tma_store_commit();
      tma_store_wait_read<1>();
    }
    tma_store_wait_all();
    // Release: pairs with the acquire of wait_flag() there. The copy is complete, and seen by this
    // thread.
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

  // Units of all ranks in their order, float, rounded once when they are stored. Mine, too, are
  // rounded before, as what travels is.
  __device__ __forceinline__ void fold(float* sums, std::uint32_t brought, std::uint64_t at) const {
    const Members& m = p_.members;
    uint4 own[kTogether];
#pragma unroll
    for (int unit = 0; unit < kTogether; ++unit) own[unit] = packed(sums + 8 * unit);
    if (m.team.size == 2) {  // in either order
#pragma unroll
      for (int unit = 0; unit < kTogether; ++unit) {
        add(sums + 8 * unit, own[unit], true);
        add(sums + 8 * unit, shared_load(brought + unit * kUnitBytes), false);
      }
      return;
    }
    const int first = m.team.rank == 0;
    for (int rank = 0; rank < m.team.size; ++rank) {
      uint4 parts[kTogether];
      if (rank == m.team.rank) {
#pragma unroll
        for (int unit = 0; unit < kTogether; ++unit) parts[unit] = own[unit];
      } else if (rank == first) {
#pragma unroll
        for (int unit = 0; unit < kTogether; ++unit) {
          parts[unit] = shared_load(brought + unit * kUnitBytes);
        }
      } else {
        const std::byte* const from =
            m.space.slot(round_of(shared_),
                         gemm_rs::sender_number(rank, m.team.rank, m.team.size)) +
            at;
#pragma unroll
        for (int unit = 0; unit < kTogether; ++unit) {
          parts[unit] = *reinterpret_cast<const uint4*>(from + unit * kUnitBytes);
        }
      }
#pragma unroll
      for (int unit = 0; unit < kTogether; ++unit) add(sums + 8 * unit, parts[unit], rank == 0);
    }
  }
  static __device__ __forceinline__ uint4 packed(const float* s) {
    return {pack<T>(s[0], s[1]), pack<T>(s[2], s[3]), pack<T>(s[4], s[5]), pack<T>(s[6], s[7])};
  }
  static __device__ __forceinline__ void add(float* sums, const uint4& part, bool is_first) {
    const std::uint32_t words[] = {part.x, part.y, part.z, part.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 pair = unpack<T>(words[i]);
      sums[2 * i] = is_first ? pair.x : sums[2 * i] + pair.x;
      sums[2 * i + 1] = is_first ? pair.y : sums[2 * i + 1] + pair.y;
    }
  }

  const Params& p_;
  const std::uint32_t shared_;
  std::uint32_t phase_ = 0;
};

}  // namespace weft::kernels::sm90
