// The instructions of sm_80 that a GEMM is made of, each wrapped once: copies to shared memory that
// run beside the threads (cp.async), and fragments of 16-bit elements (ldmatrix, mma.sync).
// Addresses of shared memory are 32-bit numbers in the window of the block. PTX ISA 7.0 and later.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "kernels/gemm/pack_cuda.hpp"

namespace weft::kernels::sm80 {

using gemm::pack;

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// 16 bytes, of which the first `bytes` are read; the others become zeros. With 0 bytes `from` may
// be anything.
__device__ __forceinline__ void copy_async(std::uint32_t to, const void* from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"(to), "l"(__cvta_generic_to_global(from)), "r"(bytes)
               : "memory");
}
// Ends a group of this thread's copies; it may be empty.
__device__ __forceinline__ void copy_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
// Until at most kLeft of this thread's groups are under way. A barrier makes what they brought
// visible to other threads.
template <int kLeft>
__device__ __forceinline__ void copy_wait() {
  asm volatile("cp.async.wait_group %0;" : : "n"(kLeft) : "memory");
}

// Four 8x8 matrices of 16-bit elements. Lane i gives the address of row i % 8 of matrix i / 8, and
// gets elements 2 * (i % 4) and the next of row i / 4 of each.
__device__ __forceinline__ void load_matrices(std::uint32_t (&to)[4], std::uint32_t from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(from)
               : "memory");
}

// d[16, 8] += a[16, 16] * b[8, 16]^T by a warp, sums in float. d[i] of a lane is row lane / 4 + (i
// & 2) * 4 and column lane % 4 * 2 + (i & 1).
template <class T>
__device__ __forceinline__ void multiply(float (&d)[4], const std::uint32_t (&a)[4],
                                         std::uint32_t b0, std::uint32_t b1) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}

}  // namespace weft::kernels::sm80
