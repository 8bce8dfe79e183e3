// Put, get, signals and their ordering, by the threads of a Scope.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../module_state.hpp"

namespace weft::nvshmem {
inline namespace WEFT_TARGET {

// The element that the sized names (put32, broadcastmem) move.
template <int kBits>
struct Bits {
  std::byte bytes[kBits / 8];
};
template <int kBits>
WEFT_DEVICE Bits<kBits>* as_bits(void* memory) {
  return static_cast<Bits<kBits>*>(memory);
}
template <int kBits>
WEFT_DEVICE const Bits<kBits>* as_bits(const void* memory) {
  return static_cast<const Bits<kBits>*>(memory);
}

WEFT_DEVICE Notify notify_of(std::uint64_t* signal, std::uint64_t value, int op) {
  return op == NVSHMEM_SIGNAL_ADD ? add(signal, value) : set(signal, value);
}

// NVSHMEM's calls for a warp or block begin and end with its barrier, the nonblocking ones and
// those with a signal too: programs let one thread fence and signal behind them for all. Weft's
// blocking calls do so anyhow; behind the others it is made here.
template <class Scope>
struct Rma {
  template <class T>
  WEFT_DEVICE static void put(T* dest, const T* source, std::size_t count, int pe) {
    context().put(Scope{}, dest, source, count, pe);
  }
  template <class T>
  WEFT_DEVICE static void put_nbi(T* dest, const T* source, std::size_t count, int pe) {
    context().put_nbi(Scope{}, dest, source, count, pe);
    Scope{}.sync();
  }
  template <class T>
  WEFT_DEVICE static void get(T* dest, const T* source, std::size_t count, int pe) {
    context().get(Scope{}, dest, source, count, pe);
  }
  template <class T>
  WEFT_DEVICE static void get_nbi(T* dest, const T* source, std::size_t count, int pe) {
    context().get_nbi(Scope{}, dest, source, count, pe);
    Scope{}.sync();
  }
  template <class T>
  WEFT_DEVICE static void iput(T* dest, const T* source, std::ptrdiff_t dst, std::ptrdiff_t sst,
                               std::size_t count, int pe) {
    context().iput(Scope{}, dest, source, dst, sst, count, pe);
  }
  template <class T>
  WEFT_DEVICE static void iget(T* dest, const T* source, std::ptrdiff_t dst, std::ptrdiff_t sst,
                               std::size_t count, int pe) {
    context().iget(Scope{}, dest, source, dst, sst, count, pe);
  }
  template <class T>
  WEFT_DEVICE static void put_signal(T* dest, const T* source, std::size_t count,
                                     std::uint64_t* signal, std::uint64_t value, int op, int pe) {
    context().put(Scope{}, dest, source, count, pe, notify_of(signal, value, op));
    Scope{}.sync();
  }
  template <class T>
  WEFT_DEVICE static void put_signal_nbi(T* dest, const T* source, std::size_t count,
                                         std::uint64_t* signal, std::uint64_t value, int op,
                                         int pe) {
    context().put_nbi(Scope{}, dest, source, count, pe, notify_of(signal, value, op));
    Scope{}.sync();
  }
  template <class T>
  WEFT_DEVICE static void p(T* dest, T value, int pe) {
    context().p(dest, value, pe);
  }
  template <class T>
  WEFT_DEVICE static T g(const T* source, int pe) {
    return context().g(source, pe);
  }
  WEFT_DEVICE static void signal_op(std::uint64_t* signal, std::uint64_t value, int op, int pe) {
    context().signal(notify_of(signal, value, op), pe);
  }
  WEFT_DEVICE static void fence() { context().fence(Scope{}); }
  WEFT_DEVICE static void quiet() { context().quiet(Scope{}); }
};

}  // namespace WEFT_TARGET
}  // namespace weft::nvshmem
