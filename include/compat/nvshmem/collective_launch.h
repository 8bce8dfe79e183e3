/* Launching a kernel on all PEs whose blocks wait for blocks of other PEs: all blocks of a PE run
 * at once. Here and not in libweft_nvshmem, which needs no CUDA. */
#ifndef WEFT_COMPAT_NVSHMEM_COLLECTIVE_LAUNCH_H
#define WEFT_COMPAT_NVSHMEM_COLLECTIVE_LAUNCH_H

#include "cuda.h"
#include "host.h"

#if WEFT_NVSHMEM_HAS_CUDA

#ifdef __cplusplus
extern "C" {
#endif

/* nvshmemx_status: reports that the launch failed, and why. */
__attribute__((visibility("default"))) int weft_nvshmem_refuse_launch(const char* routine,
                                                                      const char* why);
__attribute__((visibility("default"))) int weft_nvshmem_refuse_blocks(const char* routine,
                                                                      size_t blocks, size_t most);

/* How many blocks of the kernel fit on the GPU at once, in *gridsize. */
static inline int nvshmemx_collective_launch_query_gridsize(const void* func, dim3 blockDims,
                                                            void** args, size_t sharedMem,
                                                            int* gridsize) {
  int device = 0, units = 0, blocks = 0;
  cudaError_t error = cudaGetDevice(&device);
  (void)args;
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&units, cudaDevAttrMultiProcessorCount, device);
  if (error == cudaSuccess)
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &blocks, func, (int)(blockDims.x * blockDims.y * blockDims.z), sharedMem);
  if (error != cudaSuccess)
    return weft_nvshmem_refuse_launch("nvshmemx_collective_launch_query_gridsize",
                                      cudaGetErrorString(error));
  *gridsize = units * blocks;
  return NVSHMEMX_SUCCESS;
}

/* gridDims of zeros takes as many blocks as fit. */
static inline int nvshmemx_collective_launch(const void* func, dim3 gridDims, dim3 blockDims,
                                             void** args, size_t sharedMem, cudaStream_t stream) {
  const char* const name = "nvshmemx_collective_launch";
  const size_t wanted = (size_t)gridDims.x * gridDims.y * gridDims.z;
  int most = 0;
  cudaError_t error;
  const int failed =
      nvshmemx_collective_launch_query_gridsize(func, blockDims, args, sharedMem, &most);
  if (failed) return failed;
  if (wanted > (size_t)most) return weft_nvshmem_refuse_blocks(name, wanted, (size_t)most);
  if (wanted == 0) {
    gridDims.x = (unsigned)most;
    gridDims.y = gridDims.z = 1;
  }
  error = cudaLaunchCooperativeKernel(func, gridDims, blockDims, args, sharedMem, stream);
  if (error != cudaSuccess) return weft_nvshmem_refuse_launch(name, cudaGetErrorString(error));
  return NVSHMEMX_SUCCESS;
}

#ifdef __cplusplus
}
#endif

#endif
#endif
