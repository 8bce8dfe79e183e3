// LaneQueue: one lane of every transport, seen as one queue. A Context has one for its host calls,
// the proxy one for each device ring.
//
// post, flush and take_error: by the lane's owner, one thread at a time. progress: by any thread
// (the proxy drives the lanes of transports that do not move by themselves).
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include <weft/status.hpp>

#include "host/transport/routes.hpp"

namespace weft {

class LaneQueue {
 public:
  // Names one posted op: complete once its transport has completed `count` ops of the lane.
  struct Ticket {
    std::uint32_t transport = 0;
    std::uint64_t count = 0;
  };

  LaneQueue(const Routes& routes, Lane lane);

  // kBusy: not taken yet; progress() and again with the same op. Any other error: refused for good.
  // A kFence to kAllPes goes to every transport; what is larger than a transport takes at once goes
  // in pieces, the notify with the last.
  Status post(const Op& op, Ticket* ticket = nullptr);
  // The caller will not come again with the op that was answered kBusy: its pieces that were taken
  // stay taken, the rest is dropped.
  void mark_failed();
  // Moves what is outstanding. A failure is kept for take_error().
  void progress();
  // The same of those that want it, as wants_progress() says; whether there were any.
  bool move_on();
  // How often these were called, but for calls at the same time: whether others do.
  std::uint64_t rounds() const { return rounds_.load(std::memory_order_relaxed); }
  // Somebody waits for everything posted so far. Does not wait.
  void flush();

  bool done(Ticket ticket) const;
  bool all_done() const;        // everything posted is complete
  bool all_done(int pe) const;  // at least everything posted to `pe` is complete
  std::uint64_t outstanding() const;
  // "3 operations of lane 0 are not complete", and which is the oldest, where that is known.
  std::string describe_outstanding() const;
  // True if something is outstanding that moves only by progress().
  bool needs_progress() const;
  // True if who waits, for these or for what others send, is to call progress() meanwhile.
  bool wants_progress() const;

  // The first failure since the last call; quiet() returns it.
  Status take_error();
  Lane lane() const { return lane_; }

 private:
  // A transport by which some PE is reached, and what its Caps say of progress().
  struct Used {
    std::uint32_t index;
    bool needs_progress, moves_sooner;
  };

  bool done_up_to(std::size_t transport) const;
  bool needs_progress(const Used& each) const;
  bool wants_progress(const Used& each) const;
  void keep(Status status);
  // post() but for forgetting, at the end, how far it came.
  Status post_parts(const Op& op, Ticket* ticket);
  Status post_one(std::uint32_t transport, const Op& op, Ticket* ticket);
  Status wait_for_split();
  Status post_fence_to_all(const Op& op, Ticket* ticket);
  Status post_pieces(std::uint32_t transport, const Op& op, Ticket* ticket);

  const Routes& routes_;
  Lane lane_;
  std::vector<Used> used_;
  std::vector<std::atomic<std::uint64_t>> posted_;  // per transport; written by the owner
  // Where an op of several posts is when kBusy interrupts it.
  std::uint32_t fenced_ = 0;    // of used_, that a fence to all has reached
  std::uint64_t sent_ = 0;      // bytes of an op in pieces
  bool split_ = false;          // since the last fence ops to PEs that two transports serve
  bool pieces_fenced_ = false;  // and its last piece is ordered behind them
  std::atomic<std::uint64_t> rounds_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  Status error_;  // guarded by mutex_
};

}  // namespace weft
