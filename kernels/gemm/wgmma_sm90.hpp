// wgmma: D[64, N] += A[64, K] * B[N, K]^T by one warp-group, K being 32 bytes: 16 elements of two
// bytes, or 32 of E4m3. A and B lie in shared memory, rows of 128 bytes in the 128-byte swizzle
// that tensor copies make; D is in registers.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "kernels/gemm/e4m3.hpp"

namespace weft::kernels::sm90 {

// Where an operand begins. Its rows come in groups of 8 (1024 bytes, to which they are aligned);
// the next K along k is 32 bytes further, inside the swizzle: + 2.
__device__ __forceinline__ std::uint64_t operand(std::uint32_t shared) {
  constexpr std::uint64_t kSwizzle128 = 1ull << 62;
  constexpr std::uint64_t kGroupStride = 1024 / 16;
  return kSwizzle128 | kGroupStride << 32 | 1ull << 16 | (shared & 0x3ffff) >> 4;
}

// Before the first of a group of products: registers written since are seen.
__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// Until at most kLeft groups are under way.
template <int kLeft>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" : : "n"(kLeft) : "memory");
}
// The compiler must not move uses of an accumulator over this.
template <int kCount>
__device__ __forceinline__ void pin(float (&d)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

// Registers by eights: their names in the text, and their operands.
// clang-format off
#define WEFT_R0 "%0,%1,%2,%3,%4,%5,%6,%7"
#define WEFT_R1 ",%8,%9,%10,%11,%12,%13,%14,%15"
#define WEFT_R1_HALF ",%8,%9,%10,%11"
#define WEFT_R2_HALF ",%16,%17,%18,%19"
#define WEFT_R2 ",%16,%17,%18,%19,%20,%21,%22,%23"
#define WEFT_R3_HALF ",%24,%25,%26,%27"
#define WEFT_R3 ",%24,%25,%26,%27,%28,%29,%30,%31"
#define WEFT_R4 ",%32,%33,%34,%35,%36,%37,%38,%39"
#define WEFT_R5 ",%40,%41,%42,%43,%44,%45,%46,%47"
#define WEFT_R6 ",%48,%49,%50,%51,%52,%53,%54,%55"
#define WEFT_R7 ",%56,%57,%58,%59,%60,%61,%62,%63"
#define WEFT_R8 ",%64,%65,%66,%67,%68,%69,%70,%71"
#define WEFT_R9 ",%72,%73,%74,%75,%76,%77,%78,%79"
#define WEFT_R10 ",%80,%81,%82,%83,%84,%85,%86,%87"
#define WEFT_R11 ",%88,%89,%90,%91,%92,%93,%94,%95"
#define WEFT_R12 ",%96,%97,%98,%99,%100,%101,%102,%103"
#define WEFT_R13 ",%104,%105,%106,%107,%108,%109,%110,%111"
#define WEFT_R14 ",%112,%113,%114,%115,%116,%117,%118,%119"
#define WEFT_R15 ",%120,%121,%122,%123,%124,%125,%126,%127"
#define WEFT_D8(i) "+f"(d[i]), "+f"(d[i+1]), "+f"(d[i+2]), "+f"(d[i+3]), \
                   "+f"(d[i+4]), "+f"(d[i+5]), "+f"(d[i+6]), "+f"(d[i+7])
#define WEFT_D4(i) "+f"(d[i]), "+f"(d[i+1]), "+f"(d[i+2]), "+f"(d[i+3])
#define WEFT_D32(i) WEFT_D8(i), WEFT_D8(i + 8), WEFT_D8(i + 16), WEFT_D8(i + 24)
#define WEFT_T12 WEFT_R0 WEFT_R1_HALF
#define WEFT_T16 WEFT_R0 WEFT_R1
#define WEFT_T20 WEFT_T16 WEFT_R2_HALF
#define WEFT_T24 WEFT_T16 WEFT_R2
#define WEFT_T28 WEFT_T24 WEFT_R3_HALF
#define WEFT_T32 WEFT_T16 WEFT_R2 WEFT_R3
#define WEFT_T40 WEFT_T32 WEFT_R4
#define WEFT_T48 WEFT_T40 WEFT_R5
#define WEFT_T56 WEFT_T48 WEFT_R6
#define WEFT_T64 WEFT_T56 WEFT_R7
#define WEFT_T80 WEFT_T64 WEFT_R8 WEFT_R9
#define WEFT_T88 WEFT_T80 WEFT_R10
#define WEFT_T96 WEFT_T88 WEFT_R11
#define WEFT_T104 WEFT_T96 WEFT_R12
#define WEFT_T112 WEFT_T104 WEFT_R13
#define WEFT_T128 WEFT_T112 WEFT_R14 WEFT_R15
// a, b, sum: the numbers of the operands behind the registers.
#define WEFT_WGMMA(shape, depth, type, turned, text, a_, b_, sum_, ...)                      \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #sum_ ", 0;\n"                           \
               "wgmma.mma_async.sync.aligned.m64" shape depth ".f32." type "." type          \
               " {" text "}, %" #a_ ", %" #b_ ", p, 1, 1" turned ";\n}"                      \
               : __VA_ARGS__ : "l"(a), "l"(b), "r"(sum))
#define WEFT_WGMMA_OF(shape, text, a_, b_, sum_, ...)                                        \
  if constexpr (std::is_same_v<T, __nv_bfloat16>)                                            \
    WEFT_WGMMA(shape, "k16", "bf16", ", 0, 0", text, a_, b_, sum_, __VA_ARGS__);             \
  else if constexpr (std::is_same_v<T, gemm::E4m3>)                                          \
    WEFT_WGMMA(shape, "k32", "e4m3", "", text, a_, b_, sum_, __VA_ARGS__);                   \
  else                                                                                       \
    WEFT_WGMMA(shape, "k16", "f16", ", 0, 0", text, a_, b_, sum_, __VA_ARGS__);

