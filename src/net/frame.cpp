#include "src/net/frame.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "src/base/status.hpp"
#include "src/net/wire.hpp"

namespace weft::net {
namespace {

constexpr std::array<std::byte, 4> kMagic{std::byte{'w'}, std::byte{'e'}, std::byte{'f'},
                                          std::byte{'t'}};

std::string printable(std::span<const std::byte> bytes) {
  std::string hex, text;
  for (const std::byte b : bytes) {
    const auto c = static_cast<unsigned char>(b);
    hex += fmt::format("{}{:02x}", hex.empty() ? "" : " ", c);
    text += c >= 0x20 && c < 0x7f ? static_cast<char>(c) : '.';
  }
  return fmt::format("{} \"{}\"", hex, text);
}

}  // namespace

Bytes encode_frame(std::uint32_t type, std::span<const std::byte> payload) {
  Writer out;
  out.raw(kMagic);
  out.u32(type);
  out.u64(payload.size());
  out.raw(payload);
  return out.take();
}

Status malformed(std::string_view message, std::size_t bytes) {
  return Status::error(Code::kIo, fmt::format("malformed {} message of {} bytes", message, bytes));
}

Status FrameDecoder::read_header() {
  Reader in(header_);
  const auto magic = in.raw(kMagic.size());
  if (!std::ranges::equal(magic, kMagic)) {
    return Status::error(
        Code::kIo,
        fmt::format("these are not Weft's frames: a header starts with "
                    "\"weft\" but this one starts with {}",
                    printable(std::span(header_).first(std::min<std::size_t>(header_have_, 8)))));
  }
  current_.type = in.u32();
  expected_ = in.u64();
  if (expected_ > most_) {
    return Status::error(Code::kIo,
                         fmt::format("a frame of type {} announces {} bytes, more than the {} that "
                                     "are accepted here",
                                     current_.type, expected_, most_));
  }
  return Status::ok();
}

Status FrameDecoder::feed(std::span<const std::byte> bytes) {
  if (!failed_.is_ok()) return failed_;
  for (;;) {
    if (header_have_ < kFrameHeader) {
      const std::size_t n = std::min(kFrameHeader - header_have_, bytes.size());
      std::copy_n(bytes.begin(), n, header_.begin() + static_cast<std::ptrdiff_t>(header_have_));
      header_have_ += n;
      bytes = bytes.subspan(n);
      // A stranger is known by the first byte that differs; no need to wait for a whole header.
      const std::size_t seen = std::min(header_have_, kMagic.size());
      const bool stranger = !std::equal(kMagic.begin(), kMagic.begin() + seen, header_.begin());
      if (header_have_ < kFrameHeader && !stranger) return Status::ok();
      if (failed_ = read_header(); !failed_.is_ok()) return failed_;
    }
    // The payload grows with what has come, not with what was announced.
    const std::size_t missing = static_cast<std::size_t>(expected_) - current_.payload.size();
    const std::size_t n = std::min(missing, bytes.size());
    current_.payload.insert(current_.payload.end(), bytes.begin(), bytes.begin() + n);
    bytes = bytes.subspan(n);
    if (n < missing) return Status::ok();
    ready_.push_back(std::exchange(current_, {}));
    header_have_ = 0;
    if (bytes.empty()) return Status::ok();
  }
}

std::optional<Frame> FrameDecoder::next() {
  if (taken_ == ready_.size()) return std::nullopt;
  Frame frame = std::move(ready_[taken_++]);
  if (taken_ == ready_.size()) {
    ready_.clear();
    taken_ = 0;
  }
  return frame;
}

}  // namespace weft::net
