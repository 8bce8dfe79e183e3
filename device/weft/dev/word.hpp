// Bodies of weft/device/word.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device/word.hpp>

#include <weft/dev/fault.hpp>
#include <weft/dev/platform.hpp>
#include <weft/dev/poll.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {

WEFT_DEVICE void send_word(std::uint64_t* place, std::uint64_t data) {
  platform::store<Order::kRelaxed, Reach::kSystem>(place, data);
}

template <int kMany, class GetAwaited>  // as it was declared
WEFT_DEVICE_CALL bool take_words(const DeviceContext& handle, const char* where, GetAwaited awaited,
                                 std::uint64_t (&data)[kMany]) {
  const auto have_come = [&] {
    bool all = true;
    for (int k = 0; k < kMany; ++k)
      if (awaited(k).place != nullptr) {
        data[k] = platform::load<Order::kRelaxed, Reach::kSystem>(awaited(k).place);
        all = all && data[k] != kNoWord;
      }
    return all;
  };
  Deadline deadline(*handle.state);
  const auto take = [&] {
    for (int k = 0; k < kMany; ++k)
      if (awaited(k).place != nullptr)
        platform::store<Order::kRelaxed, Reach::kSystem>(awaited(k).place, kNoWord);
    return true;
  };
  if (poll(deadline, have_come)) return take();
  AwaitedWord missed{};
  for (int k = kMany - 1; k >= 0; --k)
    if (awaited(k).place != nullptr &&
        platform::load<Order::kRelaxed, Reach::kSystem>(awaited(k).place) == kNoWord)
      missed = awaited(k);
  if (missed.place == nullptr && have_come()) return take();  // meanwhile
  Fault fault;
  fault.code = FaultCode::kWaitTimeout;
  fault.where = where;
  fault.pe = missed.pe;
  fault.offset = static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(missed.place) -
                                            handle.state->heap);
  fault.seen = kNoWord;
  fault.wanted = kNoWord;
  fault.waited_ns = deadline.waited_ns();
  fault.cmp = Cmp::kNe;
  fill_report(*handle.state, handle.lane, fault);
  return false;
}

}  // namespace WEFT_TARGET
}  // namespace weft::dev
