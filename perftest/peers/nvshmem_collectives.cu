// Collectives in kernels and on streams by NVSHMEM's names, in the shapes of its own tests: built
// with NVSHMEM and with Weft's nvshmem.h, from one source (nvshmem_collectives.py). One process per
// PE, a GPU each.
//
//   weft-run -n 4 nvshmem_collectives --meet FILE
//
// FILE, a new one for each job, is where the processes meet. PE 0 prints a line per row: scope,
// operation, type, bytes of one member's message, and the microseconds of a call: one of many of a
// kernel of one block, or of many on a stream; the median of turns.
#include <nvshmem.h>
#include <nvshmemx.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "perftest/peers/nvshmem_job.hpp"

using namespace weft::perf::gpu;

namespace {

constexpr std::size_t kMostBytes = 1 << 20;
constexpr int kTurns = 3;
enum class Scope { kThread, kWarp, kBlock, kStream };
constexpr unsigned threads_of(Scope scope) {
  return scope == Scope::kThread ? 1 : scope == Scope::kWarp ? 32 : 512;
}
// The most bytes of one call: more takes one thread or warp so long that no program would do it.
constexpr std::size_t most_bytes_of(Scope scope) {
  return scope == Scope::kThread ? 64 << 10 : scope == Scope::kWarp ? 256 << 10 : kMostBytes;
}

template <class T>
struct Args {
  T *dst, *src;
  std::size_t count;
};

#define WEFT_OPERATION(Name, text, thread, warp, block, on)        \
  template <class T>                                               \
  struct Name {                                                    \
    static constexpr const char* kText = text;                     \
    static __device__ void by_thread(const Args<T>& a) { thread; } \
    static __device__ void by_warp(const Args<T>& a) { warp; }     \
    static __device__ void by_block(const Args<T>& a) { block; }   \
    static int on_stream(const Args<T>& a) { return on; }          \
  };
template <class T>
struct Names;
#define WEFT_TYPE(T, name)                      \
  template <>                                   \
  struct Names<T> {                             \
    static constexpr const char* kText = #name; \
    WEFT_NAMES(T, name, , nvshmem)              \
    WEFT_NAMES(T, name, _warp, nvshmemx)        \
    WEFT_NAMES(T, name, _block, nvshmemx)       \
    WEFT_ON_STREAM(T, name)                     \
  };
#define WEFT_NAMES(T, name, scope, prefix)                                                 \
  static __device__ void broadcast##scope(const Args<T>& a) {                              \
    prefix##_##name##_broadcast##scope(NVSHMEM_TEAM_WORLD, a.dst, a.src, a.count, 0);      \
  }                                                                                        \
  static __device__ void fcollect##scope(const Args<T>& a) {                               \
    prefix##_##name##_fcollect##scope(NVSHMEM_TEAM_WORLD, a.dst, a.src, a.count);          \
  }                                                                                        \
  static __device__ void alltoall##scope(const Args<T>& a) {                               \
    prefix##_##name##_alltoall##scope(NVSHMEM_TEAM_WORLD, a.dst, a.src, a.count);          \
  }                                                                                        \
  static __device__ void reduce##scope(const Args<T>& a) {                                 \
    prefix##_##name##_sum_reduce##scope(NVSHMEM_TEAM_WORLD, a.dst, a.src, a.count);        \
  }                                                                                        \
  static __device__ void reducescatter##scope(const Args<T>& a) {                          \
    prefix##_##name##_sum_reducescatter##scope(NVSHMEM_TEAM_WORLD, a.dst, a.src, a.count); \
  }
#define WEFT_ON_STREAM(T, name)                                                                \
  static int broadcast_on(const Args<T>& a) {                                                  \
    return nvshmemx_##name##_broadcast_on_stream(NVSHMEM_TEAM_WORLD, a.dst, a.src, a.count, 0, \
                                                 nullptr);                                     \
  }                                                                                            \
  static int fcollect_on(const Args<T>& a) {                                                   \
    return nvshmemx_##name##_fcollect_on_stream(NVSHMEM_TEAM_WORLD, a.dst, a.src, a.count,     \
                                                nullptr);                                      \
  }                                                                                            \
  static int alltoall_on(const Args<T>& a) {                                                   \
    return nvshmemx_##name##_alltoall_on_stream(NVSHMEM_TEAM_WORLD, a.dst, a.src, a.count,     \
                                                nullptr);                                      \
  }                                                                                            \
  static int reduce_on(const Args<T>& a) {                                                     \
    return nvshmemx_##name##_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, a.dst, a.src, a.count,   \
                                                  nullptr);                                    \
  }                                                                                            \
  static int reducescatter_on(const Args<T>& a) {                                              \
    return nvshmemx_##name##_sum_reducescatter_on_stream(NVSHMEM_TEAM_WORLD, a.dst, a.src,     \
                                                         a.count, nullptr);                    \
  }
