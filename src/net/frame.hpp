// Frames: the unit that travels over a stream socket.
//
//   magic "weft" (4)  type (4)  bytes of payload (8)  payload       all numbers little-endian
//
// The decoder is pure: bytes in, frames out, whatever the pieces they come in. A stranger's bytes
// or an absurd length end it before anything is allocated for them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <weft/status.hpp>

namespace weft::net {

using Bytes = std::vector<std::byte>;

struct Frame {
  std::uint32_t type = 0;
  Bytes payload;
};

inline constexpr std::size_t kFrameHeader = 16;

Bytes encode_frame(std::uint32_t type, std::span<const std::byte> payload);
// The error for a payload of so many bytes that holds no such message.
Status malformed(std::string_view message, std::size_t bytes);

class FrameDecoder {
 public:
  // `most`: the longest payload that is accepted.
  explicit FrameDecoder(std::uint64_t most) : most_(most) {}

  void set_most(std::uint64_t most) { most_ = most; }
  // An error is final: nothing after it can be understood.
  Status feed(std::span<const std::byte> bytes);
  std::optional<Frame> next();
  // In the middle of a frame: the stream must not end here.
  bool partial() const { return header_have_ > 0; }

 private:
  Status read_header();

  std::uint64_t most_;
  std::array<std::byte, kFrameHeader> header_{};
  std::size_t header_have_ = 0;
  std::uint64_t expected_ = 0;
  Frame current_;
  std::vector<Frame> ready_;
  std::size_t taken_ = 0;
  Status failed_;
};

}  // namespace weft::net
