#include "src/platform/gpu/reservation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "src/base/round_up.hpp"
#include "src/base/status.hpp"
#include "src/platform/cpu/available_memory.hpp"

namespace weft::gpu {
namespace {

using Registry = ReservationRegistry<Reservation>;

}  // namespace

Result<std::shared_ptr<Reservation>> Reservation::create(const Device& device, std::size_t bytes) {
  const std::size_t unit = device.granularity();
  if (bytes == 0 || bytes > SIZE_MAX / 2) {
    return Status::error(Code::kInvalidArgument,
                         fmt::format("cannot reserve {} bytes of address space", bytes));
  }
  bytes = round_up(bytes, unit);
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(device));
  abi::Pointer base = 0;
  RETURN_IF_ERROR(device.check(
      device.call().reserve(&base, bytes, std::max(kReserveAlign, unit), 0, 0),
      fmt::format("reserve {} of address space, which is not memory,", cpu::show_bytes(bytes))));
  auto reservation = std::make_shared<Reservation>(device, Range{abi::address(base), bytes});
  Registry::get().add(reservation);
  return reservation;
}

Reservation::~Reservation() {
  Registry::get().remove(*this);
  if (!device_.driver().check_process().is_ok()) return;  // a child of fork(): the parent's
  const auto scope = Scope::try_to_enter(device_);        // or none: mappings outlive a context
  device_.warn(device_.call().free_reserved(abi::pointer(range_.base), range_.bytes),
               fmt::format("give back {} bytes of address space", range_.bytes));
}

Status Reservation::map(Range part, abi::Handle memory) {
  const std::lock_guard lock(mutex_);
  RETURN_IF_ERROR(mapped_.check_free(part));
  RETURN_IF_ERROR(
      device_.check(device_.call().map(abi::pointer(part.base), part.bytes, 0, memory, 0),
                    fmt::format("map {}", cpu::show_bytes(part.bytes))));
  mapped_.add(part);
  return Status::ok();
}

void Reservation::unmap(Range part) {
  const std::lock_guard lock(mutex_);
  mapped_.remove(part);
  device_.warn(device_.call().unmap(abi::pointer(part.base), part.bytes),
               fmt::format("unmap {} bytes", part.bytes));
}

}  // namespace weft::gpu
