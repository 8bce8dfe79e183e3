// Bodies of weft/device/lamport.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device/lamport.hpp>

#include <weft/dev/fault.hpp>
#include <weft/dev/platform.hpp>
#include <weft/dev/poll.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {

WEFT_DEVICE void send_lamport(std::uint64_t* place, std::uint64_t data) {
  platform::store<Order::kRelaxed, Reach::kSystem>(place, data);
}
WEFT_DEVICE void send_lamport(LamportPair* place, LamportPair data) {
  platform::store_pair(&place->first, {data.first, data.second});
}

namespace words {

WEFT_DEVICE std::uint64_t load(const std::uint64_t* place) {
  return platform::load<Order::kRelaxed, Reach::kSystem>(place);
}
WEFT_DEVICE LamportPair load(const LamportPair* place) {
  const Pair pair = platform::load_pair(&place->first);
  return {pair.first, pair.second};
}
WEFT_DEVICE void free(std::uint64_t* place) { send_lamport(place, kLamportEmpty); }
WEFT_DEVICE void free(LamportPair* place) { send_lamport(place, {kLamportEmpty, kLamportEmpty}); }
WEFT_DEVICE bool has_come(std::uint64_t data) { return data != kLamportEmpty; }
WEFT_DEVICE bool has_come(LamportPair data) {
  return has_come(data.first) && has_come(data.second);
}
// The first word of it that has not come; null: none.
WEFT_DEVICE const std::uint64_t* missing(const std::uint64_t* place, std::uint64_t data) {
  return data == kLamportEmpty ? place : nullptr;
}
WEFT_DEVICE const std::uint64_t* missing(const LamportPair* place, LamportPair data) {
  if (data.first == kLamportEmpty) return &place->first;
  return missing(&place->second, data.second);
}

}  // namespace words

template <int kMany, class GetAwaited, class Data>  // as it was declared
WEFT_DEVICE_CALL bool receive_lamport(const DeviceContext& handle, const char* where,
                                      GetAwaited awaited, Data (&data)[kMany]) {
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
  fault.where = where;
  fault.pe = of;
  fault.seen = fault.wanted = kLamportEmpty;
  fault.waited_ns = deadline.waited_ns();
  fault.cmp = Cmp::kNe;
  report_timeout(handle, fault, missed);
  return false;
}

}  // namespace WEFT_TARGET
}  // namespace weft::dev
