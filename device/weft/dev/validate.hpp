// Validation of a device call's arguments: what WEFT_CHECK=1 verifies, and the little that always
// is. A refused call reports a fault and does nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device/handle.hpp>
#include <weft/types.hpp>

#include <weft/dev/address.hpp>
#include <weft/dev/fault.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {

// Bytes from the first to past the last of `count` elements `stride` apart; kTooManyBytes when that
// does not fit or the stride is not positive.
template <class T>
WEFT_DEVICE std::uint64_t span_of(std::size_t count, std::ptrdiff_t stride) {
  if (count == 0) return 0;
  if (stride < 1 || count - 1 > (kTooManyBytes / sizeof(T) - 1) / static_cast<std::size_t>(stride))
    return kTooManyBytes;
  return ((count - 1) * static_cast<std::size_t>(stride) + 1) * sizeof(T);
}

// The fault in touching `bytes` at `symmetric` of `pe`, which must be aligned to `align`.
WEFT_DEVICE FaultCode fault_of(ColdContext h, bool is_symmetric, const void* symmetric,
                               std::uint64_t bytes, std::uint64_t align, int pe) {
  if (bytes == kTooManyBytes) return FaultCode::kBadRange;
  if (pe < 0 || pe >= h.state->npes) return FaultCode::kBadPe;
  if (bytes != 0 && !is_symmetric) return FaultCode::kBadRange;
  // Alignments are powers of two; what divides by a number not known is a function of its own.
  if ((reinterpret_cast<std::uintptr_t>(symmetric) & (align - 1)) != 0)
    return FaultCode::kMisaligned;
  return FaultCode::kNone;
}

// `wanted`: bytes; for a misaligned address the alignment.
WEFT_DEVICE void report_refused(ColdContext h, FaultCode code, const char* where, int pe,
                                std::uint64_t offset, std::uint64_t wanted) {
  Fault fault;
  fault.code = code;
  fault.where = where;
  fault.pe = pe;
  fault.offset = offset;
  fault.wanted = wanted;
  report(h, fault);
}

WEFT_DEVICE_COLD bool refuse(ByValue<ColdContext> h, FaultCode code, const char* where, int pe,
                             const void* address, std::uint64_t bytes) {
  report_refused(h, code, where, pe, translate_address(h, address, 0).offset, bytes);
  return false;
}

WEFT_DEVICE_COLD bool verify(ByValue<ColdContext> h, const char* where, const void* symmetric,
                             std::uint64_t bytes, std::uint64_t align, int pe) {
  const AddressTranslation mine = translate_address(h, symmetric, bytes);
  const FaultCode code = fault_of(h, mine.is_symmetric, symmetric, bytes, align, pe);
  if (code == FaultCode::kNone) return true;
  report_refused(h, code, where, pe, mine.offset, code == FaultCode::kMisaligned ? align : bytes);
  return false;
}

// May `where` touch `bytes` at `symmetric` of `pe`, which must be aligned to `align`?
WEFT_DEVICE bool allowed(const DeviceContext& h, const char* where, const void* symmetric,
                         std::uint64_t bytes, std::uint64_t align, int pe) {
  if ((h.flags & kDeviceCheck) == 0 && bytes != kTooManyBytes) return true;
  return verify(h, where, symmetric, bytes, align, pe);
}

}  // namespace WEFT_TARGET
}  // namespace weft::dev
