// The units of messages that kernels by LL move without folding them.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device.hpp>

#include "kernels/collectives/ll_call.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

// The units of messages. Here all are whole, each at a multiple of 8 bytes: a kernel of its own,
// since one that asks of each waits for each.
struct WholeUnits {
  static bool are_in(const Messages& m) {
    return ((reinterpret_cast<std::uintptr_t>(m.in) | reinterpret_cast<std::uintptr_t>(m.out) |
             m.in_stride | m.out_stride | m.bytes) %
            dev::kLLPacketBytes) == 0;
  }
  static WEFT_DEVICE std::uint64_t load(const std::byte* message, std::size_t, std::size_t unit) {
    return reinterpret_cast<const Unit*>(message)[unit].bits;
  }
  static WEFT_DEVICE void store(std::byte* message, std::size_t, std::size_t unit,
                                std::uint64_t data) {
    reinterpret_cast<Unit*>(message)[unit].bits = data;
  }

 private:
  struct __attribute__((may_alias)) Unit {
    std::uint64_t bits;
  };
};
// The same of any message.
struct AnyUnits {
  static WEFT_DEVICE std::uint64_t load(const std::byte* message, std::size_t bytes,
                                        std::size_t unit) {
    return dev::load_unit(message, bytes, unit);
  }
  static WEFT_DEVICE void store(std::byte* message, std::size_t bytes, std::size_t unit,
                                std::uint64_t data) {
    dev::store_unit(message, bytes, unit, data);
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
