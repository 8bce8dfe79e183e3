// Collective steps that succeed or fail on all PEs alike.
#pragma once

#include <span>
#include <string_view>
#include <vector>

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

}  // namespace weft
