// Service: what a PE does for the others by a thread of its own: it ties queue pairs to those who
// ask, and executes atomics on its memory.
//
// Orders. A request comes behind everything that its lane sent before; its atomic is executed with
// acquire and release, and the answer, a message, comes after it.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "host/transport/ib/datagrams.hpp"
#include "host/transport/ib/receives.hpp"
#include "src/base/unique_fd.hpp"

namespace weft::ib {

class Service {
 public:
  // Requests of one lane that may wait for an answer.
  static constexpr int kLaneRequests = 64;

  struct Work {
    // Gives the old value of an atomic.
    std::function<Status(const Request& request, int from, std::uint64_t* old)> execute;
    // What a PE replied to my ask().
    std::function<void(const Dial& reply)> replied;
  };
  static Result<std::unique_ptr<Service>> create(const Port& port, int pe, Work work);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  std::uint32_t dial_qp() const { return datagrams_->number(); }
  // All addresses are known.
  void start(std::vector<PeAddress> peers);
  // Asks a PE for a queue pair that is tied to `qp` of mine; may be lost, so ask again. By any
  // thread.
  Status ask(int pe, std::uint32_t lane, std::uint32_t qp, std::uint32_t psn);

 private:
  // The end here of another PE's lane.
  struct Served {
    Handle<ibv_qp> qp = no_handle<ibv_qp>();
    int pe = 0;
    std::uint32_t theirs = 0;
    std::uint32_t psn = 0;
    int answers = 0;  // under way
  };
  using Name = std::pair<int, std::uint32_t>;  // PE and lane

  Service(const Port& port, int pe, Work work) : port_(port), pe_(pe), work_(std::move(work)) {}
  Status open();
  void run();
  void sleep();
  bool drain();
  void take(const ibv_wc& done);
  void take_dial(const ibv_wc& done);
  bool take_request(const ibv_wc& done);
  void take_sent(const ibv_wc& done);
  void serve(const Dial& ask);
  Status tie_to(const Dial& ask, Served& served) const;
  void answer(Served& served, const Answer& answer);
  void drop(std::uint32_t qp);
  void look_at_events();

  const Port& port_;
  const int pe_;
  const Work work_;
  std::vector<PeAddress> peers_;
  Handle<ibv_comp_channel> channel_ = no_handle<ibv_comp_channel>();
  Handle<ibv_cq> done_ = no_handle<ibv_cq>();
  Receives requests_;
  std::unique_ptr<Datagrams> datagrams_;

  // Of the thread.
  std::map<Name, std::unique_ptr<Served>> served_;
  std::unordered_map<std::uint32_t, Served*> by_qp_;
  std::deque<ibv_wc> waiting_;  // until answers are on their way
  int answers_ = 0;             // under way

  UniqueFd wake_;
  std::atomic<bool> stops_{false};
  std::thread thread_;
};

}  // namespace weft::ib
