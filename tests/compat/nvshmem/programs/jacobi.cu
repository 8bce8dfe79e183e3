// Jacobi's method on a plate whose rows are shared out: after each step the blocks at the edges put
// their rows into the neighbours' halos, and a barrier on the stream ends the step.
#include <cuda_runtime.h>
#include <nvshmem.h>
#include <nvshmemx.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define CUDA_CHECK(call)                                                                  \
  do {                                                                                    \
    const cudaError_t error = (call);                                                     \
    if (error != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
      std::exit(EXIT_FAILURE);                                                            \
    }                                                                                     \
  } while (0)

constexpr int kWidth = 257;
constexpr int kRows = 40;  // of each PE, without the halos above and below
constexpr int kSteps = 60;

// Rows 1 .. kRows are mine; 0 and kRows + 1 are the neighbours' next to me, or the plate's edge.
__global__ void step(float* next, const float* now, double* change, int above, int below) {
  const int row = blockIdx.x + 1;
  const float* here = now + row * kWidth;
  float* out = next + row * kWidth;
  double moved = 0;
  for (int x = threadIdx.x + 1; x < kWidth - 1; x += blockDim.x) {
    out[x] = 0.25f * (here[x - 1] + here[x + 1] + here[x - kWidth] + here[x + kWidth]);
    moved += static_cast<double>(out[x] - here[x]) * (out[x] - here[x]);
  }
  atomicAdd(change, moved);
  __syncthreads();
  if (row == 1 && above >= 0)
    nvshmemx_float_put_nbi_block(next + (kRows + 1) * kWidth, out, kWidth, above);
  if (row == kRows && below >= 0) nvshmemx_float_put_nbi_block(next, out, kWidth, below);
}

float edge(int row, int x, int rows) {
  if (row == 0) return 1.0f;
  if (x == 0) return 0.5f;
  return row == rows + 1 || x == kWidth - 1 ? -0.25f : 0.0f;
}

// The whole plate on the host: what it is after all steps, and how much the last one changed it.
std::vector<float> solve(int rows, double* change) {
  std::vector<float> now(static_cast<size_t>(rows + 2) * kWidth), next;
  for (int row = 0; row < rows + 2; ++row)
    for (int x = 0; x < kWidth; ++x)
      now[static_cast<size_t>(row) * kWidth + x] = edge(row, x, rows);
  next = now;
  for (int i = 0; i < kSteps; ++i) {
    *change = 0;
    for (int row = 1; row <= rows; ++row)
      for (int x = 1; x < kWidth - 1; ++x) {
        const size_t at = static_cast<size_t>(row) * kWidth + x;
        next[at] = 0.25f * (now[at - 1] + now[at + 1] + now[at - kWidth] + now[at + kWidth]);
        *change += static_cast<double>(next[at] - now[at]) * (next[at] - now[at]);
      }
    std::swap(now, next);
  }
  return now;
}

int main() {
  nvshmem_init();
  const int me = nvshmem_my_pe(), all = nvshmem_n_pes();
  int gpus = 0;
  CUDA_CHECK(cudaGetDeviceCount(&gpus));
  CUDA_CHECK(cudaSetDevice(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE) % gpus));
  cudaStream_t stream;
  CUDA_CHECK(cudaStreamCreate(&stream));

  const size_t cells = static_cast<size_t>(kRows + 2) * kWidth;
  float* now = static_cast<float*>(nvshmem_malloc(cells * sizeof(float)));
  float* next = static_cast<float*>(nvshmem_malloc(cells * sizeof(float)));
  double* change = static_cast<double*>(nvshmem_malloc(sizeof(double)));
  double* total = static_cast<double*>(nvshmem_malloc(sizeof(double)));
  std::vector<float> plate(cells);
  for (int row = 0; row < kRows + 2; ++row)
    for (int x = 0; x < kWidth; ++x)
      plate[static_cast<size_t>(row) * kWidth + x] = edge(me * kRows + row, x, all * kRows);
  CUDA_CHECK(cudaMemcpy(now, plate.data(), cells * sizeof(float), cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(next, plate.data(), cells * sizeof(float), cudaMemcpyHostToDevice));
  nvshmem_barrier_all();

  for (int i = 0; i < kSteps; ++i) {
    CUDA_CHECK(cudaMemsetAsync(change, 0, sizeof(double), stream));
    step<<<kRows, 128, 0, stream>>>(next, now, change, me - 1, me + 1 < all ? me + 1 : -1);
    nvshmemx_barrier_all_on_stream(stream);
    std::swap(now, next);
  }
  nvshmemx_double_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, total, change, 1, stream);
  double seen_change = 0, wanted_change = 0;
  CUDA_CHECK(cudaMemcpyAsync(&seen_change, total, sizeof(double), cudaMemcpyDeviceToHost, stream));
  CUDA_CHECK(cudaStreamSynchronize(stream));
  CUDA_CHECK(cudaMemcpy(plate.data(), now, cells * sizeof(float), cudaMemcpyDeviceToHost));

  const std::vector<float> wanted = solve(all * kRows, &wanted_change);
  bool right_answer = std::fabs(seen_change - wanted_change) <= 1e-5 * wanted_change;
  for (size_t i = kWidth; i < cells - kWidth; ++i)
    right_answer =
        right_answer &&
        std::fabs(plate[i] - wanted[static_cast<size_t>(me) * kRows * kWidth + i]) < 1e-5;

  std::printf("PE %d of %d: %s\n", me, all, right_answer ? "passed" : "FAILED");
  nvshmem_free(total);
  nvshmem_free(change);
  nvshmem_free(next);
  nvshmem_free(now);
  CUDA_CHECK(cudaStreamDestroy(stream));
  nvshmem_finalize();
  return right_answer ? EXIT_SUCCESS : EXIT_FAILURE;
}
