// Everybody writes to its right neighbour: one number by one thread, then a long array by a block.
#include <cuda_runtime.h>
#include <nvshmem.h>
#include <nvshmemx.h>

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

__global__ void shift_number(int* dest) {
  const int me = nvshmem_my_pe();
  nvshmem_int_p(dest, me, (me + 1) % nvshmem_n_pes());
}

__global__ void shift_array(int* dest, const int* source, size_t count) {
  const size_t share = (count + gridDim.x - 1) / gridDim.x;
  const size_t first = share * blockIdx.x;
  if (first >= count) return;
  const size_t mine = first + share < count ? share : count - first;
  const int right = (nvshmem_my_pe() + 1) % nvshmem_n_pes();
  nvshmemx_int_put_nbi_block(dest + first, source + first, mine, right);
}

int main() {
  nvshmem_init();
  const int me = nvshmem_my_pe(), all = nvshmem_n_pes();
  int gpus = 0;
  CUDA_CHECK(cudaGetDeviceCount(&gpus));
  CUDA_CHECK(cudaSetDevice(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE) % gpus));
  cudaStream_t stream;
  CUDA_CHECK(cudaStreamCreate(&stream));

  int* number = static_cast<int*>(nvshmem_malloc(sizeof(int)));
  shift_number<<<1, 1, 0, stream>>>(number);
  nvshmemx_barrier_all_on_stream(stream);
  int got = -1;
  CUDA_CHECK(cudaMemcpyAsync(&got, number, sizeof(int), cudaMemcpyDeviceToHost, stream));
  CUDA_CHECK(cudaStreamSynchronize(stream));
  const int left = (me + all - 1) % all;
  bool right_answer = got == left;

  const size_t count = 1000003;
  int* source = static_cast<int*>(nvshmem_malloc(count * sizeof(int)));
  int* dest = static_cast<int*>(nvshmem_malloc(count * sizeof(int)));
  std::vector<int> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = me * 1000 + static_cast<int>(i % 997);
  CUDA_CHECK(cudaMemcpy(source, values.data(), count * sizeof(int), cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemset(dest, 0xff, count * sizeof(int)));
  nvshmem_barrier_all();
  shift_array<<<16, 256, 0, stream>>>(dest, source, count);
  nvshmemx_barrier_all_on_stream(stream);
  CUDA_CHECK(cudaStreamSynchronize(stream));
  CUDA_CHECK(cudaMemcpy(values.data(), dest, count * sizeof(int), cudaMemcpyDeviceToHost));
  for (size_t i = 0; i < count; ++i)
    right_answer = right_answer && values[i] == left * 1000 + static_cast<int>(i % 997);

  std::printf("PE %d of %d: %s\n", me, all, right_answer ? "passed" : "FAILED");
  nvshmem_free(dest);
  nvshmem_free(source);
  nvshmem_free(number);
  CUDA_CHECK(cudaStreamDestroy(stream));
  nvshmem_finalize();
  return right_answer ? EXIT_SUCCESS : EXIT_FAILURE;
}
