// The GEMM kernel of sm_90a: C[M, N] = A[M, K] * B[N, K]^T, warp-specialised and persistent.
//
// A block has three warp-groups or four. One thread of the first, the producer, has the copy engine
// (TMA) bring 64-wide k-blocks of A and B into a ring of stages in shared memory; the others, the
// consumers, multiply (wgmma) and hand a finished tile to the epilogue, whose stores run on while
// the producer is already filling the ring for the next tile.
//
// Policies, of which fused operators are made:
//   Scheduler      which tile next (tile_scheduler.hpp)
//   PrologueWait   what the producer waits for before it reads the tile's rows of A
//                  (prologue_wait_sm90.hpp)
//   Epilogue       where a finished tile goes (epilogue_sm90.hpp)
// The Shape says how a tile is multiplied: E4m3Shape scales every k-block (consume_e4m3_sm90.hpp).
// It says, too, how operands are loaded: kSharing blocks of a cluster lie one above the other and
// need the same B, of which each loads a part for all.
#pragma once

#include "kernels/core/cluster.hpp"
#include "kernels/gemm/prologue_wait_sm90.hpp"
#include "kernels/gemm/ptx_sm90.hpp"
#include "kernels/gemm/shape_sm90.hpp"
#include "kernels/gemm/wgmma_sm90.hpp"

