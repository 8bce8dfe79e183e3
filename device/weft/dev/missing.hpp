// The report of a wait for packed words whose deadline has passed.
#pragma once

#include <cstdint>

#include <weft/dev/address.hpp>
#include <weft/dev/fault.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {

// A word that is not as it was wanted.
struct MissingWord {
  const std::uint64_t* word;  // mine, or where it would be
  int pe;                     // who sets it
  std::uint64_t seen, wanted;
  bool may_go_on = false;
};

WEFT_DEVICE_COLD void report_missing(ByValue<ColdContext> cold, const char* where,
                                     const MissingWord& missing, std::uint64_t waited_ns) {
  const DeviceContext h = cold;
  Fault fault;
  fault.code = FaultCode::kWaitTimeout;
  fault.where = where;
  fault.pe = missing.pe;
  fault.offset = offset_of(h, missing.word);
  fault.seen = missing.seen;
  fault.wanted = missing.wanted;
  fault.waited_ns = waited_ns;
  fault.cmp = Cmp::kGe;
  fault.may_go_on = missing.may_go_on;
  report(h, fault);
}

}  // namespace WEFT_TARGET
}  // namespace weft::dev
