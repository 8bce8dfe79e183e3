#include <weft/runtime.hpp>

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "bootstrap/tcp/id_text.hpp"
#include "bootstrap/tcp/server.hpp"
#include "src/base/process.hpp"
#include "src/base/status.hpp"

namespace weft {
namespace {

// Servers whose ids are gone while their jobs still run. The end of the process waits for them, so
// that nobody else's goodbye is cut off.
class Orphans {
 public:
  void take(std::unique_ptr<tcp::Server> server) {
    if (server->is_inherited()) return keep_for_parent(std::move(server));
    server->close();
    const std::lock_guard lock(mutex_);
    std::erase_if(servers_, [](const auto& other) { return other->finished(); });
    servers_.push_back(std::move(server));
  }

  ~Orphans() {
    for (auto& server : servers_) {
      if (server->is_inherited()) keep_for_parent(std::move(server));
    }
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<tcp::Server>> servers_;  // guarded by mutex_
};

Orphans& orphans() {
  static Orphans all;
  return all;
}

}  // namespace

Result<UniqueId> UniqueId::create(int npes, const Options& options) { return serve(npes, options); }
Result<UniqueId> UniqueId::create(const Options& options) { return serve(std::nullopt, options); }

Result<UniqueId> UniqueId::serve(std::optional<int> npes, const Options& options) {
  auto server = tcp::Server::start(npes, options);
  if (!server) return report(server.status());
  UniqueId id;
  id.text_ = (*server)->id_text();
  orphans();  // made now, so that it outlives whoever holds the id
  id.server_ = std::shared_ptr<tcp::Server>(server->release(), [](tcp::Server* last) {
    orphans().take(std::unique_ptr<tcp::Server>(last));
  });
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
