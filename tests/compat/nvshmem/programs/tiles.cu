// Tiles of a matrix in kernels, moved and reduced by a warp, four warps and a block, each checked
// by the GPU itself, gaps included.
#include <cuda_bf16.h>
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

constexpr int kRows = 37, kColumns = 64, kPitch = 72;  // of a tile; the pitch leaves a gap
constexpr int kCut = 61;                               // columns before the boundary
constexpr int kPoison = -1;

template <class T>
struct Arrays {
  T *dest, *source;  // a tile for every PE
  int* faults;       // of this PE
};

__device__ void expect(bool holds, int* faults) {
  if (!holds) atomicAdd(faults, 1);
}

// An element that PE `pe` gives; small, so that sums of 16-bit floats are exact.
__device__ int number(int pe, int row, int column) { return (row * 7 + column + 3 * pe) % 29; }

__device__ float shown(float value) { return value; }
__device__ float shown(half value) { return __half2float(value); }
__device__ float shown(__nv_bfloat16 value) { return __bfloat162float(value); }

template <class T>
__device__ void prepare(const Arrays<T>& a, int me, int all) {
  for (int i = threadIdx.x; i < kRows * kPitch * all; i += blockDim.x) {
    a.source[i] = T(static_cast<float>(number(me, i / kPitch, i % kPitch)));
    a.dest[i] = T(static_cast<float>(kPoison));
  }
  nvshmemx_barrier_all_block();
}

// wanted(row, column) of the first tile, `columns` of it; all others as they were.
template <class T, class Wanted>
__device__ void check(const Arrays<T>& a, int columns, Wanted wanted) {
  for (int i = threadIdx.x; i < kRows * kPitch; i += blockDim.x) {
    const int row = i / kPitch, column = i % kPitch;
    expect(shown(a.dest[i]) == (column < columns ? wanted(row, column) : kPoison), a.faults);
  }
  nvshmemx_barrier_all_block();
}

