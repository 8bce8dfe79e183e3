// The PEs of a job as threads of this process: a meeting under a mutex.
#include <condition_variable>
#include <mutex>
#include <utility>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/meeting.hpp"
#include "src/base/status.hpp"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

struct Group {
  Group(int npes, double timeout_s) : meeting(npes, timeout_s), timeout(timeout_s) {}
  std::mutex mutex;
  std::condition_variable changed;
  Meeting meeting;  // guarded by mutex
  const std::chrono::duration<double> timeout;
};

class LocalBootstrap final : public Bootstrap {
 public:
  LocalBootstrap(std::shared_ptr<Group> group, int pe) : group_(std::move(group)), pe_(pe) {}

  ~LocalBootstrap() override {
    const std::lock_guard lock(group_->mutex);
    group_->meeting.lose(pe_, "its bootstrap was destroyed before it left the job");
    group_->changed.notify_all();
  }

  std::string_view name() const override { return "local"; }
  int pe() const override { return pe_; }
  int npes() const override { return group_->meeting.npes(); }

  Result<std::vector<Blob>> allgather(std::span<const std::byte> mine) override {
    ASSIGN_OR_RETURN(const Meeting::Blobs all,
                     call(Meeting::Call::kAllgather, Blob(mine.begin(), mine.end())));
    return *all;
  }

  Status barrier() override { return call(Meeting::Call::kBarrier, {}).status(); }

  void abort(int code, std::string_view why) override {
    const std::lock_guard lock(group_->mutex);
    group_->meeting.abort(pe_, code, why);
    group_->changed.notify_all();
  }

  Status health() override {
    const std::lock_guard lock(group_->mutex);
    return group_->meeting.failure();
  }

  Status leave() override {
    std::unique_lock lock(group_->mutex);
    Meeting& meeting = group_->meeting;
    meeting.leave(pe_);
    group_->changed.notify_all();
    const auto ended = [&] { return meeting.everybody_left() || !meeting.failure().is_ok(); };
    if (!group_->changed.wait_for(lock, group_->timeout, ended)) return meeting.leave_timeout();
    return meeting.failure();
  }

 private:
  Result<Meeting::Blobs> call(Meeting::Call call, Blob mine) {
    std::unique_lock lock(group_->mutex);
    Meeting& meeting = group_->meeting;
    const std::uint64_t turn = ++calls_;
    meeting.enter(pe_, call, turn, std::move(mine), Clock::now());
    // The last one in, or a failure, ends the wait of the others.
    if (meeting.completed() >= turn || !meeting.failure().is_ok()) group_->changed.notify_all();
    while (meeting.completed() < turn) {
      if (!meeting.failure().is_ok()) return meeting.failure();
      group_->changed.wait_until(lock, meeting.deadline());
      meeting.expire(Clock::now());
      if (!meeting.failure().is_ok()) group_->changed.notify_all();
    }
    return meeting.gathered();
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
    group->meeting.join(pe, {}, Clock::now()).ignore();
    pes.push_back(std::make_unique<LocalBootstrap>(group, pe));
  }
  return pes;
}

}  // namespace weft