WEFT_TYPE(int32_t, int32)
WEFT_TYPE(int64_t, int64)
#define WEFT_MOVES(Name, text)                                             \
  WEFT_OPERATION(Name, #text, Names<T>::text(a), Names<T>::text##_warp(a), \
                 Names<T>::text##_block(a), Names<T>::text##_on(a))
WEFT_MOVES(Broadcast, broadcast)
WEFT_MOVES(Fcollect, fcollect)
WEFT_MOVES(AllToAll, alltoall)
WEFT_MOVES(Reduce, reduce)
WEFT_MOVES(ReduceScatter, reducescatter)
WEFT_OPERATION(Barrier, "barrier", nvshmem_barrier(NVSHMEM_TEAM_WORLD),
               nvshmemx_barrier_warp(NVSHMEM_TEAM_WORLD),
               nvshmemx_barrier_block(NVSHMEM_TEAM_WORLD),
               nvshmemx_barrier_on_stream(NVSHMEM_TEAM_WORLD, nullptr))
WEFT_OPERATION(Sync, "sync", nvshmem_team_sync(NVSHMEM_TEAM_WORLD),
               nvshmemx_team_sync_warp(NVSHMEM_TEAM_WORLD),
               nvshmemx_team_sync_block(NVSHMEM_TEAM_WORLD),
               nvshmemx_team_sync_on_stream(NVSHMEM_TEAM_WORLD, nullptr))

template <class Operation, Scope kScope, class T>
__global__ void __launch_bounds__(512) many(Args<T> args, int calls) {
  for (int i = 0; i < calls; ++i) {
    if (kScope == Scope::kThread) Operation::by_thread(args);
    if (kScope == Scope::kWarp) Operation::by_warp(args);
    if (kScope == Scope::kBlock) Operation::by_block(args);
  }
}

template <class Operation, Scope kScope, class T>
void start_many(const Args<T>& args, int calls) {
  if constexpr (kScope == Scope::kStream) {
    for (int i = 0; i < calls; ++i)
      if (Operation::on_stream(args) != 0) fail(Operation::kText);
  } else {
    many<Operation, kScope, T><<<1, threads_of(kScope)>>>(args, calls);
  }
}

class Bench {
 public:
  explicit Bench(const Job& job)
      : job_(job), bytes_(kMostBytes * static_cast<std::size_t>(job.npes)) {
    dst_ = nvshmem_malloc(bytes_);
    src_ = nvshmem_malloc(bytes_);
    if (dst_ == nullptr || src_ == nullptr) fail("no symmetric memory");
    check(cudaMemset(src_, 0, bytes_), "cudaMemset");
    for (cudaEvent_t* event : {&begin_, &end_}) check(cudaEventCreate(event), "cudaEventCreate");
  }

  template <template <class> class Operation, class T, Scope kScope>
  void rows(const char* scope) {
    for (std::size_t bytes = sizeof(T); bytes <= most_bytes_of(kScope);
         bytes *= bytes < 64 ? 64 / sizeof(T) : 4)
      row<Operation, T, kScope>(scope, bytes);
  }
  template <template <class> class Operation, class T, Scope kScope>
  void row(const char* scope, std::size_t bytes) {
    const Args<T> args{static_cast<T*>(dst_), static_cast<T*>(src_), bytes / sizeof(T)};
    const auto time = [&](int calls) {
      job_.barrier();
      check(cudaEventRecord(begin_), "cudaEventRecord");
      start_many<Operation<T>, kScope>(args, calls);
      check(cudaEventRecord(end_), "cudaEventRecord");
      check(cudaDeviceSynchronize(), scope);
      float ms = 0;
      check(cudaEventElapsedTime(&ms, begin_, end_), "cudaEventElapsedTime");
      return ms * 1e3 / calls;
    };
    // As often on all PEs, whatever they measure.
    const int calls = bytes * 32 / threads_of(kScope) > 4096 ? 10 : 100;
    time(2);
    std::vector<double> us(kTurns);
    for (double& one : us) one = time(calls);
    std::sort(us.begin(), us.end());
    if (job_.pe == 0)
      std::printf("%s\t%s\t%s\t%zu\t%.3f\n", scope, Operation<T>::kText, Names<T>::kText, bytes,
                  us[kTurns / 2]);
  }
  template <Scope kScope>
  void of_scope(const char* scope) {
    row<Barrier, int32_t, kScope>(scope, 0);
    row<Sync, int32_t, kScope>(scope, 0);
    of_type<int32_t, kScope>(scope);
    of_type<int64_t, kScope>(scope);
  }

 private:
  template <class T, Scope kScope>
  void of_type(const char* scope) {
    rows<Broadcast, T, kScope>(scope);
    rows<Fcollect, T, kScope>(scope);
    rows<AllToAll, T, kScope>(scope);
    rows<Reduce, T, kScope>(scope);
    rows<ReduceScatter, T, kScope>(scope);
  }

  const Job& job_;
  const std::size_t bytes_;
  void *dst_, *src_;
  cudaEvent_t begin_, end_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || std::strcmp(argv[1], "--meet") != 0) {
    std::fprintf(stderr, "usage: weft-run -n N nvshmem_collectives --meet FILE\n");
    return 2;
  }
  const Job job(argv[2]);
  start(job);
  Bench bench(job);
  bench.of_scope<Scope::kThread>("thread");
  bench.of_scope<Scope::kWarp>("warp");
  bench.of_scope<Scope::kBlock>("block");
  bench.of_scope<Scope::kStream>("stream");
  nvshmem_finalize();
  return 0;
}