// One block of eight warps.
template <class T>
__global__ void play(Arrays<T> a) {
  using namespace nvshmemx;
  const int me = nvshmem_my_pe(), all = nvshmem_n_pes();
  const int next = (me + 1) % all, before = (me + all - 1) % all;
  const auto layout = make_layout(make_shape(ConstInt<kRows>{}, ConstInt<kColumns>{}),
                                  make_stride(ConstInt<kPitch>{}, ConstInt<1>{}));
  using Tile = Tensor<T, decltype(make_layout(layout.shape(), layout.stride()))>;
  const Tile source(a.source, layout), dest(a.dest, layout);
  const auto start = make_shape(5, 3), boundary = make_shape(5 + kRows, 3 + kCut);
  using Bound = decltype(make_shape(0, 0));
  struct Whole {};
  constexpr auto pull = tile_coll_algo_t::NVLS_ONE_SHOT_PULL_NBI;
  constexpr auto push = tile_coll_algo_t::NVLS_ONE_SHOT_PUSH_NBI;
  constexpr auto two = tile_coll_algo_t::NVLS_TWO_SHOT_PUSH_NBI;
  const auto sum = [=](int row, int column) {
    int total = 0;
    for (int pe = 0; pe < all; ++pe) total += number(pe, row, column);
    return total;
  };
  const bool in_group = threadIdx.x / 128 == 1;  // the second four warps

  prepare(a, me, all);
  expect(tile_put_block<Tile, Tile, Whole, tile_algo_t::PEER_PUSH_NBI>(source, dest, {}, {}, next,
                                                                       0) == 0,
         a.faults);
  nvshmemx_barrier_all_block();
  check(a, kColumns, [=](int row, int column) { return number(before, row, column); });

  prepare(a, me, all);
  if (threadIdx.x < 32)
    expect(tile_get_warp<Tile, Tile, Bound, tile_algo_t::REMOTE_PULL_NBI>(source, dest, start,
                                                                          boundary, next, 0) == 0,
           a.faults);
  nvshmemx_barrier_all_block();
  check(a, kCut, [=](int row, int column) { return number(next, row, column); });

  prepare(a, me, all);
  expect(tile_sum_reduce_block<Tile, Tile, Whole, pull>(NVSHMEM_TEAM_WORLD, source, dest, {}, {},
                                                        0) == 0,
         a.faults);
  expect(tile_collective_wait_block<pull>(NVSHMEM_TEAM_WORLD, 0) == 0, a.faults);
  nvshmemx_barrier_all_block();
  check(a, kColumns, sum);

  prepare(a, me, all);
  if (in_group) {
    expect(tile_sum_reduce_warpgroup<Tile, Tile, Bound, two>(NVSHMEM_TEAM_WORLD, source, dest,
                                                             start, boundary, all - 1, 0) == 0,
           a.faults);
    expect(tile_collective_wait_warpgroup<two>(NVSHMEM_TEAM_WORLD, 0) == 0, a.faults);
  }
  nvshmemx_barrier_all_block();
  check(a, kCut, sum);

  prepare(a, me, all);
  expect(tile_max_rooted_reduce_block<Tile, Tile, Whole, pull>(NVSHMEM_TEAM_WORLD, source, dest, {},
                                                               {}, 0, 0) == 0,
         a.faults);
  nvshmemx_barrier_all_block();
  check(a, me == 0 ? kColumns : 0, [=](int row, int column) {
    int most = 0;
    for (int pe = 0; pe < all; ++pe) most = max(most, number(pe, row, column));
    return most;
  });

  prepare(a, me, all);
  const auto tall =
      make_layout(make_shape(kRows * all, int{kColumns}), make_stride(int{kPitch}, 1));
  using Tall = Tensor<T, decltype(make_layout(tall.shape(), tall.stride()))>;
  expect(tile_allgather_block<Tile, Tall, Bound, push>(NVSHMEM_TEAM_WORLD, source,
                                                       Tall(a.dest, tall), start, boundary, 0) == 0,
         a.faults);
  expect(tile_collective_wait_block<push>(NVSHMEM_TEAM_WORLD, 0) == 0, a.faults);
  for (int pe = 0; pe < all; ++pe) {
    const Arrays<T> part{a.dest + pe * kRows * kPitch, a.source, a.faults};
    check(part, kCut, [=](int row, int column) { return number(pe, row, column); });
  }

  prepare(a, me, all);
  if (me == all - 1 && in_group)
    expect(tile_broadcast_warpgroup<Tile, Tile, Whole, push>(NVSHMEM_TEAM_WORLD, source, dest, {},
                                                             {}, 0) == 0,
           a.faults);
  if (in_group) expect(tile_collective_wait_warpgroup<push>(NVSHMEM_TEAM_WORLD, 0) == 0, a.faults);
  __syncthreads();
  check(a, kColumns, [=](int row, int column) { return number(all - 1, row, column); });
}

// The number of faults.
template <class T>
int played(const char* type) {
  const int me = nvshmem_my_pe(), all = nvshmem_n_pes();
  const size_t bytes = sizeof(T) * kRows * kPitch * all;
  Arrays<T> a;
  a.dest = static_cast<T*>(nvshmem_malloc(bytes));
  a.source = static_cast<T*>(nvshmem_malloc(bytes));
  CUDA_CHECK(cudaMalloc(&a.faults, sizeof(int)));
  CUDA_CHECK(cudaMemset(a.faults, 0, sizeof(int)));
  nvshmem_barrier_all();

  void* args[] = {&a};
  int faults = -1;
  if (nvshmemx_collective_launch(reinterpret_cast<const void*>(play<T>), dim3(1), dim3(256), args,
                                 0, nullptr) == 0)
    CUDA_CHECK(cudaMemcpy(&faults, a.faults, sizeof(int), cudaMemcpyDeviceToHost));
  std::printf("PE %d of %d, %s: %s (%d faults)\n", me, all, type, faults == 0 ? "passed" : "FAILED",
              faults);
  nvshmem_barrier_all();
  CUDA_CHECK(cudaFree(a.faults));
  nvshmem_free(a.source);
  nvshmem_free(a.dest);
  return faults;
}

int main() {
  nvshmem_init();
  int gpus = 0;
  CUDA_CHECK(cudaGetDeviceCount(&gpus));
  CUDA_CHECK(cudaSetDevice(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE) % gpus));
  int faults = played<float>("float");
  faults |= played<half>("half");
  faults |= played<__nv_bfloat16>("bfloat16");
  nvshmem_finalize();
  return faults == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
