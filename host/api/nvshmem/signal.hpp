// NVSHMEM's numbers of signal operations and comparisons, in Weft's terms.
#pragma once

#include <cstdint>
#include <optional>

#include <fmt/format.h>

#include <weft/signal.hpp>

#include "host/api/nvshmem/state.hpp"

namespace weft::nvshmem {

// None, and reported, for what is no signal operation.
inline std::optional<Notify> notify_of(const char* routine, std::uint64_t* sig_addr,
                                       std::uint64_t signal, int sig_op) {
  if (sig_op == NVSHMEM_SIGNAL_SET) return set(sig_addr, signal);
  if (sig_op == NVSHMEM_SIGNAL_ADD) return add(sig_addr, signal);
  refuse(
      routine, Code::kInvalidArgument,
      fmt::format("argument sig_op is {}; it is NVSHMEM_SIGNAL_SET or NVSHMEM_SIGNAL_ADD", sig_op));
  return std::nullopt;
}

// In another order than Weft's; what is not a comparison, the wait refuses.
inline Cmp comparison(int cmp) {
  switch (cmp) {
    case NVSHMEM_CMP_EQ: return Cmp::kEq;
    case NVSHMEM_CMP_NE: return Cmp::kNe;
    case NVSHMEM_CMP_GT: return Cmp::kGt;
    case NVSHMEM_CMP_LE: return Cmp::kLe;
    case NVSHMEM_CMP_LT: return Cmp::kLt;
    case NVSHMEM_CMP_GE: return Cmp::kGe;
    default: return static_cast<Cmp>(255);
  }
}

}  // namespace weft::nvshmem
