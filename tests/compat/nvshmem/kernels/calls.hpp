// Kernels on host threads that call NVSHMEM's names: the same stamped routines that nvcc compiles.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <nvshmem/device.hpp>

#include "tests/device/world.hpp"

namespace weft::test {

inline float as_float(__nv_bfloat16 value) { return SmallFloat<__nv_bfloat16>::widen(value); }
inline __nv_bfloat16 as_bfloat16(float value) { return SmallFloat<__nv_bfloat16>::narrow(value); }

// A routine at one of its scopes, 0: thread, 1: warp, 2: block.
#define WEFT_AT_SCOPE(scope, stem, ...)                                         \
  ((scope) == 0   ? weft::nvshmem::kernels::nvshmem_##stem(__VA_ARGS__)         \
   : (scope) == 1 ? weft::nvshmem::kernels::nvshmemx_##stem##_warp(__VA_ARGS__) \
                  : weft::nvshmem::kernels::nvshmemx_##stem##_block(__VA_ARGS__))
inline constexpr int kScopes = 3;

inline constexpr unsigned kThreads = 8;  // two warps
// How many of a block's threads call on their own, and which of them is mine.
inline unsigned groups_of(int scope) {
  return scope == 0 ? kThreads : scope == 1 ? kThreads / cpu::kWarpSize : 1;
}
inline unsigned my_group(int scope) {
  const unsigned thread = dev::thread_rank();
  return scope == 0 ? thread : scope == 1 ? thread / cpu::kWarpSize : 0;
}

inline constexpr nvshmem_team_t kEven = NVSHMEM_TEAMS_MIN;  // the PEs of even number

// A PE's module state of the world and of one more team; outlives its kernels.
class WithModuleState {
 public:
  explicit WithModuleState(Pe& pe) : pe_(pe) {
    teams_[NVSHMEM_TEAM_WORLD] = pe.world();
    std::vector<int> even;
    for (int i = 0; i < pe.npes(); i += 2) even.push_back(i);
    teams_[kEven] = pe.team(even);
    module_state_.magic = nvshmem::kModuleStateMagic;
    module_state_.context = pe.handle();
    module_state_.world = teams_[NVSHMEM_TEAM_WORLD];
    module_state_.teams = teams_.data();
    module_state_.team_count = static_cast<std::int32_t>(teams_.size());
  }
  template <class Body>
  void run(unsigned threads, Body body) {
    struct Kernel {
      nvshmem::ModuleState module_state;
      Body body;
      void operator()() const {
        weft_nvshmem_module_state = module_state;
        body();
      }
    };
    pe_.run(1, threads, Kernel{module_state_, body});
  }

 private:
  Pe& pe_;
  nvshmem::ModuleState module_state_;
  std::array<Team, kEven + 1> teams_;
};

using PeWithModuleState = std::function<void(Pe&, WithModuleState&)>;
inline void on_pes_with_module_state(Way way, int npes, const PeWithModuleState& body) {
  on_pes(way, npes, [&](Pe& pe) {
    WithModuleState pictured(pe);
    pe.barrier();
    body(pe, pictured);
    pe.barrier();
  });
}

}  // namespace weft::test
