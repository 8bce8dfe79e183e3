// PEs that a foreign launcher started: it carries a unique id, and the rest goes over tcp.
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include <weft/runtime.hpp>

#include "bootstrap/launcher.hpp"
#include "src/base/abort_text.hpp"
#include "src/base/log.hpp"
#include "src/base/process.hpp"
#include "src/base/status.hpp"

namespace weft {
namespace {

// The state that a process and its launcher share. It lasts until the process ends, because the
// handshake with a launcher happens once, and the launcher may be asked to end the job at any time.
class Session {
 public:
  explicit Session(std::shared_ptr<Launcher> launcher) : launcher_(std::move(launcher)) {}

  // A PE that did not leave its job in order has no goodbye to say; with MPI it would wait for
  // those that are lost.
  ~Session() {
    if (!process_.is_inherited() && in_order_.load()) launcher_->finalize();
  }

  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Status agree_on_id(const Options& options);
  const Launcher& launcher() const { return *launcher_; }
  const std::string& id() const { return id_; }

  void out_of_order() { in_order_.store(false); }

  void abort(int code, std::string_view why) {
    if (aborted_.exchange(true)) return;
    // The launcher may end this process at once: whoever wants to know why has only this line.
    if (code == 0)
      LOG(kInfo, "bootstrap", "PE {} {}: {}", launcher_->pe(), abort_text(code), why);
    else
      LOG(kError, "bootstrap", "PE {} {}: {}", launcher_->pe(), abort_text(code), why);
    // Exit statuses have eight bits. Code 0 is a success, which 256 is not.
    launcher_->abort(code == 0 || (code & 0xff) != 0 ? code & 0xff : 1);
  }

  // Another PE aborted, and its word to the launcher may still be on the way: who ends before it
  // arrives gives the job a status that nobody asked for. The launcher cuts this short.
  void await_end() const {
    constexpr std::chrono::seconds kAtMost{2};
    if (!aborted_.load()) std::this_thread::sleep_for(kAtMost);
  }

 private:
  const std::shared_ptr<Launcher> launcher_;
  const OwnerProcess process_;
  std::optional<UniqueId> server_;  // on PE 0
  std::string id_;
  std::atomic<bool> in_order_{true};
  std::atomic<bool> aborted_{false};
};

// An address that every PE can reach, if the user names none.
Options reachable(Options options, bool one_host) {
  if (options.bind_address.empty() && !one_host) options.bind_address = "0.0.0.0";
  return options;
}

// PE 0 publishes "+id", or "-why" if there is none, so that nobody waits for it.
Status Session::agree_on_id(const Options& options) {
  std::string text;
  Status mine;
  if (launcher_->pe() == 0) {
    auto made = UniqueId::create(launcher_->npes(), reachable(options, launcher_->one_host()));
    mine = made.status();
    text = made ? "+" + made->text() : fmt::format("-{}", mine.text());
    if (made) server_ = std::move(*made);
  }
  auto carried = launcher_->broadcast(text, Deadline(options.start_timeout));
  RETURN_IF_ERROR(mine);
  if (!carried) {
    return Status::error(
        carried.status().code(),
        fmt::format("PE {} of {} could not meet the others through {}: {}. Does every process that "
                    "the launcher started create a runtime?",
                    launcher_->pe(), launcher_->npes(), launcher_->name(),
                    carried.status().text()));
  }
  if (carried->starts_with('+')) {
    id_ = carried->substr(1);
    return Status::ok();
  }
  return Status::error(Code::kPeerLost,
                       fmt::format("PE 0 could not make a place to meet: {}",
                                   carried->empty() ? "it said nothing" : carried->substr(1)));
}

class LaunchedBootstrap final : public Bootstrap {
 public:
  LaunchedBootstrap(std::shared_ptr<Session> session, std::unique_ptr<Bootstrap> tcp)
      : session_(std::move(session)), tcp_(std::move(tcp)) {}

  ~LaunchedBootstrap() override {
    if (!left_) session_->out_of_order();
    if (tcp_->health().is(Code::kAborted)) session_->await_end();
  }

  std::string_view name() const override { return session_->launcher().name(); }
  int pe() const override { return tcp_->pe(); }
  int npes() const override { return tcp_->npes(); }
  Result<std::vector<Blob>> allgather(std::span<const std::byte> mine) override {
    return tcp_->allgather(mine);
  }
  Status barrier() override { return tcp_->barrier(); }
  Status health() override { return tcp_->health(); }
  Status leave() override {
    Status status = tcp_->leave();
    left_ = status.is_ok();
    return status;
  }
  void abort(int code, std::string_view why) override {
    tcp_->abort(code, why);
    session_->abort(code, why);
  }

 private:
  const std::shared_ptr<Session> session_;
  const std::unique_ptr<Bootstrap> tcp_;
  bool left_ = false;
};

Result<std::shared_ptr<Session>> open_session(std::shared_ptr<Launcher> launcher,
                                              const Options& options) {
  auto session = std::make_shared<Session>(std::move(launcher));
  RETURN_IF_ERROR(session->agree_on_id(options));
  return session;
}

Result<std::unique_ptr<Bootstrap>> meet(const std::shared_ptr<Session>& session,
                                        const Options& options) {
  const Launcher& launcher = session->launcher();
  ASSIGN_OR_RETURN(auto tcp,
                   make_tcp_bootstrap(session->id(), launcher.pe(), launcher.npes(), options));
  return std::unique_ptr<Bootstrap>(std::make_unique<LaunchedBootstrap>(session, std::move(tcp)));
}

}  // namespace

Result<std::unique_ptr<Bootstrap>> meet_through(std::shared_ptr<Launcher> launcher,
                                                const Options& options) {
  ASSIGN_OR_RETURN(const auto session, open_session(std::move(launcher), options));
  return meet(session, options);
}

Result<std::unique_ptr<Bootstrap>> meet_through_launcher(
    const std::function<Result<std::unique_ptr<Launcher>>()>& make, const Options& options) {
  // Constructed once its parts are there, so that they outlive it.
  static const auto session = [&]() -> Result<std::shared_ptr<Session>> {
    ASSIGN_OR_RETURN(auto launcher, make());
    return open_session(std::move(launcher), options);
  }();
  RETURN_IF_ERROR(session.status());
  return meet(*session, options);
}

}  // namespace weft
