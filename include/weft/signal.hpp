// Words that one PE sets and another waits on: values shared by the host and the device API.
#pragma once

#include <cstdint>

#include <weft/target.hpp>

namespace weft {

// Comparison of a wait or test: the condition is `*word <cmp> value`.
enum class Cmp : std::uint8_t { kEq, kNe, kGt, kGe, kLt, kLe };

template <class T>
WEFT_HOST_DEVICE bool holds(Cmp cmp, T seen, T wanted) {
  switch (cmp) {
    case Cmp::kEq: return seen == wanted;
    case Cmp::kNe: return seen != wanted;
    case Cmp::kGt: return seen > wanted;
    case Cmp::kGe: return seen >= wanted;
    case Cmp::kLt: return seen < wanted;
    case Cmp::kLe: return seen <= wanted;
  }
  return false;
}

// The update that a put makes to a signal word of the target once all its bytes are visible there
// (OpenSHMEM 1.5, 9.8: put-with-signal).
enum class NotifyOp : std::uint8_t { kNone, kSet, kAdd };

struct Notify {
  NotifyOp op = NotifyOp::kNone;
  std::uint64_t* signal = nullptr;  // symmetric address
  std::uint64_t value = 0;
};

WEFT_HOST_DEVICE Notify none() { return {}; }
WEFT_HOST_DEVICE Notify set(std::uint64_t* signal, std::uint64_t value) {
  return {NotifyOp::kSet, signal, value};
}
WEFT_HOST_DEVICE Notify add(std::uint64_t* signal, std::uint64_t value) {
  return {NotifyOp::kAdd, signal, value};
}

}  // namespace weft
