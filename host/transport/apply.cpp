#include "host/transport/apply.hpp"

#include <array>

#include <fmt/format.h>

#include "src/base/status.hpp"

namespace weft {

namespace {

std::byte* address(std::uint64_t a) { return reinterpret_cast<std::byte*>(a); }

void apply_amo(const Op& op, std::byte* heap) {
  bring_result(op, amo_at(op.kind, heap + op.remote, op.width, op.value, op.compare));
}

Status bad(const Op& op, Code code, std::string_view why, const char* file = __builtin_FILE(),
           int line = __builtin_LINE()) {
  return Status::error(code, fmt::format("{}: {}", describe(op), why), file, line);
}

// One range of the target's heap.
Status check_range(const Op& op, std::uint64_t offset, std::uint64_t bytes, const Extent& extent) {
  if (extent.holds(offset, bytes)) return Status::ok();
  return bad(op, Code::kOutOfRange,
             fmt::format("{} bytes at offset {:#x} do not lie in the {} bytes of heap that PE {} "
                         "has; pass an address that the symmetric heap gave out",
                         bytes, offset, extent.heap, op.pe));
}

Status check_transfer(const Op& op, const Extent& extent) {
  if (op.bytes != 0) {
    RETURN_IF_ERROR(check_range(op, op.remote, op.bytes, extent));
    if (op.local == 0) return bad(op, Code::kInvalidArgument, "my side's address is null");
  }
  if (op.notify == NotifyOp::kNone) return Status::ok();
  if (op.kind != OpKind::kPut || op.notify > NotifyOp::kAdd)
    return bad(op, Code::kInvalidArgument,
               fmt::format("notify {} does not exist here; a put takes set or add",
                           static_cast<int>(op.notify)));
  if (op.signal % 8 != 0)
    return bad(
        op, Code::kInvalidArgument,
        fmt::format("a signal is an aligned 8-byte word; offset {:#x} is not a multiple of 8",
                    op.signal));
  return check_range(op, op.signal, 8, extent);
}

Status check_amo(const Op& op, const Extent& extent) {
  if (op.width != 4 && op.width != 8)
    return bad(op, Code::kInvalidArgument,
               fmt::format("an atomic takes a word of 4 or 8 bytes, not {}", op.width));
  if (op.remote % op.width != 0)
    return bad(
        op, Code::kInvalidArgument,
        fmt::format("offset {:#x} is not a multiple of the word's {} bytes", op.remote, op.width));
  if (is_fetching(op.kind) && op.result == 0)
    return bad(op, Code::kInvalidArgument, "the address for the old value is null");
  return check_range(op, op.remote, op.width, extent);
}

constexpr std::array kKindNames = {"no operation", "put",          "get",         "fence",
                                   "atomic set",   "atomic add",   "atomic and",  "atomic or",
                                   "atomic xor",   "atomic fetch", "atomic swap", "compare-swap",
                                   "fetch-add",    "fetch-and",    "fetch-or",    "fetch-xor"};
static_assert(kKindNames.size() == static_cast<std::size_t>(OpKind::kAmoFetchXor) + 1);

}  // namespace

void apply_op(const Op& op, std::byte* heap) {
  if (op.kind == OpKind::kPut) {
    put_to(heap + op.remote, address(op.local), op.bytes);
    if (op.notify != NotifyOp::kNone)
      notify_at(reinterpret_cast<std::uint64_t*>(heap + op.signal), op.notify, op.value);
  } else if (op.kind == OpKind::kGet) {
    get_from(address(op.local), heap + op.remote, op.bytes);
  } else if (is_amo(op.kind)) {
    apply_amo(op, heap);
  }
}

void bring_result(const Op& op, std::uint64_t old) {
  if (!is_fetching(op.kind)) return;
  if (op.width == 8) return put_to(address(op.result), &old, 8);
  const auto narrow = static_cast<std::uint32_t>(old);
  put_to(address(op.result), &narrow, 4);
}

Status check_op(const Op& op, int npes, const Extent& extent) {
  const bool to_all = op.kind == OpKind::kFence && op.pe == kAllPes;
  if (!to_all && op.pe >= static_cast<std::uint32_t>(npes))
    return bad(op, Code::kOutOfRange,
               fmt::format("this job has PEs 0 to {}; PE {} does not exist", npes - 1, op.pe));
  if (op.kind == OpKind::kPut || op.kind == OpKind::kGet) return check_transfer(op, extent);
  if (op.kind == OpKind::kFence) return Status::ok();
  if (is_amo(op.kind) && op.kind <= OpKind::kAmoFetchXor) return check_amo(op, extent);
  return bad(op, Code::kInvalidArgument,
             fmt::format("operation kind {} does not exist", static_cast<int>(op.kind)));
}

const char* to_string(OpKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  return index < kKindNames.size() ? kKindNames[index] : "unknown operation";
}

std::string describe(const Op& op) {
  const std::string pe = op.pe == kAllPes ? "every PE" : fmt::format("PE {}", op.pe);
  if (op.kind == OpKind::kFence) return fmt::format("fence to {}", pe);
  if (is_amo(op.kind))
    return fmt::format("{} of {} bytes on {} at heap offset {:#x}", to_string(op.kind), op.width,
                       pe, op.remote);
  if (op.kind == OpKind::kPut && op.bytes == 0 && op.notify != NotifyOp::kNone)
    return op.notify == NotifyOp::kSet
               ? fmt::format("signal to {}, set heap offset {:#x} to {}", pe, op.signal, op.value)
               : fmt::format("signal to {}, add {} at heap offset {:#x}", pe, op.value, op.signal);
  std::string text = fmt::format("{} of {} bytes {} {} at heap offset {:#x}", to_string(op.kind),
                                 op.bytes, op.kind == OpKind::kGet ? "from" : "to", pe, op.remote);
  if (op.notify == NotifyOp::kSet)
    text += fmt::format(", then set {:#x} to {}", op.signal, op.value);
  if (op.notify == NotifyOp::kAdd)
    text += fmt::format(", then add {} to {:#x}", op.value, op.signal);
  return text;
}

}  // namespace weft