namespace weft::kernels::sm90 {

// Where A's segments are gathered, `a` of Params is my own alone, and this the others.
template <bool kHasSegments>
struct Gathered {};
template <>
struct Gathered<true> {
  CUtensorMap map;
  PrologueWait prologue_wait;
};

// The blocks of a call with a prologue wait wait for a kernel that gathers rows beside them. The
// next kernel of the stream must not take the SMs that are left for that one.
template <bool kHasSegments>
__device__ __forceinline__ bool waits_in_prologue(const Gathered<kHasSegments>& gathered) {
  if constexpr (kHasSegments) return gathered.prologue_wait.is_there();
  return false;
}

// The tiles that A's last rows do not fill, or that have none of them.
template <bool kHasSegments>
struct LastRows {
  CUtensorMap map;         // box of as many rows
  int first = 0x7fffffff;  // row of that tile: those above are whole, those below have nothing
  int rows = 0;            // a multiple of 8
};
template <>
struct LastRows<true> {};  // a tile's rows, in any segment, come by one map

template <class Shape, class Scheduler, class Epilogue>
struct Params {
  CUtensorMap a, b;
  Gathered<Shape::kHasSegments> gathered;
  LastRows<Shape::kHasSegments> last;
  typename Epilogue::Params epilogue;
  Scheduler scheduler;
  // Rows of A that a copy brings: all of a tile's, or fewer where M has fewer: rows that are
  // outside cost more than those that are there. The rest of a stage ends up in rows of C that are
  // not there.
  int rows_a;
  typename Shape::Scales scales;
  bool loads_b_early;  // before the kernels before this one are complete
};

// A stage of the ring and the parity of its use (as of CUTLASS's PipelineState): both sides count
// alike.
template <int kStages>
struct Cursor {
  int stage = 0;
  std::uint32_t phase = 0;
  __device__ void next() {
    if (++stage == kStages) {
      stage = 0;
      phase ^= 1;
    }
  }
};

// Shared memory of a block: stages, what the epilogue needs, barriers.
template <class Shape, class Epilogue>
struct Layout {
  static constexpr int kEpilogue = Shape::kRingBytes;
  static constexpr int kBarriers = kEpilogue + Epilogue::kSharedBytes;
  static constexpr int kBytes = kBarriers + 2 * 8 * Shape::kStages;
  std::uint32_t base;
  // Where k-block `k_block` of a stage begins.
  __device__ std::uint32_t a(int stage, int k_block = 0) const {
    return base + (stage * Shape::kDepth + k_block) * Shape::kBytesA;
  }
  __device__ std::uint32_t b(int stage, int k_block = 0) const {
    return base + Shape::kStages * Shape::kDepth * Shape::kBytesA +
           (stage * Shape::kDepth + k_block) * Shape::kBytesB;
  }
  __device__ std::uint32_t epilogue() const { return base + kEpilogue; }
  // Complete when a stage's bytes have come, and when all consumers are done with it.
  __device__ std::uint32_t full(int stage) const { return base + kBarriers + 8 * stage; }
  __device__ std::uint32_t empty(int stage) const {
    return base + kBarriers + 8 * (Shape::kStages + stage);
  }
};

// Whether hosts may launch the kernel with programmatic stream serialization: it then waits for the
// kernel before it in its stream before it reads memory. A call with a prologue wait, and epilogues
// that read memory earlier, may not.
template <class Shape, class Epilogue>
inline constexpr bool kMayStartEarly = kEpilogueMayStartEarly<Epilogue>;

// Copies B's k-blocks of block k to a stage; a cluster's blocks each copy a part for all.
template <class Shape, class Layout, class Params>
__device__ __forceinline__ void load_b(const Layout& shared, const Params& p, int stage, int k,
                                       int column, int rank) {
  constexpr std::uint16_t kAll = (1 << Shape::kSharing) - 1;
#pragma unroll
  for (int k_block = 0; k_block < Shape::kDepth; ++k_block) {
    const int along_k = (k * Shape::kDepth + k_block) * kKBlock;
    if constexpr (Shape::kSharing == 1) {
      tma_load(shared.b(stage, k_block), p.b, shared.full(stage), 0, column, along_k);
    } else {
      const int part = rank * Shape::kBoxB;
      tma_load_all(shared.b(stage, k_block) + part * kRowBytes, p.b, shared.full(stage),
                   column + part, along_k, kAll);
    }
  }
}

// The bytes that a stage waits for: `rows` of A, and B's k-blocks.
template <class Shape>
__device__ __forceinline__ std::uint32_t stage_bytes(int rows) {
  return Shape::kDepth * (rows * kRowBytes + Shape::kBytesB);
}

// Fills the first stages with B while kernels before are at work, which do not write it
// (GemmOptions::constant_b); returns how many stages.
template <class Shape, class Layout, class Params>
__device__ __forceinline__ int load_b_early(const Layout& shared, const Params& p, int cluster,
                                            int rank) {
  gemm::Work work;
  if (!p.scheduler.work(cluster, rank, &work)) return 0;
  int rows = p.rows_a;
  if constexpr (!Shape::kHasSegments) {
    if (work.row >= p.last.first) rows = work.row == p.last.first ? p.last.rows : 0;
  }
  const int count = min(Shape::kStages, work.k_end - work.k_begin);
  for (int stage = 0; stage < count; ++stage) {
    barrier_arrive_expect(shared.full(stage), stage_bytes<Shape>(rows));
    load_b<Shape>(shared, p, stage, work.k_begin + stage, work.column, rank);
  }
  return count;
}

template <class Shape, class Epilogue, class Layout, class Params>
__device__ __forceinline__ void produce(const Layout& shared, const Params& p, int cluster,
                                        int clusters, int rank) {
  int early = 0;  // stages that load_b_early has filled with B
  if constexpr (kMayStartEarly<Shape, Epilogue>) {
    if (p.loads_b_early) early = load_b_early<Shape>(shared, p, cluster, rank);
    cuda::wait_for_kernels_before();
  }
  Cursor<Shape::kStages> at;
  gemm::Work work;
  std::uint64_t round = 0;
  if constexpr (Shape::kHasSegments) round = p.gathered.prologue_wait.round();
  for (int index = cluster; p.scheduler.work(index, rank, &work); index += clusters) {
    const CUtensorMap* a = &p.a;
    int segment = work.segment, rows = p.rows_a;
    if constexpr (!Shape::kHasSegments) {
      if (work.row >= p.last.first) {
        a = &p.last.map;
        rows = work.row == p.last.first ? p.last.rows : 0;
      }
    }
    [[maybe_unused]] PrologueWait::Awaited awaited{nullptr, 0};
    [[maybe_unused]] int next = -1;  // where along k the part begins that is awaited
    int from_a = 0;                  // and the one before
    if constexpr (Shape::kHasSegments) {
      const PrologueWait& prologue_wait = p.gathered.prologue_wait;
      if (prologue_wait.is_there() && !prologue_wait.is_own(segment)) {
        awaited = prologue_wait.rows_of(segment, work.row, Shape::kM);
        next = work.k_begin;
        a = &p.gathered.map;
        segment = prologue_wait.first_part_of(round, segment) - 1;
      } else if (prologue_wait.is_there()) {
        segment = 0;
      }
    }
    const std::uint32_t bytes = stage_bytes<Shape>(rows);
    for (int k = work.k_begin; k < work.k_end; ++k, at.next()) {
      if constexpr (Shape::kHasSegments) {
        if (k == next) {
          p.gathered.prologue_wait.wait_part(round, &awaited);
          ++segment;
          from_a = k;
          next += p.gathered.prologue_wait.part_blocks();
        }
      }
      const std::uint32_t full = shared.full(at.stage);
      if (early > 0) {
        --early;
      } else {
        // Pairs with the consumers' releases; in the first phase, every stage is empty.
        barrier_wait(shared.empty(at.stage), at.phase ^ 1);
        barrier_arrive_expect(full, bytes);
        load_b<Shape>(shared, p, at.stage, k, work.column, rank);
      }
#pragma unroll
      for (int k_block = 0; k_block < Shape::kDepth; ++k_block) {
        const int column = (k * Shape::kDepth + k_block) * kKBlock;
        if (Shape::kHasSegments || rows > 0)
          tma_load(shared.a(at.stage, k_block), *a, full, segment, work.row,
                   column - from_a * kKBlock);
      }
    }
  }
  if constexpr (Shape::kHasSegments) p.gathered.prologue_wait.leave(round);
}

// The epilogue stores chunks of a finished tile between the products of the next.
template <class Epilogue>
concept StoresBetween = requires(Epilogue epilogue) {
  epilogue.store_some();
};

// Every warp for itself: what it has read may be overwritten, by every block that fills this stage.
template <class Shape, class Layout>
__device__ __forceinline__ void release(const Layout& shared, int stage, int lane) {
  if constexpr (Shape::kSharing == 1) {
    if (lane == 0) barrier_arrive(shared.empty(stage));
  } else {
    if (lane < Shape::kSharing) barrier_arrive_at(shared.empty(stage), lane);
  }
}

template <class Shape, class Layout, class Params, class Epilogue>
__device__ __forceinline__ void consume(const Layout& shared, const Params& p, const NoScales&,
                                        int cluster, int clusters, int rank, Epilogue& epilogue) {
  using T = typename Shape::Element;
  const int consumer = threadIdx.x / kGroupThreads - 1;
  const int thread = threadIdx.x % kGroupThreads;
  const int part_m = consumer / Shape::kPartsN, part_n = consumer % Shape::kPartsN;
  constexpr int kSteps = kKBlock / 16;
  float d[Shape::kBlocks][Shape::kPartN / 2];
  Cursor<Shape::kStages> at;
  gemm::Work work;
  for (int index = cluster; p.scheduler.work(index, rank, &work); index += clusters) {
    int before = -1;  // the stage whose products may still be under way
    for (int k = work.k_begin; k < work.k_end; ++k, at.next()) {
      barrier_wait(shared.full(at.stage), at.phase);
      const std::uint64_t a = operand(shared.a(at.stage) + part_m * Shape::kPartM * kRowBytes);
      const std::uint64_t b = operand(shared.b(at.stage) + part_n * Shape::kPartN * kRowBytes);
      wgmma_fence();
#pragma unroll
      for (int i = 0; i < Shape::kDepth * kSteps; ++i) {
        const int k_block = i / kSteps, step = 2 * (i % kSteps);  // in 16 bytes
#pragma unroll
        for (int block = 0; block < Shape::kBlocks; ++block) {
          const int row = block * 64 * kRowBytes;
          wgmma<T, Shape::kPartN>(d[block], a + step + (k_block * Shape::kBytesA + row) / 16,
                                  b + step + k_block * Shape::kBytesB / 16,
                                  k > work.k_begin || i > 0);
        }
      }
      wgmma_commit();
      if (before >= 0) {
        wgmma_wait<1>();
        release<Shape>(shared, before, thread % 32);
      }
      before = at.stage;
      if constexpr (StoresBetween<Epilogue>) epilogue.store_some();
    }
    wgmma_wait<0>();
    release<Shape>(shared, before, thread % 32);
#pragma unroll
    for (int block = 0; block < Shape::kBlocks; ++block) {
      pin(d[block]);
      const Part<Shape> part{work.segment, work.row + part_m * Shape::kPartM + block * 64,
                             work.column + part_n * Shape::kPartN, consumer, thread};
      epilogue.store(part, d[block]);
    }
  }
  epilogue.finish();
}

template <class Shape, class Scheduler, class Epilogue>
__global__ void __launch_bounds__(Shape::kThreads, 1)
    gemm_kernel(const __grid_constant__ Params<Shape, Scheduler, Epilogue> p) {
#if !defined(__CUDA_ARCH_FEAT_SM90_ALL)
  __trap();  // compiled for another GPU as well; hosts do not launch it there
#else
  if constexpr (Shape::kHasSegments) {
    if (!p.gathered.prologue_wait.is_open()) return;  // all blocks, or none
  }
  extern __shared__ __align__(1024) unsigned char memory[];
  using SharedLayout = Layout<Shape, Epilogue>;
  const SharedLayout shared{shared_address(memory)};
  const int blocks = Epilogue::kSyncsCluster ? static_cast<int>(cluster_size()) : Shape::kSharing;
  const bool clustered = blocks > 1;
  const int rank = clustered ? static_cast<int>(cluster_rank()) : 0;
  const int cluster = static_cast<int>(clustered ? blockIdx.x / blocks : blockIdx.x);
  const int clusters = static_cast<int>(clustered ? gridDim.x / blocks : gridDim.x);

  if (threadIdx.x == 0) {
    prefetch_map(p.a);
    prefetch_map(p.b);
    for (int stage = 0; stage < Shape::kStages; ++stage) {
      barrier_init(shared.full(stage), 1);
      barrier_init(shared.empty(stage), Shape::kSharing * Shape::kConsumers * kGroupThreads / 32);
    }
    if constexpr (Epilogue::kCommWarps > 0) Epilogue::prepare(p.epilogue, shared.epilogue());
    fence_barrier_init();
  }
  if (Shape::kSharing > 1) {
    cluster_sync();  // a peer's first copy must find the barriers
  } else {
    __syncthreads();
  }
  // So far, nothing was read that a kernel before may write.
  if constexpr (kMayStartEarly<Shape, Epilogue>) {
    if (!waits_in_prologue(p.gathered)) cuda::let_next_kernel_start();
    // The producer waits in produce(), after it has sent for B.
    if (threadIdx.x >= 32) cuda::wait_for_kernels_before();
  }

  if (threadIdx.x < kGroupThreads) {
    if constexpr (Shape::kTradesRegisters)
      give_registers<Epilogue::kCommWarps == 0 ? Shape::kProducerRegisters
                                               : kCommWarpRegisters<Epilogue> >();
    if (threadIdx.x < 32) {
      if (elect_one()) produce<Shape, Epilogue>(shared, p, cluster, clusters, rank);
      __syncwarp();
    } else if constexpr (Epilogue::kCommWarps > 0) {
      const int comm_warp = static_cast<int>(threadIdx.x) / 32 - 1;
      if (comm_warp < Epilogue::kCommWarps)
        Epilogue::move(p.epilogue, shared.epilogue(), comm_warp, p.scheduler, cluster, clusters,
                       rank);
    }
    if (Epilogue::kSyncsCluster && clustered) cluster_sync();
    if (clustered) cluster_sync();
  } else {
    if constexpr (Shape::kTradesRegisters)
      take_registers<Epilogue::kCommWarps == 0 ? Shape::kConsumerRegisters
                                               : kConsumerRegistersBesideCommWarps<Epilogue> >();
    Epilogue epilogue(p.epilogue, shared.base, shared.epilogue());
    consume<Shape>(shared, p, p.scales, cluster, clusters, rank, epilogue);
    // A block's shared memory must be there for as long as peers copy to it or read it.
    if (clustered) cluster_sync();
  }
#endif
}

}  // namespace weft::kernels::sm90
