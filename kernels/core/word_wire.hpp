// Units as words, half the bytes of packets (weft/device/word.hpp): of floats, whose NaNs may
// change their bits.
//
// A place is free once its unit has been taken, and its next sender must know that through
// something behind a fence. In a channel that is a kernel's end: a call has no more than two
// rounds, so that no place is used twice in it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/core/sendable.hpp"
#include "kernels/core/unit_channel.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

struct WordWire {
  using Place = std::uint64_t;
  using Awaited = dev::AwaitedWord;
  static constexpr bool kCounts = false;

  static WEFT_DEVICE Place* places(const Workspace& space) { return space.words; }
  static WEFT_DEVICE std::uint32_t slot(const Workspace& space) { return space.word_slot; }
  template <class Kept>
  static WEFT_DEVICE auto& round(Kept& rounds) {
    return rounds.words;
  }
  static WEFT_DEVICE std::uint64_t carried(std::uint64_t data) { return sendable(data); }
  static WEFT_DEVICE void send(Place* place, std::uint64_t data, std::uint32_t) {
    dev::send_word(place, data);
  }
  template <int kMany, class GetAwaited>
  static WEFT_DEVICE bool take(const dev::Context& ctx, const char* where, GetAwaited awaited,
                               std::uint32_t, std::uint64_t (&data)[kMany]) {
    return dev::take_words<kMany>(ctx.handle(), where, awaited, data);
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
