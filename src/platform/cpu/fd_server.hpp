// How the file descriptor of a chunk reaches another process: over an abstract unix socket, which
// leaves no name in any file system and works across pid namespaces.
//
// A chunk that is shared has a ticket, 128 random bits that travel through the bootstrap. A
// process that presents it on the socket, and runs as the same user, is handed the descriptor.
#pragma once

#include <memory>

#include <weft/result.hpp>

#include "src/base/unique_fd.hpp"
#include "src/platform/platform.hpp"

namespace weft::cpu {

// One per process, with one small thread; there while somebody holds it.
class FdServer {
 public:
  static Result<std::shared_ptr<FdServer>> get();
  ~FdServer();

  const Uuid& name() const;
  // `fd` stays the caller's, who withdraws the ticket before closing it.
  void offer(const Uuid& ticket, int fd);
  void withdraw(const Uuid& ticket);

 private:
  struct State;
  explicit FdServer(std::unique_ptr<State> state);
  bool is_inherited() const;  // through fork(): the thread is the parent's
  std::unique_ptr<State> state_;
};

// The descriptor behind a ticket of the server with that name; waits at most `seconds`.
Result<UniqueFd> fetch_fd(const Uuid& server, const Uuid& ticket, double seconds);

}  // namespace weft::cpu
