#include "src/platform/cuda/reservation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "src/base/log.hpp"
#include "src/base/status.hpp"
#include "src/platform/cpu/room.hpp"

namespace weft::cuda {
namespace {

// Which reservations there are: a range from a caller is only ever mapped over one of ours.
struct Registry {
  std::mutex mutex;
  std::map<std::byte*, std::weak_ptr<Reservation>> by_base;
};
Registry& registry() {
  static auto* const one = new Registry;  // outlives every static object that holds memory
  return *one;
}

}  // namespace

Result<std::shared_ptr<Reservation>> Reservation::create(const Device& device, std::size_t bytes) {
  const std::size_t unit = device.granularity();
  if (bytes == 0 || bytes > SIZE_MAX / 2) {
    return Status::error(Code::kInvalidArgument,
                         fmt::format("cannot reserve {} bytes of address space", bytes));
  }
  bytes = (bytes + unit - 1) / unit * unit;
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(device));
  abi::Pointer base = 0;
  RETURN_IF_ERROR(device.check(
      device.call().reserve(&base, bytes, std::max(kReserveAlign, unit), 0, 0),
      "cuMemAddressReserve",
      fmt::format("reserve {} of address space, which is not memory,", cpu::show_bytes(bytes))));
  auto reservation = std::make_shared<Reservation>(
      device, Range{reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(base)), bytes});
  const std::lock_guard lock(registry().mutex);
  registry().by_base[reservation->range().base] = reservation;
  return reservation;
}

Result<std::shared_ptr<Reservation>> Reservation::containing(Range part) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  auto found = all.by_base.upper_bound(part.base);
  if (found != all.by_base.begin()) {
    if (auto reservation = std::prev(found)->second.lock()) {
      const Range range = reservation->range();
      const auto offset = static_cast<std::size_t>(part.base - range.base);
      if (offset < range.bytes && part.bytes <= range.bytes - offset) return reservation;
    }
  }
  return Status::error(Code::kInvalidArgument,
                       fmt::format("{} bytes at {} do not lie in reserved GPU address space",
                                   part.bytes, fmt::ptr(part.base)));
}

Reservation::~Reservation() {
  {
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    all.by_base.erase(range_.base);
  }
  const auto scope = Scope::enter(device_);
  if (!scope) return;  // a child of fork(): it is the parent's
  const Status freed = device_.check(
      device_.call().free_reserved(abi::pointer(range_.base), range_.bytes), "cuMemAddressFree",
      fmt::format("give back {} bytes of address space", range_.bytes));
  if (!freed.is_ok()) LOG(kWarn, "platform", "{}", freed.text());
}

Status Reservation::map(Range part, abi::Handle memory) {
  const std::lock_guard lock(mutex_);
  const auto after = mapped_.lower_bound(part.base + part.bytes);
  if (after != mapped_.begin()) {
    const auto& [base, bytes] = *std::prev(after);
    if (base + bytes > part.base) {
      return Status::error(Code::kInvalidArgument,
                           fmt::format("{} bytes at {} overlap {} bytes at {} that have memory",
                                       part.bytes, fmt::ptr(part.base), bytes, fmt::ptr(base)));
    }
  }
  RETURN_IF_ERROR(
      device_.check(device_.call().map(abi::pointer(part.base), part.bytes, 0, memory, 0),
                    "cuMemMap", fmt::format("map {}", cpu::show_bytes(part.bytes))));
  mapped_.emplace(part.base, part.bytes);
  return Status::ok();
}

void Reservation::unmap(Range part) {
  const std::lock_guard lock(mutex_);
  mapped_.erase(part.base);
  const Status unmapped = device_.check(device_.call().unmap(abi::pointer(part.base), part.bytes),
                                        "cuMemUnmap", fmt::format("unmap {} bytes", part.bytes));
  if (!unmapped.is_ok()) LOG(kWarn, "platform", "{}", unmapped.text());
}

}  // namespace weft::cuda
