// The instructions of sm_90a that a GEMM is made of, each wrapped once: mbarriers, tensor copies
// (TMA), clusters, named barriers, registers. Addresses of shared memory are 32-bit numbers in the
// window of the block, as the instructions take them. PTX ISA 8.0 and later.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace weft::kernels::sm90 {

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// One lane of the warp, chosen by the hardware; the warp must be together.
__device__ __forceinline__ bool elect_one() {
  std::uint32_t chosen;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.b32 %0, 1, 0, p;\n}"
               : "=r"(chosen));
  return chosen != 0;
}

// --- registers of a warp-group ------------------------------------------------------------------

template <int kCount>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" : : "n"(kCount));
}
template <int kCount>
__device__ __forceinline__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" : : "n"(kCount));
}

// --- barriers in shared memory ------------------------------------------------------------------

__device__ __forceinline__ void barrier_init(std::uint32_t barrier, std::uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(barrier), "r"(arrivals));
}
// Makes the barriers' first values visible to the copy engine and to the cluster; a barrier of
// threads must follow.
__device__ __forceinline__ void fence_barrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
// Arrives, and says how many bytes copies will bring before the phase is complete.
__device__ __forceinline__ void barrier_arrive_expect(std::uint32_t barrier, std::uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
               :
               : "r"(barrier), "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void barrier_arrive(std::uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" : : "r"(barrier) : "memory");
}
// Arrives at the same barrier of another block of the cluster.
__device__ __forceinline__ void barrier_arrive_at(std::uint32_t barrier, std::uint32_t rank) {
  asm volatile(
      "{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n}"
      :
      : "r"(barrier), "r"(rank)
      : "memory");
}
// Until the phase of that parity is complete: acquires what was arrived with, and makes what copies
// brought visible. Its scope is the block: between blocks of a cluster these barriers order copies
// and wgmma only, which needs no more; .cluster would flush and invalidate caches at every stage.
__device__ __forceinline__ void barrier_wait(std::uint32_t barrier, std::uint32_t parity) {
  asm volatile(
      "{\n.reg .pred done;\nwait:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra wait;\n}"
      :
      : "r"(barrier), "r"(parity)
      : "memory");
}

// Threads of one block that count `threads`, a multiple of the warp's size; 0 is __syncthreads().
__device__ __forceinline__ void named_barrier(int barrier, int threads) {
  asm volatile("barrier.cta.sync %0, %1;" : : "r"(barrier), "r"(threads) : "memory");
}

// --- clusters -----------------------------------------------------------------------------------

__device__ __forceinline__ std::uint32_t cluster_rank() {
  std::uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ __forceinline__ std::uint32_t cluster_size() {
  std::uint32_t size;
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  return size;
}
// All threads of the cluster (release, acquire): whole warps.
__device__ __forceinline__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::
                   : "memory");
}
__device__ __forceinline__ std::uint32_t cluster_map(std::uint32_t address, std::uint32_t rank) {
  std::uint32_t mapped;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
  return mapped;
}
__device__ __forceinline__ float4 cluster_load(std::uint32_t mapped) {
  float4 value;
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w)
               : "r"(mapped)
               : "memory");
  return value;
}

// --- copies of tensors --------------------------------------------------------------------------

__device__ __forceinline__ void prefetch_map(const CUtensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" : : "l"(&map) : "memory");
}

