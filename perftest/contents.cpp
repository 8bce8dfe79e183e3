#include "perftest/contents.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace weft::perf {
namespace {

// Calls visit(offset, piece, bytes) for each 8 bytes (the last piece may be shorter).
template <class Visit>
void each_piece(std::size_t bytes, std::uint64_t key, Visit visit) {
  for (std::size_t at = 0; at < bytes; at += 8) {
    const std::uint64_t word = random_word(key, at / 8);
    visit(at, &word, std::min<std::size_t>(8, bytes - at));
  }
}

}  // namespace

// Finaliser of MurmurHash3 over a Weyl sequence: SplitMix64, after G. Steele et al., 2014.
std::uint64_t random_word(std::uint64_t key, std::uint64_t index) {
  std::uint64_t z = key + (index + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

std::uint64_t mix(std::uint64_t a, std::uint64_t b) { return random_word(a, b); }

void fill(void* memory, std::size_t bytes, std::uint64_t key) {
  auto* out = static_cast<std::byte*>(memory);
  each_piece(bytes, key, [&](std::size_t at, const std::uint64_t* word, std::size_t n) {
    std::memcpy(out + at, word, n);
  });
}

void fill_wrong(void* memory, std::size_t bytes, std::uint64_t key) {
  auto* out = static_cast<std::byte*>(memory);
  each_piece(bytes, key, [&](std::size_t at, const std::uint64_t* word, std::size_t n) {
    const std::uint64_t flipped = ~*word;
    std::memcpy(out + at, &flipped, n);
  });
}

void complement(void* memory, const void* of, std::size_t bytes) {
  auto* out = static_cast<std::byte*>(memory);
  const auto* in = static_cast<const std::byte*>(of);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = ~in[i];
}

Status expect(std::string_view what, int pe, const void* memory, std::size_t bytes,
              std::uint64_t key) {
  const auto* seen = static_cast<const unsigned char*>(memory);
  Status status;
  each_piece(bytes, key, [&](std::size_t at, const std::uint64_t* word, std::size_t n) {
    if (!status || std::memcmp(seen + at, word, n) == 0) return;
    const auto* wanted = reinterpret_cast<const unsigned char*>(word);
    const auto i =
        static_cast<std::size_t>(std::mismatch(wanted, wanted + n, seen + at).first - wanted);
    status = wrong_data(what, pe, fmt::format("byte {} of {}", at + i, bytes),
                        fmt::format("0x{:02x}", seen[at + i]), fmt::format("0x{:02x}", wanted[i]));
  });
  return status;
}

Status expect_equal(std::string_view what, int pe, const void* memory, const void* wanted,
                    std::size_t bytes) {
  const auto* seen = static_cast<const unsigned char*>(memory);
  const auto* right = static_cast<const unsigned char*>(wanted);
  const auto [a, b] = std::mismatch(seen, seen + bytes, right);
  if (a == seen + bytes) return Status::ok();
  return wrong_data(what, pe, fmt::format("byte {} of {}", a - seen, bytes),
                    fmt::format("0x{:02x}", *a), fmt::format("0x{:02x}", *b));
}

Status wrong_data(std::string_view what, int pe, std::string_view place, std::string_view seen,
                  std::string_view wanted) {
  return Status::error(Code::kInternal, fmt::format("wrong data: {} on PE {}: {} is {}, not {}",
                                                    what, pe, place, seen, wanted));
}

}  // namespace weft::perf
