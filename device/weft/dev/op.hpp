// Op: the only request record. Host API, device ring, proxy, transports, fault injector and
// fuzzer all see this one. Plain data: lies outside the target namespace.
#pragma once

#include <cstdint>

#include <weft/signal.hpp>
#include <weft/target.hpp>

namespace weft {

enum class OpKind : std::uint8_t {
  kNone = 0,
  kPut,    // `bytes` from `local` (mine) to `remote` (pe's heap), then `notify` (bytes may be 0)
  kGet,    // `bytes` from `remote` to `local`
  kFence,  // later ops to `pe` (kAllPes: to every PE) are delivered after all earlier ones
  // Atomics on one word of `width` bytes at `remote`; operand `value`, for kAmoCompareSwap also
  // `compare`. Fetching kinds store the old value, `width` bytes wide, at `result` (mine).
  kAmoSet,
  kAmoAdd,
  kAmoAnd,
  kAmoOr,
  kAmoXor,
  kAmoFetch,
  kAmoSwap,
  kAmoCompareSwap,
  kAmoFetchAdd,
  kAmoFetchAnd,
  kAmoFetchOr,
  kAmoFetchXor,
};

WEFT_HOST_DEVICE constexpr bool is_amo(OpKind kind) { return kind >= OpKind::kAmoSet; }
WEFT_HOST_DEVICE constexpr bool is_fetching(OpKind kind) { return kind >= OpKind::kAmoFetch; }

inline constexpr std::uint32_t kAllPes = 0xffffffffu;

// Bits of Op::flags.
inline constexpr std::uint8_t kOpSourceStays = 0x01;  // put: `local` stays readable until complete;
                                                      // without it the transport copies or waits
inline constexpr std::uint8_t kOpLap = 0x80;          // ring only: flips each time round

// Seven words of operands and one word that is written last (in a ring its lap bit publishes the
// record). `remote` and `signal` are offsets in the target's heap; `local` and `result` are
// addresses of the PE that posts.
struct alignas(64) Op {
  std::uint64_t bytes = 0;
  std::uint64_t remote = 0;
  std::uint64_t local = 0;
  std::uint64_t value = 0;  // operand of an atomic, or of the notify of a put
  std::uint64_t compare = 0;
  std::uint64_t signal = 0;
  std::uint64_t result = 0;
  std::uint32_t pe = 0;
  OpKind kind = OpKind::kNone;
  NotifyOp notify = NotifyOp::kNone;
  std::uint8_t width = 0;
  std::uint8_t flags = 0;
};
static_assert(sizeof(Op) == 64, "the ring, the proxy and the fuzzer rely on one cache line");

}  // namespace weft
