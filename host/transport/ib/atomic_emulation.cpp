#include "host/transport/ib/atomic_emulation.hpp"

#include <utility>

#include <fmt/format.h>

#include "host/transport/apply.hpp"

namespace weft::ib {

Method AtomicEmulation::method_of(const Op& op, bool device_atomics) const {
  if (!is_amo(op.kind) && !adds(op)) return Method::kTransfer;
  if (!owns_atomics_)
    return device_atomics && (adds(op) || is_native(op)) ? Method::kDeviceAtomic : Method::kOwner;
  // Narrow words, and signals, stay with their owner.
  if (!is_amo(op.kind) || op.width != sizeof(std::uint64_t)) return Method::kOwner;
  return is_native(op) ? Method::kDeviceAtomic : Method::kCompareSwap;
}

Status AtomicEmulation::check(const InFlightRequest& request,
                              const InFlightRequests& in_flight) const {
  if (!owns_atomics_) return Status::ok();
  const Connection& connection = *request.connection;
  if (connection.main().rail() != 0)
    return Status::error(
        Code::kPeerLost,
        fmt::format("{}: {} has failed, and with WEFT_IB_ATOMICS=nic no other port may execute "
                    "atomics on that PE's words of 8 bytes; all else goes on by {}",
                    describe(request.op), connection.paths().front()->describe(),
                    connection.main().describe()));
  if (!connection.outstanding.has_compare_swaps()) return Status::ok();
  for (const InFlightRequest& each : in_flight)
    if (each.method == Method::kCompareSwap && !each.is_done() && each.connection == &connection &&
        each.op.remote == request.op.remote)
      return Status::error(Code::kBusy, "an atomic on the same word is under way");
  return Status::ok();
}

bool AtomicEmulation::step_completed(InFlightRequest& request, Number number) {
  if (request.state != RequestState::kPosted) return false;
  std::uint64_t old = 0;
  get_from(&old, request.block.base, sizeof old);
  if (std::exchange(request.expected, old) == old || !request.step_did_not_match()) return false;
  due_.push_back(number);
  return true;
}

std::uint64_t changed_word(const Op& op, std::uint64_t expected) {
  std::uint64_t changed = expected;
  amo_at(op.kind, &changed, sizeof changed, op.value, 0);
  return changed;
}

}  // namespace weft::ib
