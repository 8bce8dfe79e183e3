// A histogram whose bins are shared out over all PEs: every thread counts by atomics on the PE that
// owns the bin. Beside it a lock that PE 0 keeps guards a sum that is no atomic, and the PEs of
// even and of odd number add up in teams of their own.
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

constexpr int kBins = 64;    // of each PE
constexpr int kDraws = 200;  // of each thread
constexpr int kThreads = 128;
constexpr int kTurns = 20;  // with the lock, of each PE

struct Shared {
  unsigned* bins;             // kBins, symmetric
  int* lock;                  // PE 0's counts
  long long* guarded;         // PE 0's counts
  unsigned long long* drawn;  // mine, and behind it my team's
};

__host__ __device__ inline uint32_t scrambled(uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ (x >> 16);
}

__host__ __device__ inline uint32_t drawn_bin(int pe, int thread, int draw, int all) {
  return scrambled(static_cast<uint32_t>((pe * kThreads + thread) * kDraws + draw)) %
         static_cast<uint32_t>(kBins * all);
}

// One block.
__global__ void count(Shared s, nvshmem_team_t team) {
  const int me = nvshmem_my_pe(), all = nvshmem_n_pes();
  for (int draw = 0; draw < kDraws; ++draw) {
    const uint32_t bin = drawn_bin(me, threadIdx.x, draw, all);
    nvshmem_uint_atomic_inc(s.bins + bin % kBins, static_cast<int>(bin / kBins));
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int turn = 0; turn < kTurns; ++turn) {
      while (nvshmem_int_atomic_compare_swap(s.lock, 0, me + 1, 0) != 0) {
      }
      const long long value = nvshmem_longlong_g(s.guarded, 0);
      nvshmem_longlong_p(s.guarded, value + me + 1, 0);
      nvshmem_quiet();
      nvshmem_int_atomic_set(s.lock, 0, 0);
      nvshmem_quiet();
    }
    s.drawn[0] = static_cast<unsigned long long>(kThreads) * kDraws + me;
  }
  nvshmemx_barrier_all_block();
  nvshmemx_ulonglong_sum_reduce_block(team, s.drawn + 1, s.drawn, 1);
}

int main() {
  nvshmem_init();
  const int me = nvshmem_my_pe(), all = nvshmem_n_pes();
  int gpus = 0;
  CUDA_CHECK(cudaGetDeviceCount(&gpus));
  CUDA_CHECK(cudaSetDevice(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE) % gpus));

  // Every PE takes part in both splits.
  nvshmem_team_t even = NVSHMEM_TEAM_INVALID, odd = NVSHMEM_TEAM_INVALID;
  nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 2, (all + 1) / 2, nullptr, 0, &even);
  if (all > 1) nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 1, 2, all / 2, nullptr, 0, &odd);
  nvshmem_team_t mine = me % 2 == 0 ? even : odd;
  bool right_answer = mine != NVSHMEM_TEAM_INVALID && nvshmem_team_my_pe(mine) == me / 2 &&
                      nvshmem_team_translate_pe(mine, me / 2, NVSHMEM_TEAM_WORLD) == me;

  Shared s;
  s.bins = static_cast<unsigned*>(nvshmem_calloc(kBins, sizeof(unsigned)));
  s.lock = static_cast<int*>(nvshmem_calloc(1, sizeof(int)));
  s.guarded = static_cast<long long*>(nvshmem_calloc(1, sizeof(long long)));
  s.drawn = static_cast<unsigned long long*>(nvshmem_calloc(2, sizeof(unsigned long long)));
  nvshmem_barrier_all();
  void* args[] = {&s, &mine};
  right_answer = nvshmemx_collective_launch(reinterpret_cast<const void*>(count), dim3(1),
                                            dim3(kThreads), args, 0, nullptr) == 0 &&
                 right_answer;
  CUDA_CHECK(cudaDeviceSynchronize());
  nvshmem_barrier_all();

  std::vector<unsigned> wanted(static_cast<size_t>(kBins) * all), bins(kBins);
  for (int pe = 0; pe < all; ++pe)
    for (int thread = 0; thread < kThreads; ++thread)
      for (int draw = 0; draw < kDraws; ++draw) ++wanted[drawn_bin(pe, thread, draw, all)];
  CUDA_CHECK(cudaMemcpy(bins.data(), s.bins, kBins * sizeof(unsigned), cudaMemcpyDeviceToHost));
  for (int bin = 0; bin < kBins; ++bin)
    right_answer = right_answer && bins[bin] == wanted[static_cast<size_t>(me) * kBins + bin];

  unsigned long long sums[2], wanted_sum = 0;
  CUDA_CHECK(cudaMemcpy(sums, s.drawn, sizeof(sums), cudaMemcpyDeviceToHost));
  for (int pe = me % 2; pe < all; pe += 2)
    wanted_sum += static_cast<unsigned long long>(kThreads) * kDraws + pe;
  right_answer = right_answer && sums[1] == wanted_sum;

  if (me == 0) {
    long long guarded = 0;
    CUDA_CHECK(cudaMemcpy(&guarded, s.guarded, sizeof(guarded), cudaMemcpyDeviceToHost));
    right_answer = right_answer && guarded == static_cast<long long>(kTurns) * all * (all + 1) / 2;
  }

  std::printf("PE %d of %d: %s\n", me, all, right_answer ? "passed" : "FAILED");
  nvshmem_free(s.drawn);
  nvshmem_free(s.guarded);
  nvshmem_free(s.lock);
  nvshmem_free(s.bins);
  if (odd != NVSHMEM_TEAM_INVALID) nvshmem_team_destroy(odd);
  if (even != NVSHMEM_TEAM_INVALID) nvshmem_team_destroy(even);
  nvshmem_finalize();
  return right_answer ? EXIT_SUCCESS : EXIT_FAILURE;
}
