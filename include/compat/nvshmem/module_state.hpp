// The ModuleState of this translation unit: where its kernels find the runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "state.hpp"
#include "types.h"

#if WEFT_TARGET_HIP
#error "NVSHMEM's names are CUDA's"
#endif

// nvcc reads a unit once for the host, where kernels need nothing but declarations, and once for
// each GPU, where the bodies are.
#if WEFT_TARGET_CPU || defined(__CUDA_ARCH__)
#define WEFT_NVSHMEM_BODIES 1
#include <weft/device/kernel.hpp>
#else
#define WEFT_NVSHMEM_BODIES 0
#endif

#if WEFT_TARGET_CUDA

// Units that are linked with -rdc=true share one. It is hidden, so that libraries of one process do
// not: each has kernels of its own.
#ifdef __CUDACC_RDC__
[[gnu::visibility(
    "hidden")]] inline __constant__ weft::nvshmem::ModuleState weft_nvshmem_module_state;
#else
static __constant__ weft::nvshmem::ModuleState weft_nvshmem_module_state;
#endif

#else

// Kernels on host threads say whose they are: the first thing that each does is to set this.
inline thread_local weft::nvshmem::ModuleState weft_nvshmem_module_state;

#endif

namespace weft::nvshmem {

#if !WEFT_NVSHMEM_BODIES

static int set_module_state(const void* module_state, std::size_t bytes) {
  if (bytes != sizeof(ModuleState)) return cudaErrorInvalidValue;
  return cudaMemcpyToSymbol(weft_nvshmem_module_state, module_state, bytes);
}
static weft_nvshmem_module module = {set_module_state, nullptr};
static const Attached attached(&module);

#else

inline namespace WEFT_TARGET {

#if WEFT_TARGET_CUDA
// assert() calls this; the driver prints the text when the kernel has ended, and every later call
// of CUDA fails with cudaErrorAssert.
extern "C" __device__ void __assertfail(const char* text, const char* file, unsigned line,
                                        const char* function, std::size_t char_size);
inline __device__ __noinline__ void stop(const char* text) {
  __assertfail(text, "nvshmem/module_state.hpp", __LINE__, "kernel", 1);
}
#else
[[noreturn]] inline void stop(const char* text) {
  std::fprintf(stderr, "%s\n", text);
  std::abort();
}
#endif

// A kernel that runs before nvshmem_init() or after nvshmem_finalize() ends here.
WEFT_DEVICE const ModuleState& module_state() {
  if (weft_nvshmem_module_state.magic != kModuleStateMagic)
    stop("a kernel uses NVSHMEM, but nvshmem_init() was not called, or nvshmem_finalize() was");
  return weft_nvshmem_module_state;
}

WEFT_DEVICE dev::Context context() { return dev::Context(module_state().context); }

// A handle that is no team of mine gives rank -1, which collectives refuse.
WEFT_DEVICE Team team_of(nvshmem_team_t team) {
  const ModuleState& known = module_state();
  if (team == NVSHMEM_TEAM_WORLD) return known.world;
  return team > 0 && team < known.team_count ? known.teams[team] : Team{};
}

}  // namespace WEFT_TARGET

#endif

}  // namespace weft::nvshmem
