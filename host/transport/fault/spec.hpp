// FaultSpec: what WEFT_FAULT asks for, as "key=value,key=value". Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <weft/result.hpp>

namespace weft {

// One table: makes the struct, the parser and the list in error messages.
//   FAULT_KEY(name, type, initial, low, high, help)
#define WEFT_FAULT_KEYS(FAULT_KEY)                                                               \
  FAULT_KEY(seed, std::uint64_t, 1, 0, 18446744073709551615.0,                                   \
            "of the random choices, per PE and lane")                                            \
  FAULT_KEY(late, bool, false, 0, 1, "plain puts wait for a quiet, the rest comes in any order") \
  FAULT_KEY(drop, double, 0, 0, 1, "probability that an op is lost")                             \
  FAULT_KEY(delay, double, 0, 0, 1, "probability that an op waits for some progress calls")      \
  FAULT_KEY(delay_calls, std::uint64_t, 16, 1, 1048576,                                          \
            "most progress calls that such an op waits")                                         \
  FAULT_KEY(duplicate, double, 0, 0, 1, "probability that the bytes of a put or get move twice") \
  FAULT_KEY(busy, double, 0, 0, 0.99, "probability that post() answers kBusy")                   \
  FAULT_KEY(max_bytes, std::uint64_t, 0, 0, 18446744073709551615.0,                              \
            "most bytes of one op, so that larger ones are cut; 0: no limit")                    \
  FAULT_KEY(fail_after, std::uint64_t, 0, 0, 18446744073709551615.0,                             \
            "posts fail with kIo after so many; 0: never")                                       \
  FAULT_KEY(kill_pe, int, -1, -1, 1048575, "ops to this PE fail with kPeerLost; -1: nobody")     \
  FAULT_KEY(kill_after, std::uint64_t, 0, 0, 18446744073709551615.0,                             \
            "ops that still get through to kill_pe")

struct FaultSpec {
#define FAULT_KEY(name, type, initial, low, high, help) type name = initial;
  WEFT_FAULT_KEYS(FAULT_KEY)
#undef FAULT_KEY
};

// An unknown key or a bad value is an error that names it and lists what is known.
Result<FaultSpec> parse_fault_spec(std::string_view text);

}  // namespace weft
