#include "host/transport/mapped_transport.hpp"

#include <fmt/format.h>

#include "host/transport/apply.hpp"
#include "src/base/status.hpp"

namespace weft {

MappedTransport::MappedTransport(const TransportEnv& env, const Caps& caps)
    : env_(env), caps_(caps), windows_(static_cast<std::size_t>(env.npes)) {}

void MappedTransport::map(int pe, std::byte* heap, std::uint64_t offset, std::uint64_t bytes) {
  Window& window = windows_[static_cast<std::size_t>(pe)];
  window.heap.store(heap, std::memory_order_relaxed);
  auto& end = offset < env_.adopted_at ? window.end : window.adopted_end;
  end.store(offset + bytes, std::memory_order_release);  // pairs with the acquire in check
}

std::byte* MappedTransport::base_of(int pe) const {
  return windows_[static_cast<std::size_t>(pe)].heap.load(std::memory_order_relaxed);
}

Status MappedTransport::check(const Op& op) const {
  if (!carries() && op.kind != OpKind::kFence)  // which has nothing to order here
    return Status::error(
        Code::kUnsupported,
        fmt::format("{}: host threads do not reach memory of the {} by load and store",
                    describe(op), env_.platform->name()));
  Extent extent;
  if (op.pe < windows_.size()) {
    // acquire: pairs with the release in map; post then finds the address, too.
    extent.heap = windows_[op.pe].end.load(std::memory_order_acquire);
    extent.adopted_at = env_.adopted_at;
    extent.adopted_end = windows_[op.pe].adopted_end.load(std::memory_order_acquire);
  }
  return check_op(op, env_.npes, extent);
}

Status MappedTransport::post(Lane lane, const Op& op) {
  RETURN_IF_ERROR(check(op));
  if (op.kind != OpKind::kFence)
    RETURN_IF_ERROR(carry_out(op, windows_[op.pe].heap.load(std::memory_order_relaxed)));
  // Release: who sees the count sees what the op wrote here. Pairs with the acquire in completed.
  completed_[static_cast<std::size_t>(lane)].value.fetch_add(1, std::memory_order_release);
  return Status::ok();
}

bool MappedTransport::carries() const { return env_.platform->is_host_accessible(); }

Status MappedTransport::carry_out(const Op& op, std::byte* heap) {
  apply_op(op, heap);
  return Status::ok();
}

std::uint64_t MappedTransport::completed(Lane lane) const {
  return completed_[static_cast<std::size_t>(lane)].value.load(std::memory_order_acquire);
}

}  // namespace weft
