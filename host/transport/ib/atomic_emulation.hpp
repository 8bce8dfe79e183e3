// AtomicEmulation: atomics that the device has not.
//
// Without WEFT_IB_ATOMICS=nic the owner of the word executes them (service.hpp). With it, they are
// loops of compare-and-swap by the owner's device: each step brings what is there, from which the
// next is made, until one matches. Such a request is in flight until then. Atomics on a word whose
// loop goes on wait, so that those of one lane keep their order.
#pragma once

#include <cstdint>
#include <vector>

#include "host/transport/ib/in_flight_requests.hpp"

namespace weft::ib {

class AtomicEmulation {
 public:
  using Number = InFlightRequests::Number;

  // owns_atomics: WEFT_IB_ATOMICS=nic.
  explicit AtomicEmulation(bool owns_atomics) : owns_atomics_(owns_atomics) {}

  // How an atomic, or a put whose notify is one, is carried out. device_atomics: devices do atomics
  // on the way to that PE.
  Method method_of(const Op& op, bool device_atomics) const;
  // kBusy as long as a loop on the word of a request goes on; an error if its owner's device is out
  // of reach.
  Status check(const InFlightRequest& request, const InFlightRequests& in_flight) const;

  // The device has completed a step of this request. True: it did not match, and the next is due.
  bool step_completed(InFlightRequest& request, Number number);
  // Requests with a step that is due; some may have been abandoned meanwhile.
  std::vector<Number> take_due() { return std::exchange(due_, {}); }

 private:
  const bool owns_atomics_;
  std::vector<Number> due_;
};

// The value that a step writes if the word is as expected.
std::uint64_t changed_word(const Op& op, std::uint64_t expected);

}  // namespace weft::ib
