// Bodies of weft/device/packet.hpp.
#pragma once

#include <cstdint>

#include <weft/device/packet.hpp>

#include <weft/dev/missing.hpp>
#include <weft/dev/packed.hpp>
#include <weft/dev/platform.hpp>
#include <weft/dev/poll.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {

WEFT_DEVICE void send_packet(Packet* place, std::uint64_t data, std::uint32_t flag) {
  store_packed(place->words, data, flag);
}

template <int kMany, class GetAwaited>  // as it was declared
WEFT_DEVICE_CALL bool take_packets(const Context& ctx, const char* where, GetAwaited awaited,
                                   std::uint32_t flag, std::uint64_t (&data)[kMany]) {
  const auto have_come = [&] {
    bool all = true;
    for (int k = 0; k < kMany; ++k)
      if (awaited(k).place != nullptr)
        all = load_packed(awaited(k).place->words, flag, &data[k]) && all;
    return all;
  };
  Deadline deadline(*ctx.handle().state);
  if (poll(deadline, have_come)) return true;
  int k = 0;
  std::uint64_t ignored;
  while (k < kMany - 1 &&
         (awaited(k).place == nullptr || load_packed(awaited(k).place->words, flag, &ignored)))
    ++k;
  const Awaited missed = awaited(k);
  if (missed.place == nullptr) return have_come();  // meanwhile: so now take it
  report_missing(
      ctx.handle(), where,
      {missed.place->words, missed.pe, platform::load_pair(missed.place->words).first >> 32, flag},
      deadline.waited_ns());
  return false;
}

}  // namespace WEFT_TARGET
}  // namespace weft::dev
