// The rows of weft-perf gpu against NVSHMEM's public API: the same kernels, grids, sizes and
// numbers of repeats (perftest/gpu/kernel_points.hpp), one process per PE, a GPU each.
//
//   weft-run -n 8 nvshmem_gpu --meet FILE [--start-up NS]
//
// FILE, a new one for each job, is where the processes meet. The quicker of several calls for
// one thing is measured: nonblocking puts, and a quiet by one thread for its group. PE 0 prints a
// line per row; with --start-up each PE prints the seconds from NS (`date +%s%N`) until a first
// kernel has put a word to the next PE.
#include <nvshmem.h>
#include <nvshmemx.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "perftest/peers/nvshmem_job.hpp"

using namespace weft::perf::gpu;
using Word = std::uint64_t;

namespace {

// --- kernels
// ---------------------------------------------------------------------------------------

struct Buffers {
  char *dst, *src;
  Word* words;
};

template <Group G>
__device__ void sync_group() {
  if (G == Group::kWarp) __syncwarp();
  if (G == Group::kBlock) __syncthreads();
}
template <Group G>
__device__ void quiet() {
  sync_group<G>();
  if (threadIdx.x == 0) nvshmem_quiet();
  sync_group<G>();
}
template <Group G>
__device__ void put(char* dst, const char* src, std::size_t bytes, int peer) {
  if (G == Group::kThread) nvshmem_putmem_nbi(dst, src, bytes, peer);
  if (G == Group::kWarp) nvshmemx_putmem_nbi_warp(dst, src, bytes, peer);
  if (G == Group::kBlock) nvshmemx_putmem_nbi_block(dst, src, bytes, peer);
}
template <Group G>
__device__ void put_signal(char* dst, const char* src, std::size_t bytes, Word* word, Word value,
                           int peer) {
  constexpr int kSet = NVSHMEM_SIGNAL_SET;
  if (G == Group::kThread) nvshmem_putmem_signal_nbi(dst, src, bytes, word, value, kSet, peer);
  if (G == Group::kWarp) nvshmemx_putmem_signal_nbi_warp(dst, src, bytes, word, value, kSet, peer);
  if (G == Group::kBlock)
    nvshmemx_putmem_signal_nbi_block(dst, src, bytes, word, value, kSet, peer);
}

// My block's part of a transfer, in whole vectors of 16 bytes.
struct Part {
  std::size_t first, bytes;
};
__device__ Part my_part(std::size_t bytes) {
  const std::size_t vectors = bytes / 16, each = (vectors + gridDim.x - 1) / gridDim.x;
  const std::size_t first = each * blockIdx.x;
  if (first >= vectors) return {bytes, 0};
  return {first * 16, (vectors - first < each ? vectors - first : each) * 16};
}

__global__ void __launch_bounds__(1024) puts(Buffers b, std::size_t bytes, int peer, int iters) {
  const Part part = my_part(bytes);
  for (int i = 0; i < iters; ++i)
    put<Group::kBlock>(b.dst + part.first, b.src + part.first, part.bytes, peer);
  quiet<Group::kBlock>();
}
__global__ void __launch_bounds__(1024) gets(Buffers b, std::size_t bytes, int peer, int iters) {
  const Part part = my_part(bytes);
  for (int i = 0; i < iters; ++i)
    nvshmemx_getmem_nbi_block(b.dst + part.first, b.src + part.first, part.bytes, peer);
  quiet<Group::kBlock>();
}
template <Group G>
__global__ void __launch_bounds__(1024)
    put_quiet(Buffers b, std::size_t bytes, int peer, int iters) {
  const Part part = my_part(bytes);
  for (int i = 0; i < iters; ++i) {
    put<G>(b.dst + part.first, b.src + part.first, part.bytes, peer);
    quiet<G>();
  }
}
template <Group G>
__global__ void __launch_bounds__(1024)
    ping_pong(Buffers b, std::size_t bytes, Word first, int iters) {
  const int pe = nvshmem_my_pe(), peer = 1 - pe;
  const auto wait = [&](Word value) {
    if (threadIdx.x == 0) nvshmem_signal_wait_until(b.words, NVSHMEM_CMP_GE, value);
    sync_group<G>();
  };
  for (Word i = first; i < first + static_cast<Word>(iters); ++i) {
    if (pe == 1) wait(i);
    if (bytes != 0)
      put_signal<G>(b.dst, b.src, bytes, b.words, i, peer);
    else if (threadIdx.x == 0)
      nvshmemx_signal_op(b.words, i, NVSHMEM_SIGNAL_SET, peer);
    if (pe == 0) wait(i);
  }
}
__global__ void fetch_adds(Word* word, int peer, int iters) {
  Word seen = 0;  // each waits for the one before
  for (int i = 0; i < iters; ++i)
    seen = nvshmem_uint64_atomic_fetch_add(word, Word{1} + (seen >> 63), peer);
}
__global__ void __launch_bounds__(1024) barriers(int iters) {
  for (int i = 0; i < iters; ++i) nvshmemx_barrier_all_block();
}
__global__ void __launch_bounds__(1024) syncs(int iters) {
  for (int i = 0; i < iters; ++i) nvshmemx_sync_all_block();
}
__global__ void __launch_bounds__(1024) fcollects(Buffers b, std::size_t count, int iters) {
  for (int i = 0; i < iters; ++i)
    nvshmemx_uint64_fcollect_block(NVSHMEM_TEAM_WORLD, reinterpret_cast<Word*>(b.dst),
                                   reinterpret_cast<const Word*>(b.src), count);
}
__global__ void __launch_bounds__(1024) reduces(Buffers b, std::size_t count, int iters) {
  for (int i = 0; i < iters; ++i)
    nvshmemx_uint64_sum_reduce_block(NVSHMEM_TEAM_WORLD, reinterpret_cast<Word*>(b.dst),
                                     reinterpret_cast<const Word*>(b.src), count);
}
__global__ void first_put(Word* word) {
  nvshmem_uint64_p(word, 1, (nvshmem_my_pe() + 1) % nvshmem_n_pes());
  nvshmem_quiet();
}

// --- rows
// ------------------------------------------------------------------------------------------

template <Group G>
void launch_grouped(const KernelPoint& row, const Buffers& b, int peer, Word first) {
  if (row.what == What::kPutQuiet)
    put_quiet<G><<<row.blocks, row.threads>>>(b, row.bytes, peer, iterations(row));
  else
    ping_pong<G><<<row.blocks, row.threads>>>(b, row.bytes, first, iterations(row));
}

void launch(const KernelPoint& row, const Buffers& b, int peer, Word first) {
  const int iters = iterations(row);
  switch (row.what) {
    case What::kPut: puts<<<row.blocks, row.threads>>>(b, row.bytes, peer, iters); break;
    case What::kGet: gets<<<row.blocks, row.threads>>>(b, row.bytes, peer, iters); break;
    case What::kPutQuiet:
    case What::kSignal:
    case What::kPutSignal:
      if (row.group == Group::kThread) launch_grouped<Group::kThread>(row, b, peer, first);
      if (row.group == Group::kWarp) launch_grouped<Group::kWarp>(row, b, peer, first);
      if (row.group == Group::kBlock) launch_grouped<Group::kBlock>(row, b, peer, first);
      break;
    case What::kFetchAdd: fetch_adds<<<1, 1>>>(b.words + 512, peer, iters); break;
    case What::kBarrier: barriers<<<1, row.threads>>>(iters); break;
    case What::kSync: syncs<<<1, row.threads>>>(iters); break;
    case What::kFcollect: fcollects<<<1, row.threads>>>(b, row.bytes / sizeof(Word), iters); break;
    case What::kReduce: reduces<<<1, row.threads>>>(b, row.bytes / sizeof(Word), iters); break;
  }
  check(cudaGetLastError(), name_of(row.what));
}

// Seconds of one operation, timed as weft-perf gpu does.
double time(const Job& job, const KernelPoint& row, const Buffers& b, Word first) {
  job.barrier();
  if (!takes_part(row, job.pe)) return 0;
  const auto start = std::chrono::steady_clock::now();
  launch(row, b, 1 % job.npes, first);
  check(cudaStreamSynchronize(nullptr), name_of(row.what));
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  return taken.count() / iterations(row);
}

void check_data(const Job& job, const KernelPoint& row, const Buffers& b) {
  job.barrier();
  if (receiver(row, job.npes) != job.pe) return;
  std::vector<Word> seen(row.bytes / sizeof(Word));
  check(cudaMemcpy(seen.data(), b.dst, row.bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
  if (seen != outcome(row, job.npes))
    fail(std::string("wrong data after ") + name_of(row.what) + ", " + shape_of(row));
}

void measure(const Job& job, const KernelPoint& row, const Buffers& b, Word* turn) {
  check(cudaMemset(b.dst, 0, row.bytes), "cudaMemset");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  std::vector<double> seconds;
  for (int repeat = 0; repeat <= kRepeats; ++repeat) {
    const double taken = time(job, row, b, *turn);
    *turn += static_cast<Word>(iterations(row));
    if (repeat == 0)
      check_data(job, row, b);  // that one warmed up
    else
      seconds.push_back(taken);
  }
  std::sort(seconds.begin(), seconds.end());
  if (job.pe == 0) print_line("nvshmem", row, seconds[seconds.size() / 2]);
}

void measure_all(const Job& job) {
  Buffers b{static_cast<char*>(nvshmem_malloc(kMostBytes)),
            static_cast<char*>(nvshmem_malloc(kMostBytes)),
            static_cast<Word*>(nvshmem_calloc(1024, sizeof(Word)))};
  if (b.dst == nullptr || b.src == nullptr || b.words == nullptr) fail("no room in the heap");
  const std::vector<Word> mine = contents(job.pe, kMostBytes);
  check(cudaMemcpy(b.src, mine.data(), kMostBytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  Word turn = 1;
  for (const KernelPoint& row : kKernelPoints)
    if (!is_pair(row) || job.npes > 1) measure(job, row, b, &turn);
  job.barrier();
}

void start_up(const Job& job, long long since) {
  auto* const word = static_cast<Word*>(nvshmem_malloc(sizeof(Word)));
  first_put<<<1, 1>>>(word);
  check(cudaDeviceSynchronize(), "the first kernel");
  print_start_up("nvshmem", job.npes, "processes", since);
}

}  // namespace

int main(int argc, char** argv) {
  const bool starts = argc == 5 && std::strcmp(argv[3], "--start-up") == 0;
  if ((argc != 3 && !starts) || std::strcmp(argv[1], "--meet") != 0) {
    std::fprintf(stderr, "usage: weft-run -n N nvshmem_gpu --meet FILE [--start-up NS]\n");
    return 2;
  }
  const Job job(argv[2]);
  start(job);
  if (starts)
    start_up(job, std::atoll(argv[4]));
  else
    measure_all(job);
  nvshmem_finalize();
  return 0;
}
