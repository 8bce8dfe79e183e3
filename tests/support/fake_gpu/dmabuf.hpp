// The contents of the fake driver's dmabufs, by which the fake library of verbs finds the memory.
#pragma once

#include <cstdint>

namespace weft::test {

struct FakeDmabuf {
  static constexpr std::uint64_t kMark = 0x66756261'6d64656b;
  std::uint64_t mark = kMark;
  std::uint64_t base = 0;  // in the process that exported it
  std::uint64_t bytes = 0;
};

}  // namespace weft::test
