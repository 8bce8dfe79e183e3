// A scope (weft/device/scope.hpp) that only NVSHMEM's names have: four warps in a row, the last
// ones of a block maybe fewer. HIP has no barrier of a part of a block.
#pragma once

#include "../module_state.hpp"

namespace weft::nvshmem {
inline namespace WEFT_TARGET {

#if WEFT_TARGET_CUDA

struct Warpgroup {
  static constexpr unsigned kSize = 4 * dev::platform::kWarpSize;

  WEFT_DEVICE int rank() const { return static_cast<int>(dev::thread_rank() % kSize); }
  WEFT_DEVICE int size() const {
    const unsigned left = dev::block_size() - dev::thread_rank() / kSize * kSize;
    return static_cast<int>(left < kSize ? left : kSize);
  }
  WEFT_DEVICE void sync() const {
    asm volatile("bar.sync %0, %1;" ::"r"(barrier()), "r"(threads()) : "memory");
  }
  WEFT_DEVICE bool all(bool mine) const {
    unsigned all;
    asm volatile(
        "{\n"
        " .reg .pred mine, all;\n"
        " setp.ne.u32 mine, %1, 0;\n"
        " bar.red.and.pred all, %2, %3, mine;\n"
        " selp.u32 %0, 1, 0, all;\n"
        "}"
        : "=r"(all)
        : "r"(static_cast<unsigned>(mine)), "r"(barrier()), "r"(threads())
        : "memory");
    return all != 0;
  }

 private:
  // The block's own is barrier 0.
  WEFT_DEVICE unsigned barrier() const { return 1 + dev::thread_rank() / kSize; }
  // A barrier counts whole warps.
  WEFT_DEVICE unsigned threads() const {
    constexpr unsigned kWarp = dev::platform::kWarpSize;
    return (static_cast<unsigned>(size()) + kWarp - 1) / kWarp * kWarp;
  }
};

#else

struct Warpgroup {
  static constexpr unsigned kSize = weft::cpu::kWarpgroupSize;

  int rank() const { return static_cast<int>(group().rank); }
  int size() const { return static_cast<int>(group().size); }
  void sync() const { group().sync(); }
  bool all(bool mine) const { return dev::platform::all_in(group(), mine); }

 private:
  static dev::platform::Group group() {
    const weft::cpu::ThreadState& me = dev::platform::self();
    if (me.shared == nullptr) return {};
    const unsigned index = me.thread / kSize;
    const unsigned first = index * kSize;
    const unsigned left = me.threads - first;
    return {&me.shared->warpgroup_barriers[index], me.shared->exchange + 2 * first,
            me.thread - first, left < kSize ? left : kSize};
  }
};

#endif

}  // namespace WEFT_TARGET
}  // namespace weft::nvshmem
