#include "src/platform/reserved.hpp"

#include <fmt/format.h>

#include "src/base/status.hpp"

namespace weft {

Status MappedParts::check_free(Range part) const {
  const auto after = bytes_.lower_bound(part.base + part.bytes);
  if (after == bytes_.begin()) return Status::ok();
  const auto& [base, bytes] = *std::prev(after);
  if (base + bytes <= part.base) return Status::ok();
  return Status::error(Code::kInvalidArgument,
                       fmt::format("{} bytes at {} overlap {} bytes at {} that have memory",
                                   part.bytes, fmt::ptr(part.base), bytes, fmt::ptr(base)));
}

}  // namespace weft
