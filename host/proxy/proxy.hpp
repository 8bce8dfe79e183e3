// Proxy: carries out what kernels cannot do themselves. step() drains the device rings into the
// transports and prints fault records; the thread is a loop around step(), so tests drive it
// without a thread or a clock.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include <weft/dev/state.hpp>
#include <weft/options.hpp>
#include <weft/result.hpp>

#include "host/proxy/backoff.hpp"
#include "host/proxy/device_ring.hpp"
#include "host/proxy/fault_report.hpp"
#include "host/transport/lane_queue.hpp"
#include "host/transport/routes.hpp"
#include "src/base/thread.hpp"
#include "src/platform/platform.hpp"

namespace weft {

class Proxy {
 public:
  struct Config {
    Platform* platform = nullptr;
    const Routes* routes = nullptr;       // of lanes of host operations; outlives the proxy
    const Routes* ring_routes = nullptr;  // of rings; null: the same
    const Options* options = nullptr;
    int pe = 0;
    std::uint64_t heap_bytes = 0;
    LastWriter last_writer;                                    // may be empty
    std::function<Status(std::uint64_t now_ns)> look_further;  // for more failures; may be empty
    std::function<Status()> end;  // how the job has ended, if it has; may be empty
    std::function<void(const Status&)> on_failure;  // called once, with the first; may be empty
  };

  static Result<std::unique_ptr<Proxy>> create(Config config);
  ~Proxy();

  // The record that kernels of this PE share.
  FaultRecord* fault() const { return fault_; }
  // The ring of context `context`. Made when first asked for; a later context of the same number
  // takes it over, so a view stays good as long as the proxy lives.
  Result<RingView> open_ring(int context);

  // Also moves `lane`, a context's queue of host operations, while it has something outstanding
  // that only progress() moves and its owner leaves that alone: to one who waits, and moves it
  // himself, a second thread on his core is in the way. Until release(), which waits for a running
  // step to end.
  void drive(LaneQueue* lane);
  void release(LaneQueue* lane);

  // One round over everything. True if something moved.
  bool step(std::uint64_t now_ns);

  Status start();  // does nothing if the thread runs
  void stop();     // prompt; the destructor calls it
  bool is_running() const;

  // The first failure of a kernel or of one of its operations; ok as long as there is none. Knows
  // all about kernels that have ended.
  Status health();

 private:
  static constexpr int kMostPrinted = 20;
  struct Driven {
    LaneQueue* lane;
    std::uint64_t rounds;  // of its progress() at the last look
    bool carry_on();
  };

  explicit Proxy(Config config);
  Status allocate();
  void run();
  bool pause(Backoff::Pause length);
  void nudge();
  bool is_needed() const;
  Status look_at_fault();  // under mutex_
  bool reports_only(const FaultRecord& record, const Status& described);
  void note(const Status& failure);  // under mutex_: the first one stays
  void tell(const Status& failure);

  const Config config_;
  DeviceRing::Limits limits_;
  Memory fault_memory_;
  FaultRecord* fault_ = nullptr;

  mutable std::mutex mutex_;  // guards the four below
  std::vector<std::unique_ptr<DeviceRing>> rings_;
  std::vector<Driven> driven_;
  bool carries_on_ = false;  // what an owner leaves alone
  Status health_;

  std::atomic<int> failures_{0};
  std::atomic<bool> told_{false};

  mutable std::mutex thread_mutex_;  // guards the four below
  std::condition_variable wake_;
  std::atomic<bool> stop_{false};  // also read without: looks that do not sleep take no lock
  bool nudged_ = false;
  Thread thread_;
};

}  // namespace weft
