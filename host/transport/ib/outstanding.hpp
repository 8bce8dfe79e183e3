// Outstanding: a connection's requests that are in flight, counted by what a fence has to wait for.
//
// A fence holds later requests back until the owner has replied to the requests before it, until
// the pieces on other rails are complete, and, with WEFT_IB_ATOMICS=nic, until the device has
// completed its atomics. All else is ordered by the queue pair.
#pragma once

#include <cstdint>

namespace weft::ib {

// How a request is carried out.
enum class Method : std::uint8_t {
  kTransfer,      // the device reads or writes
  kDeviceAtomic,  // the device has the atomic; a put's bytes go before it
  kCompareSwap,   // the device has it not: steps of compare-and-swap, until one matches
  kOwner,         // the owner of the word executes the atomic; a put's bytes go before it
  kStagingSlot,   // the owner copies between a staging slot and its GPU
};
inline bool is_by_device(Method method) {
  return method == Method::kDeviceAtomic || method == Method::kCompareSwap;
}
inline bool asks_owner(Method method) {
  return method == Method::kOwner || method == Method::kStagingSlot;
}

class Outstanding {
 public:
  // fences_hold_atomics: a fence waits for the device's atomics here, and not by a mark for the
  // device.
  explicit Outstanding(bool fences_hold_atomics) : fences_hold_atomics_(fences_hold_atomics) {}

  // apart: on another rail than the main one.
  void add(Method method, bool apart) {
    count(method, 1);
    replies_ += asks_owner(method) ? 1 : 0;
    apart_ += apart ? 1 : 0;
  }
  // The owner has replied, or will not be heard any more.
  void remove_reply() {
    --replies_;
    lift_fence();
  }
  // The device has completed the request, or never will.
  void remove_work(Method method, bool apart) {
    count(method, -1);
    apart_ -= apart ? 1 : 0;
    lift_fence();
  }

  // A fence is posted; `next` is the number of the request behind it.
  void fence(std::uint64_t next) {
    is_fenced_ = must_wait();
    fenced_at_ = next;
  }
  std::uint64_t fenced_at() const { return fenced_at_; }
  // Whether a request has to wait for what a fence has parted from it. The owner executes requests
  // in order, so its atomics pass a fence that waits for nothing but replies.
  bool holds_back(bool is_owners_atomic) const {
    return is_fenced_ && (apart_ > 0 || owes_atomics() || !is_owners_atomic);
  }
  // Whether the device is to be told of a fence: it may overtake its own atomics.
  bool needs_device_fence() const { return atomics_ > 0 && !fences_hold_atomics_; }
  bool has_compare_swaps() const { return compare_swaps_ > 0; }

 private:
  void count(Method method, int change) {
    if (!is_by_device(method)) return;
    atomics_ += change;
    if (method == Method::kCompareSwap) compare_swaps_ += change;
  }
  bool owes_atomics() const { return fences_hold_atomics_ && atomics_ > 0; }
  bool must_wait() const { return replies_ > 0 || apart_ > 0 || owes_atomics(); }
  void lift_fence() {
    if (!must_wait()) is_fenced_ = false;
  }

  const bool fences_hold_atomics_;
  bool is_fenced_ = false;
  int replies_ = 0;        // expected
  int atomics_ = 0;        // by the device,
  int compare_swaps_ = 0;  // and of these, in steps
  int apart_ = 0;          // pieces on other rails
  std::uint64_t fenced_at_ = 0;
};

}  // namespace weft::ib
