// IbLane: one lane. A way to each PE that it has spoken to, and the ops that are under way.
//
// Orders. All that a lane sends to a PE goes by one queue pair, whose writes, requests and atomics
// take effect there in the order in which they were posted; so a put's notify follows its bytes.
// The exceptions: a request is only brought in order, its owner executes it a little later, so a
// fence holds writes back until the requests before it are answered; and a device may overtake its
// own atomics with what comes next, so that is marked to wait for them. An op is complete when its
// bytes are in the target's memory, or its answer is here; so quiet waits for no more than that.
//
// Rails. What has the size of a piece, into which larger transfers are cut, goes by the rails in
// turn: transfers are in no order among themselves. All else goes by the main one. A fence holds
// back what comes after it until pieces on other rails are complete; and what comes after it goes
// by the main one as long as anything before it is under way. So the notify of a large put, which
// has a fence before it, follows its pieces.
//
// Failure. When a path fails and there is another, the other end is told to take nothing from it
// any more and says what it has taken. Then what was not taken goes by the other path, in its
// order, before anything new does: so nothing is lost, nothing overtakes, and nothing takes effect
// twice. Requests carry a sequence, by which their owner knows those that it has executed. An
// atomic of the device whose old value was lost on the way fails. Where the device of the other end
// does not tell what it took, puts are repeated, and its atomics fail.
//
// Atomics of the owner's device (WEFT_IB_ATOMICS=nic). Those of 64 bits go by the first rail, and
// nothing else of theirs does when that fails: another device would not be atomic with it. What the
// device does not know is done by compare-and-swap here: each brings what is there, from which the
// next is made, until one holds. Such an op is under way until then. A fence holds back what comes
// next until atomics are complete, by no mark for the device: it does not know of loops, and
// soft-RoCE has been seen to wait for ever at such a mark. And atomics on a word whose loop goes on
// wait, so that those of one lane keep their order.
//
// Panes. What is for GPU memory that no device reaches goes into a pane of its owner's, and a
// request behind it has the owner copy; what is got is read out of the pane once the owner has
// answered. A pane is this lane's until then, whatever paths fail meanwhile.
//
// Silence. An op that is under way for a second has its device's doorbell rung again, by an empty
// write, or by its request once more, which its owner does not execute twice. The write fails if
// the way is gone while nothing else of mine is there to find out. And a device may sleep over its
// queue: soft-RoCE's looks whether too many packets are on their way, or whether a fence is open,
// and only then marks that it waits for that (Linux 6.1, rxe_requester). It does not notice events
// between the two, no timer runs, and nothing but the next doorbell wakes it, here or at the owner,
// whose answer is in such a queue.
//
// Few doorbells. Small puts whose source stays are held until there are several, or something else
// is posted there, or somebody waits or lets the lane progress: nobody is promised to see them
// before.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "host/transport/ib/path.hpp"
#include "host/transport/ib/rails.hpp"
#include "host/transport/network/flights.hpp"
#include "host/transport/network/heaps.hpp"
#include "host/transport/network/own_memory.hpp"
#include "host/transport/network/staging.hpp"
#include "host/transport/network/windows.hpp"

namespace weft::ib {

using network::Heaps;
using network::Staging;
using network::Windows;

// The failed ports to PEs that have been reported: lanes find out one after the other.
class Told {
 public:
  bool is_news(int pe, std::size_t rail) {
    const std::lock_guard lock(mutex_);
    return known_.insert({pe, rail}).second;
  }

 private:
  std::mutex mutex_;
  std::set<std::pair<int, std::size_t>> known_;
};

// All lanes of a PE share this.
struct LaneEnv {
  const Rails* rails = nullptr;
  const std::vector<PeAddress>* peers = nullptr;
  const Heaps* heaps = nullptr;
  network::OwnMemory own;
  Windows* windows = nullptr;
  Service* service = nullptr;
  Staging* staging = nullptr;
  Told* told = nullptr;
  bool native_atomics =
      true;                   // of devices that say so; not on memory of GPUs, of which they do not
  bool owns_atomics = false;  // the devices of the owners' first rails execute all of 64 bits
  double dial_timeout = 0;    // seconds
};

class IbLane {
 public:
  IbLane(const LaneEnv& env, std::uint32_t number) : env_(env), number_(number) {}

  Status post(const Op& op);
  // The first failure since the last call.
  Status progress();
  void flush();
  std::uint64_t completed() const { return flights_.completed(); }
  // The op that has been under way for longest and how far it is, for people; "" if there is none.
  std::string oldest() const;
  // A peer's reply to a request for a queue pair.
  void replied(const Dial& reply, std::size_t rail);