// Matrices are segments of as many rows each, one of them or more. A box of a segment, first
// element (row, column), to shared memory; counts its bytes on `barrier`. Elements outside the
// segment arrive as zeros, and count as well.
__device__ __forceinline__ void tma_load(std::uint32_t to, const CUtensorMap& map,
                                         std::uint32_t barrier, int segment, int row, int column) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %5}], [%2];"
      :
      : "r"(to), "l"(&map), "r"(barrier), "r"(column), "r"(row), "r"(segment)
      : "memory");
}
// The same to the same address of each block of the cluster that `ranks` names, a bit each. Each
// counts the bytes on its own barrier. The box is one of segment 0.
__device__ __forceinline__ void tma_load_all(std::uint32_t to, const CUtensorMap& map,
                                             std::uint32_t barrier, int row, int column,
                                             std::uint16_t ranks) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%3, %4, %6}], [%2], %5;"
      :
      : "r"(to), "l"(&map), "r"(barrier), "r"(column), "r"(row), "h"(ranks), "r"(0)
      : "memory");
}
// A box from shared memory; what would lie outside the segment is not stored.
__device__ __forceinline__ void tma_store(const CUtensorMap& map, std::uint32_t from, int segment,
                                          int row, int column) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];"
               :
               : "l"(&map), "r"(from), "r"(column), "r"(row), "r"(segment)
               : "memory");
}
__device__ __forceinline__ void tma_store_commit() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
// Bytes to shared memory, as they lie there; a multiple of 16. Counts them on `barrier`.
__device__ __forceinline__ void bulk_load(std::uint32_t to, const void* from, std::uint32_t bytes,
                                          std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
      :
      : "r"(to), "l"(from), "r"(bytes), "r"(barrier)
      : "memory");
}
// The same from there.
__device__ __forceinline__ void bulk_store(void* to, std::uint32_t from, std::uint32_t bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
               :
               : "l"(to), "r"(from), "r"(bytes)
               : "memory");
}
// Until at most kLeft of this thread's groups of stores still read shared memory.
template <int kLeft>
__device__ __forceinline__ void tma_store_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" : : "n"(kLeft) : "memory");
}
// Until all of this thread's stores are complete, so that a flag may be released.
__device__ __forceinline__ void tma_store_wait_all() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
// Between ordinary stores to shared memory and a copy that reads it; then a barrier of threads.
__device__ __forceinline__ void fence_shared_for_copies() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
// Between an acquire of a flag and copies that read what the flag promises: ordinary stores of
// others wrote it, and copies go another way to memory.
__device__ __forceinline__ void fence_global_for_copies() {
  asm volatile("fence.proxy.async.global;" ::: "memory");
}

// --- memory -------------------------------------------------------------------------------------

// For all of the system, another GPU's memory too.
__device__ __forceinline__ void store_release(std::uint64_t* to, std::uint64_t value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" : : "l"(to), "l"(value) : "memory");
}
// Counts from 0 to `most` and begins anew; what it was. Acquires and releases for the GPU.
__device__ __forceinline__ std::uint32_t count_up(std::uint32_t* word, std::uint32_t most) {
  std::uint32_t old;
  asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
               : "=r"(old)
               : "l"(word), "r"(most)
               : "memory");
  return old;
}
// A load of data that are read once.
__device__ __forceinline__ uint4 global_load(const void* from) {
  uint4 value;
  asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(from)
               : "memory");
  return value;
}
__device__ __forceinline__ uint4 shared_load(std::uint32_t from) {
  uint4 value;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "r"(from)
               : "memory");
  return value;
}
__device__ __forceinline__ void shared_store(std::uint32_t to, const uint4& value) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};"
               :
               : "r"(to), "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w)
               : "memory");
}

// --- fragments ----------------------------------------------------------------------------------

// Four 8x8 matrices of 16-bit elements; each lane gives the address of one row.
__device__ __forceinline__ void store_matrices(std::uint32_t to, std::uint32_t r0, std::uint32_t r1,
                                               std::uint32_t r2, std::uint32_t r3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
               :
               : "r"(to), "r"(r0), "r"(r1), "r"(r2), "r"(r3)
               : "memory");
}
// Two; each of the first 16 lanes gives the address of one row.
__device__ __forceinline__ void store_matrices(std::uint32_t to, std::uint32_t r0,
                                               std::uint32_t r1) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};"
               :
               : "r"(to), "r"(r0), "r"(r1)
               : "memory");
}

}  // namespace weft::kernels::sm90
