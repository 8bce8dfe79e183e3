// The PEs of a job as threads of this process: a rendezvous under a mutex.
#include <condition_variable>
#include <mutex>
#include <utility>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/rendezvous.hpp"
#include "src/base/status.hpp"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

struct Group {
  Group(int npes, double timeout_s) : rendezvous(npes, timeout_s), timeout(timeout_s) {}
  std::mutex mutex;
  std::condition_variable changed;
  Rendezvous rendezvous;  // guarded by mutex
  const std::chrono::duration<double> timeout;
};

class LocalBootstrap final : public Bootstrap {
 public:
  LocalBootstrap(std::shared_ptr<Group> group, int pe) : group_(std::move(group)), pe_(pe) {}

  ~LocalBootstrap() override {
    const std::lock_guard lock(group_->mutex);
    group_->rendezvous.lose(pe_, "its bootstrap was destroyed before it left the job");
    group_->changed.notify_all();
  }

  std::string_view name() const override { return "local"; }
  int pe() const override { return pe_; }
  int npes() const override { return group_->rendezvous.npes(); }

  Result<std::vector<Blob>> allgather(std::span<const std::byte> mine) override {
    ASSIGN_OR_RETURN(const Rendezvous::Blobs all,
                     call(Rendezvous::Call::kAllgather, Blob(mine.begin(), mine.end())));
    return *all;
  }

  Status barrier() override { return call(Rendezvous::Call::kBarrier, {}).status(); }

  void abort(int code, std::string_view why) override {
    const std::lock_guard lock(group_->mutex);
    group_->rendezvous.abort(pe_, code, why);
    group_->changed.notify_all();
  }

  Status health() override {
    const std::lock_guard lock(group_->mutex);
    return group_->rendezvous.failure();
  }

  Status leave() override {
    std::unique_lock lock(group_->mutex);
    Rendezvous& rendezvous = group_->rendezvous;
    rendezvous.leave(pe_);
    group_->changed.notify_all();
    const auto ended = [&] { return rendezvous.everybody_left() || !rendezvous.failure().is_ok(); };
    if (!group_->changed.wait_for(lock, group_->timeout, ended)) return rendezvous.leave_timeout();
    return rendezvous.failure();
  }

 private:
  Result<Rendezvous::Blobs> call(Rendezvous::Call call, Blob mine) {
    std::unique_lock lock(group_->mutex);
    Rendezvous& rendezvous = group_->rendezvous;
    const std::uint64_t turn = ++calls_;
    rendezvous.enter(pe_, call, turn, std::move(mine), Clock::now());
    // The last one in, or a failure, ends the wait of the others.
    if (rendezvous.completed() >= turn || !rendezvous.failure().is_ok())
      group_->changed.notify_all();
    while (rendezvous.completed() < turn) {
      if (!rendezvous.failure().is_ok()) return rendezvous.failure();
      group_->changed.wait_until(lock, rendezvous.deadline());
      rendezvous.expire(Clock::now());
      if (!rendezvous.failure().is_ok()) group_->changed.notify_all();
    }
    return rendezvous.gathered();
  }

  const std::shared_ptr<Group> group_;
  const int pe_;
  std::uint64_t calls_ = 0;  // guarded by the group's mutex
};

}  // namespace

std::vector<std::unique_ptr<Bootstrap>> make_local_bootstraps(int npes, const Options& options) {
  auto group = std::make_shared<Group>(npes, options.start_timeout);
  std::vector<std::unique_ptr<Bootstrap>> pes;
  for (int pe = 0; pe < npes; ++pe) {
    // Cannot fail: every number is fresh.
    group->rendezvous.join(pe, {}, Clock::now()).ignore();
    pes.push_back(std::make_unique<LocalBootstrap>(group, pe));
  }
  return pes;
}

}  // namespace weft
