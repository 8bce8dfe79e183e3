// Clusters of blocks and programmatic dependent launch: what sm_90 and later have. Elsewhere no
// block is in a cluster and no kernel starts early, so all of it is nothing.
#pragma once

#include <cstdint>

#include <weft/device.hpp>

#if WEFT_TARGET_CUDA && __CUDA_ARCH__ >= 900
#define WEFT_KERNELS_PTX_SM90(...) asm volatile(__VA_ARGS__)
#else
#define WEFT_KERNELS_PTX_SM90(...) static_cast<void>(0)
#endif

namespace weft::kernels {
namespace WEFT_TARGET {

// Orders nothing: all threads of the cluster are there behind cluster_wait().
WEFT_DEVICE void cluster_arrive_relaxed() {
  WEFT_KERNELS_PTX_SM90("barrier.cluster.arrive.relaxed;" ::: "memory");
}
// Release of what the thread has stored: pairs with the acquire of cluster_wait() in all blocks.
WEFT_DEVICE void cluster_arrive() {
  WEFT_KERNELS_PTX_SM90("barrier.cluster.arrive.release;" ::: "memory");
}
WEFT_DEVICE void cluster_wait() {
  WEFT_KERNELS_PTX_SM90("barrier.cluster.wait.acquire;" ::: "memory");
}
// To where `address` lies in the shared memory of that block of the cluster.
WEFT_DEVICE void cluster_store([[maybe_unused]] unsigned block, [[maybe_unused]] float* address,
                               [[maybe_unused]] float value) {
#if WEFT_TARGET_CUDA && __CUDA_ARCH__ >= 900
  const auto here = static_cast<std::uint32_t>(__cvta_generic_to_shared(address));
  std::uint32_t there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(block));
  asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(there), "f"(value) : "memory");
#endif
}

// Once all blocks have said so, the next kernel of the stream may start, if it was launched to.
WEFT_DEVICE void let_next_kernel_start() {
  WEFT_KERNELS_PTX_SM90("griddepcontrol.launch_dependents;" ::: "memory");
}
// Until those before are over, and what they wrote is there (acquire: pairs with their ends). At
// once, where this one was not launched to start earlier.
WEFT_DEVICE void wait_for_kernels_before() {
  WEFT_KERNELS_PTX_SM90("griddepcontrol.wait;" ::: "memory");
}

// A kernel that was launched to start early calls this before it reads anything that a kernel
// writes: above it a kernel finds the slots of messages, which never move. All its threads call,
// and so wait for the kernels before, which may be of the same operator; the one behind does
// likewise.
WEFT_DEVICE void wait_in_stream() {
  wait_for_kernels_before();
  let_next_kernel_start();
}

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
