#include "bootstrap/bootstrap.hpp"

namespace weft {

Result<std::unique_ptr<Bootstrap>> make_tcp_bootstrap(std::string_view, int, int, const Options&) {
  return Status::error(Code::kUnsupported, "the tcp bootstrap comes with the next change");
}

}  // namespace weft
