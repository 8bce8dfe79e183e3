// The common part of grids that work on a team's memory. Every peer is mapped.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device/kernel.hpp>

namespace weft::kernel {

// The threads of the grid, and which of them is mine.
WEFT_DEVICE std::size_t grid_threads() { return std::size_t{dev::grid_size()} * dev::block_size(); }
WEFT_DEVICE std::size_t my_thread() {
  return std::size_t{dev::block_rank()} * dev::block_size() + dev::thread_rank();
}

// Where what is `mine` lies on the member `rank` of a kernel's team.
template <class Kernel, class T>
WEFT_DEVICE T* on_member(const Kernel& k, T* mine, int rank) {
  const int pe = k.team.pe_of(rank);
  return reinterpret_cast<T*>(dev::mapped_on(k.handle, mine, dev::heap_of(k.handle, pe), pe));
}

// A thread loads and stores so much at once.
template <class T>
struct alignas(16) Pack {
  static constexpr std::size_t kMany = 16 / sizeof(T);
  T element[kMany];
};

// a op b, of elements or of packs.
template <ReduceOp kOp>
struct CombineUnits {
  template <class T>
  WEFT_DEVICE T operator()(const T& a, const T& b) const {
    return dev::coll::combine<kOp>(a, b);
  }
  template <class T>
  WEFT_DEVICE Pack<T> operator()(Pack<T> a, const Pack<T>& b) const {
    for (std::size_t i = 0; i < Pack<T>::kMany; ++i)
      a.element[i] = dev::coll::combine<kOp>(a.element[i], b.element[i]);
    return a;
  }
};

// part(to, from, units): packs as far as alignment and `bytes` allow, then the Ts that are left.
template <class T, class Part>
WEFT_DEVICE void in_units(std::byte* to, const std::byte* from, std::size_t bytes, Part part) {
  const auto misaligned = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16; };
  std::size_t packed = 0;
  if (misaligned(to) == 0 && misaligned(from) == 0) {
    packed = bytes / sizeof(Pack<T>) * sizeof(Pack<T>);
    part(reinterpret_cast<Pack<T>*>(to), reinterpret_cast<const Pack<T>*>(from),
         packed / sizeof(Pack<T>));
  }
  part(reinterpret_cast<T*>(to + packed), reinterpret_cast<const T*>(from + packed),
       (bytes - packed) / sizeof(T));
}

}  // namespace weft::kernel
