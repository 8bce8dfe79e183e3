#include "host/transport/agree.hpp"

#include <cstring>

#include <fmt/format.h>

#include "src/base/status.hpp"

namespace weft {

Blob encode(const Status& status) {
  if (status.is_ok()) return {};
  const std::string_view text = status.text();
  Blob blob(1 + text.size());
  blob[0] = static_cast<std::byte>(status.code());
  std::memcpy(blob.data() + 1, text.data(), text.size());
  return blob;
}

Status decode(const Blob& blob, int pe, std::string_view what) {
  if (blob.empty()) return Status::ok();
  const auto raw = static_cast<unsigned>(blob[0]);
  const bool known = raw != 0 && raw <= static_cast<unsigned>(Code::kInternal);
  const std::string_view text(reinterpret_cast<const char*>(blob.data()) + 1, blob.size() - 1);
  return Status::error(known ? static_cast<Code>(raw) : Code::kInternal,
                       fmt::format("{} failed on PE {}: {}", what, pe, text));
}

Status agree(Bootstrap& bootstrap, const Status& mine, std::string_view what) {
  ASSIGN_OR_RETURN(const std::vector<Blob> all, bootstrap.allgather(encode(mine)));
  if (!mine.is_ok()) return mine;
  for (std::size_t pe = 0; pe < all.size(); ++pe)
    RETURN_IF_ERROR(decode(all[pe], static_cast<int>(pe), what));
  return Status::ok();
}

Blob pack(std::span<const Blob> parts) {
  Blob packed;
  for (const Blob& part : parts) {
    const std::uint64_t bytes = part.size();
    const auto* raw = reinterpret_cast<const std::byte*>(&bytes);
    packed.insert(packed.end(), raw, raw + sizeof(bytes));
    packed.insert(packed.end(), part.begin(), part.end());
  }
  return packed;
}

Result<std::vector<Blob>> unpack(const Blob& packed) {
  std::vector<Blob> parts;
  for (std::size_t at = 0; at < packed.size();) {
    std::uint64_t bytes = 0;
    if (packed.size() - at < sizeof(bytes))
      return Status::error(Code::kIo, "an exchanged record ends inside a length");
    std::memcpy(&bytes, packed.data() + at, sizeof(bytes));
    at += sizeof(bytes);
    if (packed.size() - at < bytes)
      return Status::error(Code::kIo, fmt::format("an exchanged record promises {} bytes and holds "
                                                  "{}",
                                                  bytes, packed.size() - at));
    parts.emplace_back(packed.begin() + static_cast<std::ptrdiff_t>(at),
                       packed.begin() + static_cast<std::ptrdiff_t>(at + bytes));
    at += bytes;
  }
  return parts;
}

}  // namespace weft
