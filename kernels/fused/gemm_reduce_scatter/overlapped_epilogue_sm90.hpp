// The epilogue of a GEMM whose rows belong to all members (kernels/gemm/epilogue_sm90.hpp):
// tiles of the others' rows go straight into their staging, rounded; to tiles of mine, what the
// others have sent is added in rank order, and the sum goes to C.
//
// Consumers only fill shared memory, which has room for a tile: each its part, as the copy engine
// stores it to C. All else is the work of two more warps, the communication warps, one for each
// consumer: so nobody who multiplies waits for a link, or adds. While a tile is multiplied, its
// communication warp sends the one before as it lies there; or waits for what others have sent of
// it, adds it up in place, and stores it. Only a last tile of mine, of more than two members, is
// added up by the consumers, who have nothing else to do and are eight warps.
#pragma once

#include <weft/device.hpp>

#include "kernels/fused/gemm_reduce_scatter/overlapped_add_sm90.hpp"
#include "kernels/fused/gemm_reduce_scatter/overlapped_ring_sm90.hpp"
#include "kernels/fused/gemm_reduce_scatter/space.hpp"
#include "kernels/gemm/epilogue_sm90.hpp"

namespace weft::kernels::sm90 {

// Shared memory of the epilogue: a tile, a ring for each consumer, the round, whether the last tile
// has come, barriers.
constexpr int scatter_bytes(int tile_bytes, int slots) {
  return tile_bytes + kConsumers * slots * (kPieceBytes + 8) + 8 + 8 + 3 * kConsumers * 8;
}

template <class Shape, int kSlots>
class ScatterEpilogue {
  using T = typename Shape::Element;
  using Store = StoreEpilogue<Shape>;
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
  static constexpr bool kSyncsCluster = false;
  static constexpr int kCommWarps = kConsumers;  // warps

  // By one thread, before all others.
  static __device__ void prepare(const Params& p, std::uint32_t shared) {
    for (int consumer = 0; consumer < kConsumers; ++consumer) {
      barrier_init(empty(shared, consumer), 1);
      barrier_init(filled(shared, consumer), kGroupThreads);
      barrier_init(polled(shared, consumer), 1);
      Ring::prepare(ring_barriers(shared, consumer));
    }
    asm volatile("st.shared.u64 [%0], %1;"
                 :
                 : "r"(shared + kRound), "l"(p.members.space.record->round + 1)
                 : "memory");
  }

  // By the warp of that number.
  template <class Scheduler>
  static __device__ __forceinline__ void move(const Params& p, std::uint32_t shared, int consumer,
                                              const Scheduler& scheduler, int cluster, int clusters,
                                              int rank) {
    const Members& m = p.members;
    const std::uint32_t buffer = shared + consumer * kPartBytes;
    const bool leads = threadIdx.x % 32 == 0;
    const std::uint64_t failed_round = m.space.record->failed_round;
    bool ok = failed_round == 0;
    // A member that sends in later rounds overwrites what a late member reads.
    const bool sends = ok || failed_round == round_of(shared);
    std::uint32_t phase = 0;
    Ring ring(m, shared + kRings + consumer * Ring::kBytes, ring_barriers(shared, consumer));
    gemm::Work work;
    for (int index = cluster; scheduler.work(index, rank, &work); index += clusters, phase ^= 1) {
      const bool mine = work.segment == m.team.rank;
      const std::uint32_t part = part_number(p, work.row, work.column, consumer);
      if (mine) {
        ok = wait_for_senders(m, part, round_of(shared), ok);
        if (is_consumers(m.team) && !scheduler.has(index + clusters)) {
          if (leads) leave_to_consumer(shared, consumer, ok);
          break;
        }
        if (ok) ring.begin(m.space.slot(round_of(shared), 0) + bytes_before(part), kPartBytes);
      }
      barrier_wait(filled(shared, consumer), phase);
      if (mine && ok) add_up(p, work, consumer, buffer, ring);
      const std::uint32_t is_empty = empty(shared, consumer);
      if (leads && !mine && sends) {
        // Where no tile follows, no loads have to wait.
        const int pace = scheduler.has(index + clusters) ? p.pace : 0;
        send(m, round_of(shared), work.segment, part, buffer, is_empty, pace);
      } else if (leads) {
        tma_store_wait_read<0>();
        barrier_arrive(is_empty);
      }
      __syncwarp();  // nobody polls flags while the first thread sends
    }
    if (leads) leave(m.space.record, round_of(shared), ok);
  }

  __device__ ScatterEpilogue(const Params& p, std::uint32_t, std::uint32_t shared)
      : p_(p), shared_(shared) {}

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
    last_ = {part.segment, part.row, part.column};
  }
  // The last tile, if it is mine.
  __device__ __forceinline__ void finish() const {
    const Members& m = p_.members;
    if (last_.segment != m.team.rank || !is_consumers(m.team)) return;
    const int consumer = threadIdx.x / kGroupThreads - 1, thread = threadIdx.x % kGroupThreads;
    const std::uint32_t buffer = shared_ + consumer * kPartBytes;
    // Acquire: pairs with leave_to_consumer(), which brings what the communication warp has
    // acquired.
    barrier_wait(polled(shared_, consumer), 0);
    if (!arrived(shared_, consumer)) return;
    barrier_wait(filled(shared_, consumer), phase_ ^ 1);  // by the consumer's other threads
    const std::uint32_t part = part_number(p_, last_.row - part_row(consumer),
                                           last_.column - part_column(consumer), consumer);
    add_up_part<T, kPartBytes>(buffer, thread, m,
                               m.space.slot(round_of(shared_), 0) + bytes_before(part));
    fence_shared_for_copies();
    named_barrier(1 + consumer, kGroupThreads);
    if (thread != 0) return;
#pragma unroll 1
    for (int chunk = 0; chunk < kChunks; ++chunk)
      store_chunk(p_, last_.row, last_.column, buffer, chunk);
    tma_store_wait_all();
  }

