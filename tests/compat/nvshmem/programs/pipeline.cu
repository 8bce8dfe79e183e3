// A pipeline over all PEs inside one kernel: each stage waits for a chunk, adds one to every number
// of it and hands it on with a signal. Two slots; a stage tells the one before when a slot is free.
#include <cuda_runtime.h>
#include <nvshmem.h>
#include <nvshmemx.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_CHECK(call)                                                                  \
  do {                                                                                    \
    const cudaError_t error = (call);                                                     \
    if (error != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
      std::exit(EXIT_FAILURE);                                                            \
    }                                                                                     \
  } while (0)

constexpr int kChunks = 64;
constexpr int kChunk = 3000;
constexpr int kSlots = 2;

struct Stage {
  float* inbox;      // kSlots chunks
  float* work;       // one chunk
  float* result;     // kChunks chunks, of the last stage
  uint64_t* filled;  // how many chunks have come
  uint64_t* taken;   // how many chunks the next stage is through with
};

__global__ void run_stage(Stage stage) {
  const int me = nvshmem_my_pe(), last = nvshmem_n_pes() - 1;
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    float* slot = stage.inbox + (chunk % kSlots) * kChunk;
    if (me > 0) {
      if (threadIdx.x == 0)
        nvshmem_signal_wait_until(stage.filled, NVSHMEM_CMP_GE, static_cast<uint64_t>(chunk) + 1);
      __syncthreads();
    }
    float* out = me == last ? stage.result + chunk * kChunk : stage.work;
    for (int i = threadIdx.x; i < kChunk; i += blockDim.x)
      out[i] = (me == 0 ? static_cast<float>(chunk * 10 + i % 10) : slot[i]) + 1.0f;
    __syncthreads();
    if (me > 0 && threadIdx.x == 0) nvshmemx_signal_op(stage.taken, 1, NVSHMEM_SIGNAL_ADD, me - 1);
    if (me < last) {
      if (threadIdx.x == 0 && chunk >= kSlots)
        nvshmem_uint64_wait_until(stage.taken, NVSHMEM_CMP_GT,
                                  static_cast<uint64_t>(chunk - kSlots));
      __syncthreads();
      nvshmemx_float_put_signal_block(slot, stage.work, kChunk, stage.filled, 1, NVSHMEM_SIGNAL_ADD,
                                      me + 1);
    }
  }
}

int main() {
  nvshmem_init();
  const int me = nvshmem_my_pe(), all = nvshmem_n_pes();
  int gpus = 0;
  CUDA_CHECK(cudaGetDeviceCount(&gpus));
  CUDA_CHECK(cudaSetDevice(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE) % gpus));

  Stage stage;
  stage.inbox = static_cast<float*>(nvshmem_malloc(kSlots * kChunk * sizeof(float)));
  stage.filled = static_cast<uint64_t*>(nvshmem_calloc(1, sizeof(uint64_t)));
  stage.taken = static_cast<uint64_t*>(nvshmem_calloc(1, sizeof(uint64_t)));
  CUDA_CHECK(cudaMalloc(&stage.work, kChunk * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&stage.result, kChunks * kChunk * sizeof(float)));
  nvshmem_barrier_all();

  void* args[] = {&stage};
  if (nvshmemx_collective_launch(reinterpret_cast<const void*>(run_stage), dim3(1), dim3(256), args,
                                 0, nullptr) != 0) {
    std::fprintf(stderr, "PE %d: the launch failed\n", me);
    nvshmem_global_exit(EXIT_FAILURE);
  }
  CUDA_CHECK(cudaDeviceSynchronize());

  bool right_answer = true;
  if (me == all - 1) {
    std::vector<float> result(kChunks * kChunk);
    CUDA_CHECK(cudaMemcpy(result.data(), stage.result, result.size() * sizeof(float),
                          cudaMemcpyDeviceToHost));
    for (int chunk = 0; chunk < kChunks; ++chunk)
      for (int i = 0; i < kChunk; ++i)
        right_answer = right_answer && result[static_cast<size_t>(chunk) * kChunk + i] ==
                                           static_cast<float>(chunk * 10 + i % 10 + all);
  }
  std::printf("PE %d of %d: %s\n", me, all, right_answer ? "passed" : "FAILED");
  nvshmem_barrier_all();
  CUDA_CHECK(cudaFree(stage.result));
  CUDA_CHECK(cudaFree(stage.work));
  nvshmem_free(stage.taken);
  nvshmem_free(stage.filled);
  nvshmem_free(stage.inbox);
  nvshmem_finalize();
  return right_answer ? EXIT_SUCCESS : EXIT_FAILURE;
}
