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
WEFT_DEVICE void send_words(WordPair* place, WordPair data) {
  platform::store_pair(&place->first, {data.first, data.second});
}

namespace words {

WEFT_DEVICE std::uint64_t load(const std::uint64_t* place) {
  return platform::load<Order::kRelaxed, Reach::kSystem>(place);
}
WEFT_DEVICE WordPair load(const WordPair* place) {
  const Pair pair = platform::load_pair(&place->first);
  return {pair.first, pair.second};
}
WEFT_DEVICE void free(std::uint64_t* place) { send_word(place, kNoWord); }
WEFT_DEVICE void free(WordPair* place) { send_words(place, {kNoWord, kNoWord}); }
WEFT_DEVICE bool has_come(std::uint64_t data) { return data != kNoWord; }
WEFT_DEVICE bool has_come(WordPair data) { return has_come(data.first) && has_come(data.second); }
// The first word of it that has not come; null: none.
WEFT_DEVICE const std::uint64_t* missing(const std::uint64_t* place, std::uint64_t data) {
  return data == kNoWord ? place : nullptr;
}
WEFT_DEVICE const std::uint64_t* missing(const WordPair* place, WordPair data) {
  if (data.first == kNoWord) return &place->first;
  return missing(&place->second, data.second);
}

}  // namespace words

template <int kMany, class GetAwaited, class Data>  // as it was declared
WEFT_DEVICE_CALL bool take_words(const DeviceContext& handle, const char* where, GetAwaited awaited,
                                 Data (&data)[kMany]) {
  const auto have_come = [&] {
    for (int k = 0; k < kMany; ++k)
      if (awaited(k).place != nullptr) data[k] = words::load(awaited(k).place);
    bool all = true;
    for (int k = 0; k < kMany; ++k)
      if (awaited(k).place != nullptr) all = words::has_come(data[k]) && all;
    return all;
  };
  Deadline deadline(*handle.state);
  const auto take = [&] {
    for (int k = 0; k < kMany; ++k)
      if (awaited(k).place != nullptr) words::free(awaited(k).place);
    return true;
  };
  if (poll(deadline, have_come)) return take();
  const std::uint64_t* missed = nullptr;
  int of = -1;
  for (int k = kMany - 1; k >= 0; --k) {
    if (awaited(k).place == nullptr) continue;
    const std::uint64_t* const missing =
        words::missing(awaited(k).place, words::load(awaited(k).place));
    if (missing == nullptr) continue;
    missed = missing;
    of = awaited(k).pe;
  }
  if (missed == nullptr && have_come()) return take();  // meanwhile
  Fault fault;
  fault.code = FaultCode::kWaitTimeout;
  fault.where = where;
  fault.pe = of;
  fault.offset =
      static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(missed) - handle.state->heap);
  fault.seen = kNoWord;
  fault.wanted = kNoWord;
  fault.waited_ns = deadline.waited_ns();
  fault.cmp = Cmp::kNe;
  fill_report(*handle.state, handle.lane, fault);
  return false;
}

}  // namespace WEFT_TARGET
}  // namespace weft::dev
