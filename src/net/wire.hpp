// Fields inside a payload: little-endian numbers, and texts and byte strings with their length in
// front. The reader never reads outside; after a field that is not there it gives zeros, and
// complete() says so once, at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::net {

class Writer {
 public:
  void u8(std::uint8_t value) { number(value, 1); }
  void u32(std::uint32_t value) { number(value, 4); }
  void u64(std::uint64_t value) { number(value, 8); }
  void raw(std::span<const std::byte> bytes) {
    out_.insert(out_.end(), bytes.begin(), bytes.end());
  }
  void bytes(std::span<const std::byte> value) {
    u64(value.size());
    raw(value);
  }
  void text(std::string_view value) { bytes(std::as_bytes(std::span(value))); }
  std::vector<std::byte> take() { return std::move(out_); }

 private:
  void number(std::uint64_t value, int width) {
    for (int i = 0; i < width; ++i) out_.push_back(static_cast<std::byte>(value >> (8 * i)));
  }

  std::vector<std::byte> out_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> in) : in_(in) {}

  std::uint8_t u8() { return static_cast<std::uint8_t>(number(1)); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(number(4)); }
  std::uint64_t u64() { return number(8); }
  std::span<const std::byte> raw(std::uint64_t count) {
    if (count > in_.size()) {
      good_ = false;
      in_ = {};
      return {};
    }
    const auto part = in_.first(static_cast<std::size_t>(count));
    in_ = in_.subspan(static_cast<std::size_t>(count));
    return part;
  }
  std::span<const std::byte> bytes() { return raw(u64()); }
  std::string text() {
    const auto part = bytes();
    return std::string(reinterpret_cast<const char*>(part.data()), part.size());
  }

  bool good() const { return good_; }
  // Every field was there and nothing is left over.
  bool complete() const { return good_ && in_.empty(); }
  std::size_t left() const { return in_.size(); }

 private:
  std::uint64_t number(std::uint64_t width) {
    std::uint64_t value = 0;
    int shift = 0;
    for (const std::byte b : raw(width)) {
      value |= std::to_integer<std::uint64_t>(b) << shift;
      shift += 8;
    }
    return value;
  }

  std::span<const std::byte> in_;
  bool good_ = true;
};

}  // namespace weft::net
