// Bodies of weft/device/ll.hpp.
#pragma once

#include <cstdint>

#include <weft/device/ll.hpp>

#include <weft/dev/missing.hpp>
#include <weft/dev/packed.hpp>
#include <weft/dev/platform.hpp>
#include <weft/dev/poll.hpp>

WEFT_DEVICE_LOADED_UNDER_SAME_CONDITION

namespace weft::dev {
inline namespace WEFT_TARGET {

WEFT_DEVICE void send_ll(LLPacket* place, std::uint64_t data, std::uint32_t flag) {
  store_packed(place->words, data, flag);
}

template <int kMany, class GetAwaited>  // as it was declared
WEFT_DEVICE_CALL bool receive_ll(const Context& ctx, const char* where, GetAwaited awaited,
                                 std::uint32_t flag, std::uint64_t (&data)[kMany]) {
  // No slot is looked at before all have been asked for.
  const auto have_come = [&] {
    Pair got[kMany];
    for (int k = 0; k < kMany; ++k)
      if (awaited(k).place != nullptr) got[k] = platform::load_pair(awaited(k).place->words);
    bool all = true;
    for (int k = 0; k < kMany; ++k) {
      if (awaited(k).place == nullptr) continue;
      data[k] = unit_of(got[k]);
      all = has_flag(got[k], flag) && all;
    }
    return all;
  };
  Deadline deadline(*ctx.handle().state);
  if (poll(deadline, have_come)) return true;
  const LLPacket* missed = nullptr;
  int of = -1;
  for (int k = kMany - 1; k >= 0; --k) {
    const AwaitedLL one = awaited(k);
    if (one.place == nullptr || has_flag(platform::load_pair(one.place->words), flag)) continue;
    missed = one.place;
    of = one.pe;
  }
  if (missed == nullptr) return have_come();  // meanwhile: so now take it
  report_missing(ctx.handle(), where,
                 {missed->words, of, platform::load_pair(missed->words).first >> 32, flag},
                 deadline.waited_ns());
  return false;
}

}  // namespace WEFT_TARGET
}  // namespace weft::dev

WEFT_DEVICE_END_OF_LOADED
