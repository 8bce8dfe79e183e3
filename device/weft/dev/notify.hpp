// What a put leaves behind at its target, and plain signals: the journal's note, then the word.
#pragma once

#include <cstdint>

#include <weft/device/handle.hpp>
#include <weft/signal.hpp>

#include <weft/dev/check.hpp>
#include <weft/dev/journal.hpp>
#include <weft/dev/platform.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {

WEFT_DEVICE_COLD void note_in_journal(ColdContext h, std::byte* heap, std::uint64_t offset) {
  if (h.state->journal_offset == 0) return;
  journal_note(heap, h.state->journal_offset, offset, h.state->pe);
}

// WEFT_CHECK: remembers at `heap`, the mapped heap of the word's owner, that I write this word.
WEFT_DEVICE void note_writer(const DeviceContext& h, std::byte* heap, std::uint64_t offset) {
  if ((h.flags & kDeviceCheck) != 0) note_in_journal(h, heap, offset);
}

// `kOrder` is kRelease when the signal tells of bytes that went before it; pairs with the acquire
// of the target's wait.
template <Order kOrder>
WEFT_DEVICE void notify_directly(const DeviceContext& h, std::byte* heap, Notify notify) {
  if (notify.op == NotifyOp::kNone) return;
  const std::uint64_t offset = offset_of(h, notify.signal);
  auto* word = reinterpret_cast<std::uint64_t*>(heap + offset);
  note_writer(h, heap, offset);
  if (notify.op == NotifyOp::kSet) {
    platform::store<kOrder, Reach::kSystem>(word, notify.value);
  } else {
    platform::fetch_add<kOrder, Reach::kSystem>(word, notify.value);
  }
}

WEFT_DEVICE void notify_by_op(const DeviceContext& h, Notify notify, Op* op) {
  op->notify = notify.op;
  op->value = notify.value;
  op->signal = notify.op == NotifyOp::kNone ? 0 : offset_of(h, notify.signal);
}

}  // namespace WEFT_TARGET
}  // namespace weft::dev
