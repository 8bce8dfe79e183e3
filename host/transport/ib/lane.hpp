// IbLane: one lane. A completion queue, a queue pair to each PE that it has spoken to, and the ops
// that are under way.
//
// Orders. All that a lane sends to a PE goes by one queue pair, whose writes and requests take
// effect there in the order in which they were posted; so a put's notify follows its bytes. The
// exception: a request is only brought in order, its owner executes it a little later. A fence
// holds writes back until the requests before it are answered. An op is complete when its bytes
// are in the target's memory, or its answer is here; so quiet waits for no more than that.
//
// Few doorbells. Small puts whose source stays are held until there are several, or something else
// is posted there, or somebody waits or lets the lane progress: nobody is promised to see them
// before. The device gets them at once and tells of the last one only, which is that of all.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "host/transport/ib/messages.hpp"
#include "host/transport/ib/receives.hpp"
#include "host/transport/network/flights.hpp"
#include "host/transport/network/heaps.hpp"
#include "host/transport/network/own_memory.hpp"
#include "host/transport/network/staging.hpp"
#include "host/transport/network/windows.hpp"
#include "src/base/clock.hpp"

namespace weft::ib {

class Service;
using network::Heaps;
using network::Staging;
using network::Windows;

// What all lanes of a PE share.
struct LaneEnv {
  const Port* port = nullptr;
  const std::vector<PeAddress>* peers = nullptr;
  const Heaps* heaps = nullptr;
  network::OwnMemory own;
  Windows* windows = nullptr;
  Service* service = nullptr;
  Staging* staging = nullptr;
  double dial_timeout = 0;  // seconds
};

class IbLane {
 public:
  IbLane(const LaneEnv& env, std::uint32_t number) : env_(env), number_(number) {}

  Status post(const Op& op);
  // The first failure since the last call.
  Status progress();
  void flush();
  std::uint64_t completed() const { return flights_.completed(); }
  // A peer's reply to a request for a queue pair.
  void replied(const Dial& reply);

 private:
  enum class State { kAsks, kReady, kBroken };
  // A work request and its bytes.
  struct Work {
    ibv_send_wr request;
    ibv_sge bytes;
  };
  struct Link {
    Handle<ibv_qp> qp = no_handle<ibv_qp>();
    int pe = 0;
    State state = State::kAsks;
    std::uint32_t psn = 0;
    std::uint64_t ask_at_ns = 0, pause_ns = 0;
    Deadline deadline = Deadline::never();
    Status broken;                      // why
    int sends = 0;                      // work requests under way or held
    std::vector<Work> held;             // not handed to the device yet
    std::deque<std::uint64_t> sending;  // flights with work requests, in order
    int requests = 0;                   // not answered yet
    bool fenced = false;                // what is written waits for them
    bool refused = false;               // the peer could not make its end
  };
  // An op that was taken.
  struct Flight {
    Op op;
    Link* link = nullptr;
    int sends = 0;            // work requests
    bool sending = false;     // which are not known to be done
    bool asking = false;      // nor has the answer
    bool reading = false;     // nor has what lies in the pane
    Staging::Room room = {};  // of a get: its bytes are brought there first
    int pane = Windows::kNoPane;
    bool is_done() const { return !sending && !asking && !reading; }
  };

  // My bytes of an op, as the device takes them.
  struct Local {
    std::uint64_t address = 0;
    std::uint64_t key = 0;
    bool is_inline = false;
    Staging::Room room = {};
  };

  Status open();
  Link& link_to(int pe);
  Status make_ready(Link& link);
  Status ask(Link& link);
  Status post_fence(const Op& op);
  Status post_write(Link& link, const Op& op);
  Status post_read(Link& link, const Op& op);
  Status post_request(Link& link, const Op& op);
  Status post_by_pane(Link& link, const Op& op);
  Result<Local> fill_pane(const Op& op, int pane);
  Request request_of(const Op& op) const;
  Result<Local> source_of(const Op& op) const;
  Result<Local> target_of(const Op& op) const;
  Result<Local> stage(const Op& op) const;
  Status find(const Op& op, std::uint64_t offset, std::uint64_t bytes);
  // Makes work of what find() found, one part after the other.
  void add_transfers(ibv_wr_opcode opcode, Local local);
  static Work transfer_of(ibv_wr_opcode opcode, const Local& local, const Heaps::There& part);
  void add_message(const Request& request);
  Status make_room(Link& link, int sends);
  Status make_room_for_request(Link& link);
  void send(Link& link, const Flight& flight);
  void ring(Link& link);
  void ring_all();

  void poll();
  void take(const ibv_wc& done);
  void sent(Link& link, Flight& flight);
  void take_answer(const ibv_wc& done);
  void leave_pane(std::uint64_t number, bool is_well);
  void read_pane(std::uint64_t number);
  void take_pane(std::uint64_t number);
  void fail(Status why);
  void bring(const Flight& flight);
  void break_off(Link& link, Status why);
  Status cause(const Link& link, const ibv_wc& done) const;

  const LaneEnv env_;
  const std::uint32_t number_;
  std::mutex mutex_;  // of all but completed()
  Handle<ibv_cq> done_ = no_handle<ibv_cq>();
  Receives answers_;
  std::vector<std::unique_ptr<Link>> links_;  // by PE; null: not spoken to yet
  std::unordered_map<std::uint32_t, Link*> by_qp_;
  network::Flights<Flight> flights_;
  std::vector<Heaps::There> parts_;  // of the op that is being posted
  std::vector<Work> work_;           // likewise
  std::vector<Link*> holding_;       // who hold something
  int sends_ = 0;                    // under way on all links
  int requests_ = 0;                 // without answers on all links
  Status error_;
};

}  // namespace weft::ib
