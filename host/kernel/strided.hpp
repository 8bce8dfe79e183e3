// StridedKernel and StridedShareKernel: an exchange of strided blocks.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device/kernel.hpp>

#include "host/kernel/block_barrier.hpp"
#include "host/kernel/units.hpp"

namespace weft::kernel {

// alltoalls by one block.
struct StridedKernel {
  DeviceContext handle;
  Team team;
  std::byte* dst;
  const std::byte* src;
  std::size_t dst_stride, src_stride;  // bytes from one element to the next
  std::size_t element, count;          // bytes of one; how many go to each member
  WEFT_DEVICE void operator()() const {
    dev::coll::run(dev::Context(handle), dev::Block{}, team, "alltoalls", [&](auto& m) {
      return dev::coll::alltoalls(m, {dst, src, dst_stride, src_stride, element, count});
    });
  }
};

// The work of a large one on GPUs, by a grid, once all members are there: stores my elements where
// they belong on each member.
struct StridedShareKernel {
  StridedKernel call;
  std::byte* words;  // of between_barriers()
  WEFT_DEVICE void operator()() const;
};

// Elements are some Units each.
template <class Unit>
WEFT_DEVICE void store_strided(const StridedKernel& k) {
  const int n = k.team.size;
  const std::size_t per = k.element / sizeof(Unit);
  const std::size_t dst_stride = k.dst_stride / sizeof(Unit);
  const std::size_t src_stride = k.src_stride / sizeof(Unit);
  auto* const dst = reinterpret_cast<Unit*>(k.dst);
  const auto* const src = reinterpret_cast<const Unit*>(k.src);
  const auto block = [&](int rank) { return static_cast<std::size_t>(rank) * k.count; };
  for (int i = 0; i < n; ++i) {
    const int rank = dev::wrapped(k.team.rank + i, n);
    const Unit* const from = src + block(rank) * src_stride;
    Unit* const to = on_member(k, dst, rank) + block(k.team.rank) * dst_stride;
    for (std::size_t at = my_thread(); at < k.count * per; at += grid_threads()) {
      const std::size_t e = per == 1 ? at : at / per;
      to[e * dst_stride + (at - e * per)] = from[e * src_stride + (at - e * per)];
    }
  }
}

// By the widest words that elements and arrays consist of. Heaps lie alike on all members.
WEFT_DEVICE void store_all_strided(const StridedKernel& call) {
  const std::uintptr_t all = call.element | reinterpret_cast<std::uintptr_t>(call.dst) |
                             reinterpret_cast<std::uintptr_t>(call.src);
  if (all % 16 == 0) return store_strided<Pack<std::uint64_t>>(call);
  if (all % 8 == 0) return store_strided<std::uint64_t>(call);
  if (all % 4 == 0) return store_strided<std::uint32_t>(call);
  if (all % 2 == 0) return store_strided<std::uint16_t>(call);
  store_strided<std::uint8_t>(call);
}
WEFT_DEVICE void StridedShareKernel::operator()() const {
  between_barriers(call.handle, call.team, words, "alltoalls", [&] { store_all_strided(call); });
}

}  // namespace weft::kernel
