#include <weft/runtime.hpp>

#include "bootstrap/tcp/id_text.hpp"
#include "bootstrap/tcp/server.hpp"
#include "src/base/status.hpp"

namespace weft {

Result<UniqueId> UniqueId::create(int npes, const Options& options) {
  auto server = tcp::Server::start(npes, options);
  if (!server) return report(server.status());
  UniqueId id;
  id.text_ = (*server)->id_text();
  id.server_ = std::shared_ptr<tcp::Server>(std::move(*server));
  return id;
}

Result<UniqueId> UniqueId::parse(std::string_view text) {
  if (auto parsed = parse_id_text(text); !parsed) return report(parsed.status());
  UniqueId id;
  id.text_ = text;
  return id;
}

std::string UniqueId::text() const { return text_; }

}  // namespace weft
