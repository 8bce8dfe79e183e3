// The kernel's end of a ring, on a test's thread.
#pragma once

#include <cstdint>

#include <gtest/gtest.h>

#include <weft/dev/ring.hpp>

namespace weft {

inline Op numbered_put(std::uint64_t number, std::uint32_t pe = 0) {
  Op op;
  op.kind = OpKind::kPut;
  op.pe = pe;
  op.value = number;
  return op;
}

inline bool push(const RingView& ring, const Op& op) {
  dev::ring::PushAttempt attempt;
  const auto publish = [&] {
    return dev::ring::try_publish(ring, attempt, op, dev::ring::ResultUse::kNone, 0);
  };
  return publish() || publish();  // who was refused looks for more credit
}

inline void push_all(const RingView& ring, std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) ASSERT_TRUE(push(ring, numbered_put(first + i)));
}

inline std::uint64_t consumed(const RingView& ring) { return dev::ring::consumed(ring); }
inline std::uint64_t completed(const RingView& ring) { return dev::ring::completed(ring); }

}  // namespace weft
