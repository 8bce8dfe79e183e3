#include <weft/runtime.hpp>

namespace weft {

Result<UniqueId> UniqueId::create(int, const Options&) {
  return Status::error(Code::kUnsupported, "the tcp bootstrap comes with the next change");
}

Result<UniqueId> UniqueId::parse(std::string_view text) {
  UniqueId id;
  id.text_ = text;
  return id;
}

std::string UniqueId::text() const { return text_; }

}  // namespace weft
