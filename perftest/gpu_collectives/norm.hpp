// The kernel that a program without AllReduceNorm runs behind its AllReduce: it adds the residual
// and norms rows, of bfloat16, by vectors of 16 bytes.
#pragma once

#include <cstddef>

#include <weft/small_float.hpp>

#include "perftest/gpu_collectives/graph.hpp"

namespace weft::perf::collectives {

inline constexpr unsigned kNormThreads = 512;

struct alignas(16) EightBfloat16 {
  Bfloat16 values[8];
};

// A row to a block; hidden is a multiple of 8.
static __global__ void add_and_norm_kernel(EightBfloat16* out, EightBfloat16* residual_out,
                                           const EightBfloat16* in, const EightBfloat16* residual,
                                           const EightBfloat16* weight, unsigned vectors,
                                           float epsilon) {
  const std::size_t row = static_cast<std::size_t>(blockIdx.x) * vectors;
  float sum = 0;
  for (unsigned v = threadIdx.x; v < vectors; v += blockDim.x) {
    const EightBfloat16 a = in[row + v], b = residual[row + v];
    EightBfloat16 both;
    for (int i = 0; i < 8; ++i) {
      both.values[i] = Bfloat16(static_cast<float>(a.values[i]) + static_cast<float>(b.values[i]));
      const float value = static_cast<float>(both.values[i]);
      sum += value * value;
    }
    residual_out[row + v] = both;
  }
  __shared__ float sums[kNormThreads / 32];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0;
  for (unsigned w = 0; w < blockDim.x / 32; ++w) sum += sums[w];
  const float scale = rsqrtf(sum / static_cast<float>(8 * vectors) + epsilon);
  for (unsigned v = threadIdx.x; v < vectors; v += blockDim.x) {
    const EightBfloat16 a = residual_out[row + v], w = weight[v];
    EightBfloat16 normed;
    for (int i = 0; i < 8; ++i)
      normed.values[i] =
          Bfloat16(static_cast<float>(a.values[i]) * scale * static_cast<float>(w.values[i]));
    out[row + v] = normed;
  }
}

inline Status add_and_norm(Stream stream, std::byte* out, std::byte* residual_out,
                           const std::byte* in, const std::byte* residual, const std::byte* weight,
                           std::size_t rows, std::size_t hidden, float epsilon) {
  const auto vectors = [](std::byte* memory) { return reinterpret_cast<EightBfloat16*>(memory); };
  const auto inputs = [](const std::byte* m) { return reinterpret_cast<const EightBfloat16*>(m); };
  add_and_norm_kernel<<<static_cast<unsigned>(rows), kNormThreads, 0,
                        static_cast<cudaStream_t>(stream)>>>(
      vectors(out), vectors(residual_out), inputs(in), inputs(residual), inputs(weight),
      static_cast<unsigned>(hidden / 8), epsilon);
  return of(cudaGetLastError());
}

}  // namespace weft::perf::collectives
