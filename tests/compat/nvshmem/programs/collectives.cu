// Collectives in kernels, called by a thread, a warp and a block, each checked by the GPU itself.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <nvshmem.h>
#include <nvshmemx.h>

#include <cstdio>
#include <cstdlib>

#define CUDA_CHECK(call)                                                                  \
  do {                                                                                    \
    const cudaError_t error = (call);                                                     \
    if (error != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
      std::exit(EXIT_FAILURE);                                                            \
    }                                                                                     \
  } while (0)

constexpr size_t kCount = 600;  // elements of one PE

struct Arrays {
  int *dest, *source;  // kCount for every PE
  half *half_dest, *half_source;
  int* faults;  // of this PE
};

__device__ void expect(bool holds, int* faults) {
  if (!holds) atomicAdd(faults, 1);
}

// Element i of those that PE `pe` gives.
__device__ int number(int pe, size_t i) { return pe * 100 + static_cast<int>(i % 91); }

// One block.
__global__ void play(Arrays a) {
  const int me = nvshmem_my_pe(), all = nvshmem_n_pes();
  const size_t total = kCount * all;
  for (size_t i = threadIdx.x; i < total; i += blockDim.x) a.source[i] = number(me, i);
  for (size_t i = threadIdx.x; i < kCount; i += blockDim.x)
    a.half_source[i] = __float2half(static_cast<float>(i % 7 + me));
  nvshmemx_barrier_all_block();

  expect(nvshmemx_int_fcollect_block(NVSHMEM_TEAM_WORLD, a.dest, a.source, kCount) == 0, a.faults);
  for (size_t i = threadIdx.x; i < total; i += blockDim.x)
    expect(a.dest[i] == number(static_cast<int>(i / kCount), i % kCount), a.faults);
  nvshmemx_barrier_all_block();

  expect(nvshmemx_int_alltoall_block(NVSHMEM_TEAM_WORLD, a.dest, a.source, kCount) == 0, a.faults);
  for (size_t i = threadIdx.x; i < total; i += blockDim.x)
    expect(a.dest[i] == number(static_cast<int>(i / kCount), me * kCount + i % kCount), a.faults);
  nvshmemx_barrier_all_block();

  expect(nvshmemx_int_sum_reduce_block(NVSHMEM_TEAM_WORLD, a.dest, a.source, kCount) == 0,
         a.faults);
  for (size_t i = threadIdx.x; i < kCount; i += blockDim.x) {
    int sum = 0;
    for (int pe = 0; pe < all; ++pe) sum += number(pe, i);
    expect(a.dest[i] == sum, a.faults);
  }
  nvshmemx_barrier_all_block();

  expect(nvshmemx_int_max_reducescatter_block(NVSHMEM_TEAM_WORLD, a.dest, a.source, kCount) == 0,
         a.faults);
  for (size_t i = threadIdx.x; i < kCount; i += blockDim.x)
    expect(a.dest[i] == number(all - 1, me * kCount + i), a.faults);
  nvshmemx_barrier_all_block();

  expect(
      nvshmemx_half_sum_reduce_block(NVSHMEM_TEAM_WORLD, a.half_dest, a.half_source, kCount) == 0,
      a.faults);
  for (size_t i = threadIdx.x; i < kCount; i += blockDim.x) {
    float sum = 0;
    for (int pe = 0; pe < all; ++pe) sum += static_cast<float>(i % 7 + pe);
    expect(__half2float(a.half_dest[i]) == sum, a.faults);
  }
  nvshmemx_barrier_all_block();

  if (threadIdx.x < 32) {
    const int root = all - 1;
    expect(nvshmemx_int_broadcast_warp(NVSHMEM_TEAM_WORLD, a.dest, a.source, kCount, root) == 0,
           a.faults);
    for (size_t i = threadIdx.x; i < kCount; i += 32)
      expect(a.dest[i] == number(root, i), a.faults);
    nvshmemx_sync_all_warp();
  }
  __syncthreads();

  if (threadIdx.x == 0) {
    expect(nvshmem_int_min_reduce(NVSHMEM_TEAM_WORLD, a.dest, a.source, 5) == 0, a.faults);
    for (size_t i = 0; i < 5; ++i) expect(a.dest[i] == number(0, i), a.faults);
    nvshmem_barrier_all();
  }
}

int main() {
  nvshmem_init();
  const int me = nvshmem_my_pe(), all = nvshmem_n_pes();
  int gpus = 0;
  CUDA_CHECK(cudaGetDeviceCount(&gpus));
  CUDA_CHECK(cudaSetDevice(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE) % gpus));

  Arrays a;
  a.dest = static_cast<int*>(nvshmem_malloc(kCount * all * sizeof(int)));
  a.source = static_cast<int*>(nvshmem_malloc(kCount * all * sizeof(int)));
  a.half_dest = static_cast<half*>(nvshmem_malloc(kCount * sizeof(half)));
  a.half_source = static_cast<half*>(nvshmem_malloc(kCount * sizeof(half)));
  CUDA_CHECK(cudaMalloc(&a.faults, sizeof(int)));
  CUDA_CHECK(cudaMemset(a.faults, 0, sizeof(int)));
  nvshmem_barrier_all();

  void* args[] = {&a};
  int faults = -1;
  if (nvshmemx_collective_launch(reinterpret_cast<const void*>(play), dim3(1), dim3(160), args, 0,
                                 nullptr) == 0)
    CUDA_CHECK(cudaMemcpy(&faults, a.faults, sizeof(int), cudaMemcpyDeviceToHost));
  std::printf("PE %d of %d: %s (%d faults)\n", me, all, faults == 0 ? "passed" : "FAILED", faults);

  nvshmem_barrier_all();
  CUDA_CHECK(cudaFree(a.faults));
  nvshmem_free(a.half_source);
  nvshmem_free(a.half_dest);
  nvshmem_free(a.source);
  nvshmem_free(a.dest);
  nvshmem_finalize();
  return faults == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
