// Collective steps that succeed or fail on all PEs alike.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <weft/result.hpp>

#include "bootstrap/bootstrap.hpp"

namespace weft {

// Collective. Ok if every PE came with ok; else my own failure, or the first other PE's, with its
// code and text.
Status agree(Bootstrap& bootstrap, const Status& mine, std::string_view what);

// A failure as bytes, and back; no bytes mean ok.
Blob encode(const Status& status);
Status decode(const Blob& blob, int pe, std::string_view what);

// Several blobs as one, so that one exchange carries them all.
Blob pack(std::span<const Blob> parts);
Result<std::vector<Blob>> unpack(const Blob& packed);

// A value as bytes, and back: `pe`'s.
template <class T>
Blob bytes_of_value(const T& value) {
  const auto* raw = reinterpret_cast<const std::byte*>(&value);
  return Blob(raw, raw + sizeof(T));
}
template <class T>
Result<T> value_of(const Blob& blob, std::size_t pe, std::string_view what) {
  if (blob.size() != sizeof(T))
    return Status::error(
        Code::kVersionMismatch,
        fmt::format("PE {} sent {} of {} bytes, mine has {}; run the same build of "
                    "Weft on every PE",
                    pe, what, blob.size(), sizeof(T)));
  T value;
  std::memcpy(&value, blob.data(), sizeof(T));
  return value;
}

}  // namespace weft
