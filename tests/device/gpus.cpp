// The GPUs under the device tests, through the CUDA runtime: memory that hosts and kernels share,
// the GPU of each PE, and main().
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include "tests/device/shared_memory.hpp"

namespace weft::test {
namespace {

constexpr std::size_t kPinnedBytes = std::size_t{256} << 20;
constexpr std::size_t kStackBytes = 8192;  // of a thread; more than any kernel of the tests needs
constexpr int kSkipped = 77;               // what ctest takes for a skipped test

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::_Exit(1);
}
#define CHECK(call) check(call, #call)

int count_gpus() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

int attribute(cudaDeviceAttr which, int gpu) {
  int value = 0;
  CHECK(cudaDeviceGetAttribute(&value, which, gpu));
  return value;
}

// May host threads touch managed memory while kernels run?
bool managed_is_concurrent() {
  static const bool all = [] {
    for (int gpu = 0; gpu < count_gpus(); ++gpu)
      if (attribute(cudaDevAttrConcurrentManagedAccess, gpu) == 0) return false;
    return true;
  }();
  return all;
}

// Without it heaps are pinned, where only one GPU's atomics are atomic: then all PEs are on that
// one.
int gpus_in_use() {
  static const int count = managed_is_concurrent() ? count_gpus() : 1;
  return count;
}

// All that would wait for running kernels is done before the first: peers' mappings, and the room
// for the threads' stacks.
void prepare_gpus() {
  for (int gpu = 0; gpu < gpus_in_use(); ++gpu) {
    CHECK(cudaSetDevice(gpu));
    CHECK(cudaDeviceSetLimit(cudaLimitStackSize, kStackBytes));
    for (int peer = 0; peer < gpus_in_use(); ++peer) {
      int reaches = 0;
      if (peer != gpu) CHECK(cudaDeviceCanAccessPeer(&reaches, gpu, peer));
      if (reaches != 0) CHECK(cudaDeviceEnablePeerAccess(peer, 0));
    }
  }
}

// CUDA's own allocations may wait for running kernels, which may wait for the thread that
// allocates. So there is one, and a mark in it that goes back once nothing is in use.
class Arena {
 public:
  Arena() {
    CHECK(cudaHostAlloc(reinterpret_cast<void**>(&base_), kPinnedBytes,
                        cudaHostAllocPortable | cudaHostAllocMapped));
  }
  void* allocate(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const std::size_t at = used_;
    used_ += (bytes + kAlign - 1) / kAlign * kAlign;
    if (used_ > kPinnedBytes) throw std::bad_alloc();
    ++in_use_;
    return base_ + at;
  }
  void free() {
    const std::lock_guard lock(mutex_);
    if (--in_use_ == 0) used_ = 0;
  }

 private:
  static constexpr std::size_t kAlign = 256;
  std::mutex mutex_;
  std::byte* base_ = nullptr;
  std::size_t used_ = 0;
  std::size_t in_use_ = 0;
};

Arena& arena() {
  static Arena made;
  return made;
}

cudaMemLocation on_gpu(int gpu) { return {cudaMemLocationTypeDevice, gpu}; }

}  // namespace

void enter_pe(int pe) {
  CHECK(cudaSetDevice(pe % gpus_in_use()));
  CHECK(cudaStreamSynchronize(cudaStreamPerThread));  // makes the stream before kernels run
}

void* allocate_pinned(std::size_t bytes) { return arena().allocate(bytes); }
void free_pinned() { arena().free(); }

HeapMemory::HeapMemory(std::size_t bytes, int pe, bool mapped)
    : managed_(mapped && managed_is_concurrent()) {
  if (managed_) {
    CHECK(cudaMallocManaged(reinterpret_cast<void**>(&data_), bytes));
    CHECK(
        cudaMemAdvise(data_, bytes, cudaMemAdviseSetPreferredLocation, on_gpu(pe % gpus_in_use())));
    for (int gpu = 0; gpu < gpus_in_use(); ++gpu)
      CHECK(cudaMemAdvise(data_, bytes, cudaMemAdviseSetAccessedBy, on_gpu(gpu)));
  } else {
    data_ = static_cast<std::byte*>(allocate_pinned(bytes));
  }
  std::memset(data_, 0, bytes);
}

HeapMemory::~HeapMemory() {
  if (managed_) {
    CHECK(cudaFree(data_));
  } else {
    free_pinned();
  }
}

}  // namespace weft::test

int main(int argc, char** argv) {
  using namespace weft::test;
  // Kernels that wait for each other must not wait for one that is loaded at its first launch, nor
  // for another in the same hardware queue. Both are read when the first GPU is looked at.
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  ::testing::InitGoogleTest(&argc, argv);
  if (count_gpus() == 0) {
    std::puts("skipped: the CUDA runtime finds no GPU");
    return kSkipped;
  }
  std::printf("%d of %d GPUs in use, host access to managed memory while kernels run: %s\n",
              gpus_in_use(), count_gpus(), managed_is_concurrent() ? "yes" : "no");
  prepare_gpus();
  enter_pe(0);
  arena();
  return RUN_ALL_TESTS();
}
