#include "host/transport/ib/request_memory.hpp"

#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "host/transport/apply.hpp"

namespace weft::ib {

Status RequestMemory::find(const InFlightRequest& request, std::uint64_t offset,
                           std::uint64_t bytes, std::vector<Heaps::There>& parts) const {
  const Op& op = request.op;
  const std::size_t rail = request.path->rail();
  if (env_.heaps->find(static_cast<int>(op.pe), offset, bytes, parts, rail)) return Status::ok();
  return Status::error(
      Code::kOutOfRange,
      fmt::format("{}: offset {:#x} was adopted memory, and is no longer", describe(op), offset));
}

Heaps::There RequestMemory::staging_slot(const InFlightRequest& request) const {
  return env_.windows->there(request.connection->pe(), request.staging_slot, request.op.bytes,
                             request.path->rail());
}

Status RequestMemory::take(InFlightRequest& request) const {
  const Op& op = request.op;
  if (is_amo(op.kind)) {
    const bool wants_old_value = request.method == Method::kCompareSwap ||
                                 (request.method == Method::kDeviceAtomic && is_fetching(op.kind));
    return wants_old_value ? stage(request, sizeof op.value) : Status::ok();
  }
  const auto* const bytes = reinterpret_cast<const std::byte*>(op.local);
  const bool is_put = op.kind == OpKind::kPut;
  if (is_put && (op.bytes == 0 || (op.bytes <= kInlineBytes && env_.own.is_host(bytes)))) {
    request.is_small = true;
    if (op.bytes != 0) std::memcpy(request.small.data(), bytes, op.bytes);
    return Status::ok();
  }
  if (op.bytes == 0 || env_.own.key_of(op)) return Status::ok();
  RETURN_IF_ERROR(stage(request, op.bytes));
  if (!is_put) return Status::ok();
  Status copied = env_.own.copy(request.block.base, bytes, op.bytes);
  if (!copied.is_ok()) free_block(request);
  return copied;
}

Status RequestMemory::stage(InFlightRequest& request, std::uint64_t bytes) const {
  ASSIGN_OR_RETURN(request.block, env_.staging->take(bytes));
  if (request.block.base == nullptr) return Status::error(Code::kBusy, "no staging memory is free");
  return Status::ok();
}

Piece RequestMemory::local(const InFlightRequest& request) const {
  if (request.is_small) return {address_of(request.small.data()), 0, true};
  const std::size_t rail = request.path->rail();
  if (request.block.base != nullptr)
    return {address_of(request.block.base), env_.staging->key(rail)};
  return {request.op.local, env_.own.key_of(request.op, rail).value_or(0)};
}

Piece RequestMemory::old_value(const InFlightRequest& request) const {
  const LanePort& at = request.path->at();
  if (request.block.base == nullptr) return {address_of(at.nowhere.base()), at.nowhere.key()};
  return {address_of(request.block.base), env_.staging->key(at.rail)};
}

Status RequestMemory::finish(InFlightRequest& request) const {
  const bool gets_by_staging_slot = request.gets_by_staging_slot();
  if (request.block.base == nullptr || (gets_by_staging_slot && !request.is_done()))
    return Status::ok();
  Status delivered = deliver(request);
  free_block(request);
  if (gets_by_staging_slot) free_staging_slot(request);
  return delivered;
}

Status RequestMemory::deliver(const InFlightRequest& request) const {
  if (request.op.kind == OpKind::kGet)
    return env_.own.copy(reinterpret_cast<void*>(request.op.local), request.block.base,
                         request.op.bytes);
  if (is_amo(request.op.kind)) {
    std::uint64_t old = 0;
    get_from(&old, request.block.base, sizeof old);
    bring_result(request.op, old);
  }
  return Status::ok();
}

void RequestMemory::free_staging_slot(InFlightRequest& request) const {
  env_.windows->give(request.connection->pe(),
                     std::exchange(request.staging_slot, Windows::kNoStagingSlot));
}

void RequestMemory::free_block(InFlightRequest& request) const {
  if (request.block.base != nullptr) env_.staging->give(std::exchange(request.block, {}));
}

void RequestMemory::abandon(InFlightRequest& request) const {
  env_.windows->lose(request.connection->pe(),
                     std::exchange(request.staging_slot, Windows::kNoStagingSlot));
  free_block(request);
}

}  // namespace weft::ib