 private:
  static constexpr int kChunks = Shape::kPartN / Store::kChunk;
  static_assert(Store::kChunkBytes % kPieceBytes == 0);
  static constexpr int kRings = kTileBytes, kRound = kRings + kConsumers * Ring::kBytes;
  static constexpr int kArrived = kRound + 8, kBarriers = kArrived + 8;

  static __device__ std::uint32_t empty(std::uint32_t shared, int consumer) {
    return shared + kBarriers + 8 * consumer;
  }
  static __device__ std::uint32_t filled(std::uint32_t shared, int consumer) {
    return empty(shared, kConsumers + consumer);
  }
  // Complete once the flags of the last tile have been polled, if it is mine: kArrived then says
  // whether what others send has come.
  static __device__ std::uint32_t polled(std::uint32_t shared, int consumer) {
    return empty(shared, 2 * kConsumers + consumer);
  }
  static __device__ std::uint32_t ring_barriers(std::uint32_t shared, int consumer) {
    return empty(shared, 3 * kConsumers) + consumer * Ring::kBarrierBytes;
  }
  static __device__ __forceinline__ std::uint64_t round_of(std::uint32_t shared) {
    std::uint64_t round;
    asm volatile("ld.shared.u64 %0, [%1];" : "=l"(round) : "r"(shared + kRound) : "memory");
    return round;
  }
  // The last tile, if it is mine. With two members a communication warp adds one up as fast.
  static __device__ bool is_consumers(const Team& team) { return team.size > 2; }
  // One of the warp that has waited for it. Release: pairs with the acquire of finish().
  static __device__ void leave_to_consumer(std::uint32_t shared, int consumer, bool arrived) {
    asm volatile("st.shared.u32 [%0], %1;"
                 :
                 : "r"(shared + kArrived + 4 * consumer), "r"(arrived ? 1 : 0)
                 : "memory");
    barrier_arrive(polled(shared, consumer));
  }
  static __device__ __forceinline__ bool arrived(std::uint32_t shared, int consumer) {
    std::uint32_t has;
    asm volatile("ld.shared.u32 %0, [%1];"
                 : "=r"(has)
                 : "r"(shared + kArrived + 4 * consumer)
                 : "memory");
    return has != 0;
  }
  // Where a consumer's part is in a tile.
  static __device__ int part_row(int consumer) { return consumer / Shape::kPartsN * Shape::kPartM; }
  static __device__ int part_column(int consumer) {
    return consumer % Shape::kPartsN * Shape::kPartN;
  }
  // The number of a part among those that travel, in a slot.
  static __device__ __forceinline__ std::uint32_t part_number(const Params& p, int row, int column,
                                                              int consumer) {
    const int tile = row / Shape::kM * p.columns + column / Shape::kN;
    return static_cast<std::uint32_t>(kConsumers * tile + consumer);
  }
  static __device__ __forceinline__ std::uint64_t bytes_before(std::uint32_t part) {
    return std::uint64_t{part} * kPartBytes;
  }

  // A warp, of all others: lane r polls the flag of rank r.
  static __device__ __forceinline__ bool wait_for_senders(const Members& m, std::uint32_t part,
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
  // SMs send, and what they do not take yet would keep loads of operands waiting.
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
  // All has been sent and stored. The warp that comes last counts the round: acquires and releases,
  // since all others must have read the number before.
  static __device__ void leave(gemm_rs::Record* record, std::uint64_t round, bool ok) {
    tma_store_wait_all();
    if (!ok && record->failed_round == 0) record->failed_round = round;
    const std::uint32_t last = kCommWarps * gridDim.x - 1;
    if (count_up(&record->leaving, last) == last) record->round = round;
  }

  // A warp: to a part of mine, what all others have sent of it, in place; and stores it.
  static __device__ __forceinline__ void add_up(const Params& p, const gemm::Work& work,
                                                int consumer, std::uint32_t buffer, Ring& ring) {
    const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll 1
    for (int done = 0; done < kPartBytes;) {
      PieceSum<T, Ring>::add_up(buffer + done + lane * 16, lane, p.members.team, ring);
      done += kPieceBytes;
      if (done % Store::kChunkBytes != 0) continue;
      fence_shared_for_copies();
      __syncwarp();
      if (lane != 0) continue;
      store_chunk(p, work.row + part_row(consumer), work.column + part_column(consumer), buffer,
                  done / Store::kChunkBytes - 1);
    }
  }
  static __device__ __forceinline__ void store_chunk(const Params& p, int row, int column,
                                                     std::uint32_t buffer, int chunk) {
    tma_store(p.c, buffer + chunk * Store::kChunkBytes, 0, row, column + chunk * Store::kChunk);
    tma_store_commit();
  }
  const Params& p_;
  const std::uint32_t shared_;
  std::uint32_t phase_ = 0;
  struct {
    int segment = -1, row = 0, column = 0;
  } last_;  // part that was filled
};

}  // namespace weft::kernels::sm90
