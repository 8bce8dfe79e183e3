#include <weft/runtime.hpp>

#include <unistd.h>

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "bootstrap/tcp/id_text.hpp"
#include "bootstrap/tcp/server.hpp"
#include "src/base/status.hpp"

namespace weft {
namespace {

// Servers whose ids are gone while their jobs still run. The end of the process waits for them, so
// that nobody else's goodbye is cut off.
class Orphans {
 public:
  void take(std::unique_ptr<tcp::Server> server) {
    // In a fork of the process that serves there is no serving thread, and its state may have been
    // copied in the middle of a change: let it be.
    if (server->process() != ::getpid()) return forget(std::move(server));
    server->close();
    const std::lock_guard lock(mutex_);
    std::erase_if(servers_, [](const auto& other) { return other->finished(); });
    servers_.push_back(std::move(server));
  }

  ~Orphans() {
    for (auto& server : servers_) {
      if (server->process() != ::getpid()) forget(std::move(server));
    }
  }

 private:
  static void forget(std::unique_ptr<tcp::Server> server) {
    static auto* const forgotten = new std::vector<tcp::Server*>;  // seen by leak checkers
    forgotten->push_back(server.release());
  }

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
