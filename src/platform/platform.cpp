#include "src/platform/platform.hpp"

#include <fmt/format.h>

#include "src/base/status.hpp"

namespace weft {

std::string Platform::why_not_owned(const Blob&) const {
  return fmt::format("memory of the {} is mapped or out of reach", name());
}

Result<Platform*> Platform::owner(const Blob& peer) {
  return Status::error(Code::kUnsupported, why_not_owned(peer));
}

Result<Dmabuf> Platform::export_dmabuf(Range) const {
  return Status::error(Code::kUnsupported,
                       fmt::format("memory of the {} is not exported as a dmabuf", name()));
}

}  // namespace weft
