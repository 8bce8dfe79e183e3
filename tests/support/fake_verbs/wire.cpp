// The thread that carries out what is posted.
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "tests/support/fake_verbs/state.hpp"

namespace weft::fake_verbs {
namespace {

bool has_work(const Qp& qp) {
  return !qp.sends.empty() || (qp.now == IBV_QPS_ERR && !qp.receives.posted.empty());
}

void flush_one(Qp& qp) {
  if (qp.receives.posted.empty() || (!qp.sends.empty() && random_number(1) != 0)) {
    complete_send(qp, qp.sends.front(), IBV_WC_WR_FLUSH_ERR, 0);
    qp.sends.pop_front();
    return;
  }
  ibv_wc wc{};
  wc.wr_id = qp.receives.posted.front().id;
  wc.status = IBV_WC_WR_FLUSH_ERR;
  qp.receives.posted.pop_front();
  complete_receive(qp, wc, false);
}

bool falls_asleep(Qp& qp) {
  Device& device = qp.device_of();
  if (qp.qp_type != IBV_QPT_RC || device.doze_at == 0 || --device.doze_at != 0) return false;
  qp.asleep = device.doze_posts;
  return true;
}

void carry_out_next(Qp& qp) {
  if (qp.now == IBV_QPS_ERR) return flush_one(qp);
  if (falls_asleep(qp)) return;
  if (reads_word(qp)) return;
  Send work = std::move(qp.sends.front());
  qp.sends.pop_front();
  const Result result = qp.qp_type == IBV_QPT_RC ? carry_out_rc(qp, work) : carry_out_ud(qp, work);
  if (result.status != IBV_WC_SUCCESS) fail(qp);
  if (work.is_signaled || result.status != IBV_WC_SUCCESS)
    complete_send(qp, work, result.status, result.bytes);
}

// Whether what it is to send next cannot be carried out yet. It must have something to send.
bool waits(const Qp& qp) { return qp.asleep > 0 || waits_for_receive(qp) || waits_for_device(qp); }

// One that can do something, whichever; null: none can.
Qp* pick() {
  std::vector<Qp*>& busy = state().busy;
  std::erase_if(busy, [](Qp* qp) { return !(qp->is_listed = has_work(*qp)); });
  if (busy.empty()) return nullptr;
  const std::size_t first = state().random() % busy.size();
  for (std::size_t i = 0; i < busy.size(); ++i) {
    Qp* const qp = busy[(first + i) % busy.size()];
    if (qp->now == IBV_QPS_ERR || !waits(*qp)) return qp;
  }
  return nullptr;
}

// Ends with the process that began it: nothing shall touch a program's memory once that goes.
class Wire {
 public:
  Wire() {
    std::thread([this] { run(); }).detach();
  }
  ~Wire() {
    if (process_ != ::getpid()) return;
    std::unique_lock lock(state().mutex);
    ends_ = true;
    state().changed.notify_all();
    state().changed.wait(lock, [this] { return has_ended_; });
  }

 private:
  void run() {
    std::unique_lock lock(state().mutex);
    while (!ends_) {
      Qp* const qp = pick();
      if (qp == nullptr) {
        state().changed.wait(lock);
        continue;
      }
      carry_out_next(*qp);
      lock.unlock();
      std::this_thread::yield();
      lock.lock();
    }
    has_ended_ = true;
    state().changed.notify_all();
  }

  const pid_t process_ = ::getpid();
  bool ends_ = false, has_ended_ = false;
};

}  // namespace

void start_wire() { static Wire wire; }

void wake_wire() { state().changed.notify_all(); }

void enlist(Qp& qp) {
  if (qp.is_listed || !has_work(qp)) return;
  qp.is_listed = true;
  state().busy.push_back(&qp);
}

void unlist(Qp& qp) {
  std::erase(state().busy, &qp);
  qp.is_listed = false;
}

void fail(Qp& qp) {
  qp.now = IBV_QPS_ERR;
  enlist(qp);
}

}  // namespace weft::fake_verbs