// d (+)= a * b^T; sum = 0 forgets what d held.
template <class T, int kN>
__device__ __forceinline__ void wgmma(float (&d)[kN / 2], std::uint64_t a, std::uint64_t b,
                                      int sum) {
  static_assert(std::is_same_v<T, __nv_bfloat16> || std::is_same_v<T, __half> || std::is_same_v<T, gemm::E4m3>);
  static_assert(kN == 24 || kN == 32 || kN == 40 || kN == 48 || kN == 56 || kN == 64 || kN == 80 || kN == 96 || kN == 112 || kN == 128 || kN == 160 || kN == 176 || kN == 192 || kN == 208 || kN == 224 ||
                    kN == 256, "no such shape here");
  if constexpr (kN == 24) {
    WEFT_WGMMA_OF("n24", WEFT_T12, 12, 13, 14, WEFT_D8(0), WEFT_D4(8))
  } else if constexpr (kN == 32) {
    WEFT_WGMMA_OF("n32", WEFT_T16, 16, 17, 18, WEFT_D8(0), WEFT_D8(8))
  } else if constexpr (kN == 40) {
    WEFT_WGMMA_OF("n40", WEFT_T20, 20, 21, 22, WEFT_D8(0), WEFT_D8(8), WEFT_D4(16))
  } else if constexpr (kN == 48) {
    WEFT_WGMMA_OF("n48", WEFT_T24, 24, 25, 26, WEFT_D8(0), WEFT_D8(8), WEFT_D8(16))
  } else if constexpr (kN == 56) {
    WEFT_WGMMA_OF("n56", WEFT_T28, 28, 29, 30, WEFT_D8(0), WEFT_D8(8), WEFT_D8(16), WEFT_D4(24))
  } else if constexpr (kN == 64) {
    WEFT_WGMMA_OF("n64", WEFT_T32, 32, 33, 34, WEFT_D32(0))
  } else if constexpr (kN == 80) {
    WEFT_WGMMA_OF("n80", WEFT_T40, 40, 41, 42, WEFT_D32(0), WEFT_D8(32))
  } else if constexpr (kN == 96) {
    WEFT_WGMMA_OF("n96", WEFT_T48, 48, 49, 50, WEFT_D32(0), WEFT_D8(32), WEFT_D8(40))
  } else if constexpr (kN == 112) {
    WEFT_WGMMA_OF("n112", WEFT_T56, 56, 57, 58, WEFT_D32(0), WEFT_D8(32), WEFT_D8(40), WEFT_D8(48))
  } else if constexpr (kN == 128) {
    WEFT_WGMMA_OF("n128", WEFT_T64, 64, 65, 66, WEFT_D32(0), WEFT_D32(32))
  } else if constexpr (kN == 160) {
    WEFT_WGMMA_OF("n160", WEFT_T80, 80, 81, 82, WEFT_D32(0), WEFT_D32(32), WEFT_D8(64), WEFT_D8(72))
  } else if constexpr (kN == 176) {
    WEFT_WGMMA_OF("n176", WEFT_T88, 88, 89, 90, WEFT_D32(0), WEFT_D32(32), WEFT_D8(64), WEFT_D8(72), WEFT_D8(80))
  } else if constexpr (kN == 192) {
    WEFT_WGMMA_OF("n192", WEFT_T96, 96, 97, 98, WEFT_D32(0), WEFT_D32(32), WEFT_D32(64))
  } else if constexpr (kN == 208) {
    WEFT_WGMMA_OF("n208", WEFT_T104, 104, 105, 106, WEFT_D32(0), WEFT_D32(32), WEFT_D32(64), WEFT_D8(96))
  } else if constexpr (kN == 224) {
    WEFT_WGMMA_OF("n224", WEFT_T112, 112, 113, 114, WEFT_D32(0), WEFT_D32(32), WEFT_D32(64), WEFT_D8(96), WEFT_D8(104))
  } else {
    WEFT_WGMMA_OF("n256", WEFT_T128, 128, 129, 130, WEFT_D32(0), WEFT_D32(32), WEFT_D32(64), WEFT_D32(96))
  }
}
// clang-format on

#undef WEFT_WGMMA_OF
#undef WEFT_WGMMA
#undef WEFT_T128
#undef WEFT_T112
#undef WEFT_T104
#undef WEFT_T96
#undef WEFT_T88
#undef WEFT_T80
#undef WEFT_T64
#undef WEFT_T56
#undef WEFT_T48
#undef WEFT_T40
#undef WEFT_T32
#undef WEFT_T28
#undef WEFT_T24
#undef WEFT_T20
#undef WEFT_T16
#undef WEFT_T12
#undef WEFT_D32
#undef WEFT_D4
#undef WEFT_D8
#undef WEFT_R15
#undef WEFT_R14
#undef WEFT_R13
#undef WEFT_R12
#undef WEFT_R11
#undef WEFT_R10
#undef WEFT_R9
#undef WEFT_R8
#undef WEFT_R7
#undef WEFT_R6
#undef WEFT_R5
#undef WEFT_R4
#undef WEFT_R3
#undef WEFT_R3_HALF
#undef WEFT_R2
#undef WEFT_R2_HALF
#undef WEFT_R1_HALF
#undef WEFT_R1
#undef WEFT_R0

}  // namespace weft::kernels::sm90