 private:
  struct Link {
    int pe = 0;
    std::vector<std::unique_ptr<Path>> paths;  // by rail
    std::size_t main = 0;                      // which of them all goes by but pieces,
    std::size_t next = 0;                      // and that of the next piece
    bool native = false;                       // by all of them devices do atomics
    bool moving = false;                       // away from a path that has failed
    std::string lost;                          // the paths that have
    std::uint64_t sequence = 0;                // of the last request
    Status broken;                             // why nothing goes there any more
    int requests = 0;                          // not answered yet
    int natives = 0;                           // atomics of the device that are under way,
    int loops = 0;                             // and of these, in several steps
    int apart = 0;                             // pieces on other rails that are
    std::uint64_t fenced_at = 0;               // flights before the last fence
    bool fenced = false;                       // what comes next waits for requests and pieces
    Path& main_path() const { return *paths[main]; }
  };
  // An op that was taken.
  struct Flight {
    Op op;
    Link* link = nullptr;
    Path* path = nullptr;
    bool apart = false;      // on another rail than the first
    bool native = false;     // the device does its atomic,
    bool loops = false;      // in steps, of which the last
    bool repeats = false;    // has not held: the next is to go
    std::uint64_t seen = 0;  // what the word is compared with
    int sending = 0;         // times that work of it went out and is not known to be done
    bool asking = false;     // nor has the answer come
    bool by_pane = false;    // its bytes pass a window of the owner's, who copies them:
    int pane = Windows::kNoPane;
    bool reading = false;        // out of that pane: the answer has come
    bool again = false;          // its path has failed: it is to go by another,
    bool is_there = false;       // without its bytes, which are there
    std::uint64_t sequence = 0;  // of its request; 0: it needs none
    bool is_small = false;       // its bytes are these:
    std::array<std::byte, kInlineBytes> small{};
    Staging::Room room = {};  // or pass here; so does an old value
    bool is_done() const { return sending == 0 && !asking && !again && !repeats; }
  };

  Status open();
  Link& link_to(int pe);
  Status make_ready(Link& link);
  Status post_fence(const Op& op);
  Status post_on(Link& link, const Op& op);
  Status prepare(Flight& flight);
  bool is_native(const Link& link, const Op& op) const;
  Status check_native(const Link& link, const Flight& flight) const;
  Path& path_of_piece(Link& link);
  Status find_target(const Flight& flight);
  Status find(const Flight& flight, std::uint64_t offset, std::uint64_t bytes,
              std::vector<Heaps::There>& parts) const;
  Status take_local(Flight& flight) const;
  Status stage(Flight& flight, std::uint64_t bytes) const;
  Status make_room(const Flight& flight, int sends);
  Status make_room_for_request();
  Piece mine(const Flight& flight) const;
  Piece old_value(const Flight& flight) const;
  Request request_of(const Flight& flight, std::uint64_t number) const;
  void build(const Flight& flight, std::uint64_t number);
  void send(const Flight& taken);
  void give(Flight& flight, std::uint64_t number, WorkList& work);
  void ring(Path& path);
  void ring_all();

  void retire();
  void poll();
  void poll(LanePort& port);
  void take(LanePort& port, const ibv_wc& done);
  void sent(Flight& flight);
  void settle(Flight& flight);
  static bool has_held(Flight& flight);
  void go_on();
  void bring(Flight& flight);
  void leave_pane(Flight& flight, std::uint64_t number, bool is_well);
  void read_pane(Flight& flight, std::uint64_t number);
  void take_answer(LanePort& port, const ibv_wc& done);
  bool owes_atomics(const Link& link) const { return env_.owns_atomics && link.natives > 0; }
  bool holds_back(const Link& link) const {
    return link.requests > 0 || link.apart > 0 || owes_atomics(link);
  }
  void lift_fence(Link& link) const;
  void look_for_silence();
  static std::string how_far(const Flight& flight);
  void ask_again(Flight& flight, std::uint64_t number);
  Status cause(const Path& path, const ibv_wc& done) const;

  void note(Status failure);
  void fail(Path& path, Status why);
  static Path* another(const Link& link);
  Status move(Link& link);
  void ended(Path& path, const Dial& reply);
  void judge(Flight& flight, Path::Fate fate);
  std::string_view fate_of_native(const Flight& flight, Path::Fate fate) const;
  void lose(Flight& flight, std::string_view how);
  Status send_again(Link& link);
  Status send_again(Flight& flight, std::uint64_t number);
  void end(Flight& flight);
  void break_off(Link& link, Status why);

  const LaneEnv env_;
  const std::uint32_t number_;
  mutable std::mutex mutex_;                      // of all but completed()
  std::vector<std::unique_ptr<LanePort>> ports_;  // by rail
  std::vector<std::unique_ptr<Link>> links_;      // by PE; null: not spoken to yet
  network::Flights<Flight> flights_;
  std::vector<Heaps::There> parts_, word_;  // of the op that is being posted
  WorkList work_;                           // likewise
  Request request_;                         // likewise
  std::vector<Path*> holding_;              // who hold something
  std::vector<Link*> moving_;               // whose path has failed
  std::vector<std::uint64_t> repeating_;    // flights whose next step is to go
  int requests_ = 0;                        // without answers on all links
  // The first flight that is not over, looks at it, and since when it is that (0: not known yet).
  std::uint64_t oldest_ = 0, looks_ = 0, since_ns_ = 0;
  Status error_;
};

}  // namespace weft::ib
