// Fresh random inputs: another seed every run, printed when a test fails; WEFT_TEST_SEED repeats
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <vector>

namespace weft {

inline std::uint64_t test_seed() {
  static const std::uint64_t seed = [] {
    const char* given = std::getenv("WEFT_TEST_SEED");
    const std::uint64_t value =
        given != nullptr ? std::strtoull(given, nullptr, 0) : std::random_device{}();
    std::cerr << "WEFT_TEST_SEED=" << value << "\n";
    return value;
  }();
  return seed;
}

inline std::vector<std::byte> random_bytes(std::mt19937_64& random, std::size_t bytes) {
  std::vector<std::byte> out(bytes);
  for (std::byte& b : out) b = static_cast<std::byte>(random());
  return out;
}

}  // namespace weft
