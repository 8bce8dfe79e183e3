// OfiLane: one lane. The ops that are under way, by PE.
//
// Orders. A put of few bytes, its notify and every atomic are requests, which their owner executes
// one after the other as they come; larger puts and gets are transfers of the provider's. A notify
// of a transfer is a request that is sent behind it where the provider keeps the order of the two,
// else when the transfer is complete. A fence holds back what the provider might bring too early:
// until all that is under way to that PE is complete. A transfer is complete when its bytes are in
// the memory of the target, a request when it is answered; so quiet waits for no more than that.
//
// Few messages. Small puts whose source stays are held until there are several, or something else
// is posted there, or somebody waits or lets the lane progress: nobody is promised to see them
// before. They travel in one message.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <variant>
#include <vector>

#include "host/transport/network/in_flight.hpp"
#include "host/transport/network/heaps.hpp"
#include "host/transport/network/own_memory.hpp"
#include "host/transport/network/windows.hpp"
#include "host/transport/ofi/endpoint.hpp"

namespace weft::ofi {

using network::Heaps;
using network::Windows;

// All lanes of a PE share this.
struct LaneEnv {
  Endpoint* endpoint = nullptr;
  const std::vector<network::Peer>* peers = nullptr;
  const Heaps* heaps = nullptr;
  network::OwnMemory own;
  Windows* windows = nullptr;
  Staging* staging = nullptr;
  double timeout = 0;  // seconds of silence; 0: for ever
};

class OfiLane {
 public:
  OfiLane(const LaneEnv& env, std::uint32_t number) : env_(env), number_(number) {}

  Status post(const Op& op);
  // Tries again what the provider did not take.
  void push();
  // Sends what is held.
  void flush();
  // By the lane's owner: brings what has come from others where it belongs, and returns the first
  // failure since the last call.
  Status progress();
  std::uint64_t completed() const { return in_flight_.completed(); }

  // By whoever polls the endpoint, who holds no lock.
  void take(const Event& event);
  void lose(int pe, std::string_view why);
  // By the service, from time to time: cuts off PEs that have been silent for too long.
  void look_at_clock(std::uint64_t now_ns);
  bool is_stalled() const { return stalled_.load(std::memory_order_relaxed); }

 private:
  // One call of the provider's. A batch may wait for the transfers of the last op in it.
  struct Step {
    std::uint64_t flight = 0;
    std::variant<Transfer, MessageBatch*> what;
    bool after_transfers = false;
  };
  struct Link {
    int pe = 0;
    Status broken;                 // not ok: cut off, and why
    std::deque<Step> steps;        // not done yet
    MessageBatch* held = nullptr;  // with requests that may wait for more
    bool stalled = false;          // the provider did not take the first of them
    int transfers = 0;             // not complete
    int requests = 0;              // not answered
    std::uint64_t busy_since = 0;
    // Behind a fence, until nothing is under way:
    bool holds_requests = false, holds_writes = false, holds_reads = false;
    int under_way() const { return transfers + requests; }
  };
  // An op that was taken.
  struct InFlight {
    Op op;
    Link* link = nullptr;
    int transfers = 0;
    bool asking = false;
    int staging_slot = Windows::kNoStagingSlot;
    Staging::Block block = {};  // for what the owner puts into the staging slot
    bool is_done() const { return transfers == 0 && !asking; }
  };

  Status post_fence(const Op& op);
  Link& link_to(int pe);
  bool is_request(const Op& op) const;
  bool is_held(const Link& link, const Op& op) const;
  bool goes_by_staging_slot(const Op& op) const;
  Status prepare(InFlight& flight, std::vector<Transfer>& transfers) const;
  Status add_transfers(const Op& op, const std::vector<Heaps::There>& parts,
                       std::vector<Transfer>& transfers) const;
  Status take_block(std::uint64_t bytes, Staging::Block& block) const;
  Status stage(const Op& op, Transfer& transfer, std::byte* mine) const;
  void give(const Staging::Block& block) const;
  void give_back(const InFlight& flight, const std::vector<Transfer>& transfers) const;
  Request request_of(const InFlight& flight) const;
  Status hold(Link& link, const InFlight& flight);
  void ring_all();
  void ring(Link& link, std::uint64_t flight, bool after_transfers);
  void launch(const InFlight& taken, const std::vector<Transfer>& transfers);
  void advance(Link& link);
  bool take_step(Link& link, Step& step);
  void finish(const Event& event);
  void take_transfer(const Event& event);
  void take_answer(const Event& event);
  void take_answer_to(std::uint64_t ticket, const Answer& answer, std::string_view why);
  void bring_word(const Op& op, std::uint64_t word);
  void leave_staging_slot(std::uint64_t number, bool is_well);
  void fail(Status why);
  void settle(Link& link);
  void retire();
  void break_off(Link& link, Status why);
  void break_if_busy(Link& link, std::string_view why);
  Status lost(const Link& link, const Op* op, std::string_view why) const;

  const LaneEnv env_;
  const std::uint32_t number_;
  std::mutex mutex_;                          // of all but completed() and is_stalled()
  std::vector<std::unique_ptr<Link>> links_;  // by PE; null: not spoken to yet
  network::InFlightQueue<InFlight> in_flight_;
  int requests_ = 0;  // not answered, on all links
  Status error_;
  std::atomic<bool> stalled_{false};  // some link is
  std::vector<Event> arrived_;        // that write into memory of the owner's, who may have left it
  std::vector<Link*> holding_;        // who hold something
};

}  // namespace weft::ofi
