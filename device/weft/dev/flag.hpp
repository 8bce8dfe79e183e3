// Body of weft/device/flag.hpp.
#pragma once

#include <cstdint>

#include <weft/device/flag.hpp>

#include <weft/dev/fault.hpp>
#include <weft/dev/platform.hpp>
#include <weft/dev/poll.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {

WEFT_DEVICE bool wait_flag(const DeviceContext& handle, const char* where, Flag flag,
                           std::uint64_t value) {
  const auto seen = [&] { return platform::load<Order::kRelaxed, Reach::kSystem>(flag.word); };
  Deadline deadline(*handle.state);
  // Acquire: pairs with the release with which the flag was set.
  const auto has_come = [&] {
    return seen() >= value &&
           platform::acquire(flag.word, [&](std::uint64_t now) { return now >= value; });
  };
  if (poll(deadline, has_come)) return true;
  Fault fault;
  fault.where = where;
  fault.pe = flag.pe;
  fault.seen = seen();
  fault.wanted = value;
  fault.waited_ns = deadline.waited_ns();
  fault.cmp = Cmp::kGe;
  report_timeout(handle, fault, flag.word);
  return false;
}

}  // namespace WEFT_TARGET
}  // namespace weft::dev
