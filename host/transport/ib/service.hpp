// Service: what a PE does for the others by a thread of its own: it connects queue pairs to those
// who ask, and executes atomics on its memory.
//
// Orders. A request comes behind everything that its lane sent before; its atomic is executed with
// acquire and release, and the answer, a message, comes after it. A lane's requests are executed in
// the order of their sequence, each once, whatever rails they come by: one thread does it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "host/transport/ib/service_endpoint.hpp"
#include "host/transport/network/service_thread.hpp"

namespace weft::ib {

class Service {
 public:
  struct Work {
    // Gives the old value of an atomic.
    std::function<Status(const Request& request, int from, std::uint64_t* old)> execute;
    // Takes a PE's reply to my ask() by that rail.
    std::function<void(const ConnectMessage& reply, std::size_t rail)> replied;
  };
  static Result<std::unique_ptr<Service>> create(std::span<const Port> ports, int pe, Work work);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // How others find it, rail by rail.
  std::vector<ServiceAddress> addresses() const;
  // All addresses are known.
  Status start(std::vector<PeAddress> peers);
  // Asks a PE for a queue pair that is connected to `qp` of mine, on that rail; may be lost, so ask
  // again. By any thread.
  Status ask(std::size_t rail, int pe, std::uint32_t lane, std::uint32_t qp, std::uint32_t psn);
  // Asks it, by that rail, to end what `qp` of mine is connected to on another, and to say how far
  // it came; likewise.
  Status ask_end(std::size_t rail, int pe, std::uint32_t lane, std::size_t failed, std::uint32_t qp,
                 std::uint32_t psn);

 private:
  using Name = std::pair<int, std::uint32_t>;  // PE and lane
  struct Heard {
    ServiceEndpoint* endpoint;
    ibv_wc wc;
  };

  ConnectMessage message_to(int pe, ConnectMessage::Kind kind, std::uint32_t lane,
                            std::uint32_t asked) const;
  Service(int pe, Work work) : pe_(pe), work_(std::move(work)) {}
  Status open(std::span<const Port> ports);
  void run();
  void sleep();
  bool drain();
  static void look_at_events(const Port& port);
  void take(ServiceEndpoint& endpoint, const ibv_wc& done);
  void take_connect_message(ServiceEndpoint& endpoint, const ibv_wc& done);
  void serve(ServiceEndpoint& endpoint, const ConnectMessage& ask);
  void end(ServiceEndpoint& endpoint, const ConnectMessage& ask);
  void reply(const ServiceEndpoint& endpoint, int pe, const ConnectMessage& message) const;
  Status connect_to(const ServiceEndpoint& endpoint, const ConnectMessage& ask,
                    Served& served) const;
  // Requests.
  bool take_request(const Heard& heard);
  static void answer(ServiceEndpoint& endpoint, Served& served, const Answer& answer);
  static void take_sent(ServiceEndpoint& endpoint, const ibv_wc& done);
  static void drop(ServiceEndpoint& endpoint, std::uint32_t qp);

  const int pe_;
  const Work work_;
  std::vector<PeAddress> peers_;
  std::vector<std::unique_ptr<ServiceEndpoint>> endpoints_;  // by rail

  // The thread alone uses these.
  std::map<Name, Caller> callers_;
  std::deque<Heard> waiting_;  // requests, until answers are on their way

  ServiceThread thread_;
};

}  // namespace weft::ib
