// The notify that a put leaves behind at its target, and plain signals.
#pragma once

#include <cstdint>

#include <weft/device/handle.hpp>
#include <weft/signal.hpp>

#include <weft/dev/address.hpp>
#include <weft/dev/platform.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {

// `kOrder` is kRelease when the signal tells of bytes that went before it; pairs with the acquire
// of the target's wait.
template <Order kOrder>
WEFT_DEVICE void notify_directly(std::byte* at, Notify notify) {
  auto* word = reinterpret_cast<std::uint64_t*>(at);
  if (notify.op == NotifyOp::kSet) {
    platform::store<kOrder, Reach::kSystem>(word, notify.value);
  } else {
    platform::add<kOrder, Reach::kSystem>(word, notify.value);
  }
}

WEFT_DEVICE void notify_by_op(const DeviceContext& h, Notify notify, Op* op) {
  op->notify = notify.op;
  op->value = notify.value;
  op->signal = notify.op == NotifyOp::kNone ? 0 : offset_of(h, notify.signal);
}

}  // namespace WEFT_TARGET
}  // namespace weft::dev
