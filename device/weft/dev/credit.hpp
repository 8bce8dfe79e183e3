// Credit: a semaphore of slots that nobody has taken, in kernels' memory. However many threads ask
// at once, each is served by one atomic. Below zero, as a signed number, while those who found none
// put back theirs. All relaxed: that a slot is free is known from a count beside it.
#pragma once

#include <cstdint>

#include <weft/dev/platform.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {
namespace credit {

WEFT_DEVICE bool is_there(const std::uint64_t* credit) {
  return static_cast<std::int64_t>(platform::load<Order::kRelaxed, Reach::kDevice>(credit)) > 0;
}

WEFT_DEVICE void give(std::uint64_t* credit, std::uint64_t slots) {
  platform::add<Order::kRelaxed, Reach::kDevice>(credit, slots);
}

// For one slot, or false.
WEFT_DEVICE bool take(std::uint64_t* credit) {
  const std::uint64_t left =
      platform::fetch_add<Order::kRelaxed, Reach::kDevice>(credit, ~std::uint64_t{0});
  if (static_cast<std::int64_t>(left) > 0) return true;
  give(credit, 1);
  return false;
}

}  // namespace credit
}  // namespace WEFT_TARGET
}  // namespace weft::dev
