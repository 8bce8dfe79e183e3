// DeviceRing: the host's end of one device-to-host ring. Takes records, posts them, and says in
// order what has been taken and what is complete. Owned and stepped by the proxy.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include <weft/dev/state.hpp>
#include <weft/result.hpp>

#include "host/transport/lane_queue.hpp"
#include "src/platform/platform.hpp"

namespace weft {

class DeviceRing {
 public:
  struct Limits {
    std::uint64_t capacity = 1024;  // rounded up to a power of two
    int batch = 32;                 // most records that one step takes
    std::uint64_t deadline_ns =
        0;  // of a record that cannot be posted or does not complete; 0: none
  };

  static Result<std::unique_ptr<DeviceRing>> create(Platform& platform, const Routes& routes,
                                                    Lane lane, const Limits& limits);

  Lane lane() const { return queue_.lane(); }
  const RingView& view() const { return view_; }

  // True if anything moved. The first failure goes to `failure`, if that is still ok; a record that
  // fails counts as complete, so that kernels end.
  bool step(std::uint64_t now_ns, Status& failure);

 private:
  struct InFlight {
    Op op;  // for messages
    LaneQueue::Ticket ticket;
    bool refused = false;  // never posted
  };

  DeviceRing(const Routes& routes, Lane lane, const Limits& limits);
  Status allocate(Platform& platform);
  bool next_record();
  bool take(std::uint64_t now_ns, Status& failure);
  bool post_next(std::uint64_t now_ns, Status& failure);
  bool publish(std::uint64_t now_ns);
  void check_deadline(std::uint64_t now_ns, Status& failure);
  bool past_deadline(std::uint64_t since_ns, std::uint64_t now_ns) const;
  Status located(const Status& status, std::uint64_t record) const;

  LaneQueue queue_;
  const Limits limits_;
  Memory memory_;
  RingView view_;
  std::uint64_t taken_ = 0;  // records posted or refused
  std::uint64_t completed_ = 0;
  std::optional<Op> next_;        // popped, not yet posted
  std::uint64_t busy_since_ = 0;  // when next_ was first refused with kBusy; 0: was not
  std::deque<InFlight> in_flight_;
  std::uint64_t front_since_ = 0;  // since when in_flight_.front() is the first
  bool front_reported_ = false;
};

}  // namespace weft
