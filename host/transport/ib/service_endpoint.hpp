// ServiceEndpoint: the service of a PE at one port. It gets the requests of other PEs, and the
// completions of answers.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "host/transport/ib/datagram_wireup.hpp"
#include "host/transport/ib/receive_queue.hpp"

namespace weft::ib {

// Requests of one lane that may wait for an answer.
inline constexpr int kLaneRequests = 64;

struct Caller;

// The end here of another PE's lane.
struct Served {
  Handle<ibv_qp> qp = no_handle<ibv_qp>();
  std::uint32_t theirs = 0;
  std::uint32_t psn = 0;
  Caller* caller = nullptr;
  int answers = 0;  // under way
  bool has_ended = false;
};

// A lane of another PE: my ends of its queue pairs, and what its latest requests were answered. One
// that comes again, by another rail, since the answer was lost, hears the same.
struct Caller {
  int pe = 0;
  std::array<std::unique_ptr<Served>, network::kMostRails> ends;  // by rail; null: not asked for
  std::uint64_t executed = 0;                                     // up to that sequence
  std::array<Answer, kLaneRequests> answers;
  Answer& answer_to(std::uint64_t sequence) { return answers[sequence % kLaneRequests]; }
};

struct ServiceEndpoint {
  // wr_ids: datagrams, requests, answers sent.
  static constexpr std::uint64_t kConnectMessages = 0, kRequests = std::uint64_t{1} << 32,
                                 kSent = std::uint64_t{2} << 32;
  // Requests of all lanes of all PEs; the network holds more back.
  static constexpr int kReceives = 1024;
  static constexpr int kAnswers = 1024;  // under way
  static constexpr std::size_t kRequestBytes = 64;
  static_assert(sizeof(Request) <= kRequestBytes);

  static Result<std::unique_ptr<ServiceEndpoint>> open(const Port& port, std::size_t rail) {
    auto made = std::make_unique<ServiceEndpoint>(ServiceEndpoint{.port = port, .rail = rail});
    const Verbs& verbs = port.verbs();
    ASSIGN_OR_RETURN(made->channel,
                     owned([&] { return verbs.create_comp_channel(port.context()); },
                           verbs.destroy_comp_channel, "make a completion channel", port.name()));
    ASSIGN_OR_RETURN(
        made->done, port.make_cq(kReceives + kAnswers + Datagrams::kReceives, made->channel.get()));
    ASSIGN_OR_RETURN(made->requests, ReceiveQueue::make(port, kReceives, kRequestBytes, kRequests));
    ASSIGN_OR_RETURN(made->datagrams,
                     Datagrams::create(port, rail, made->done.get(), kConnectMessages));
    return made;
  }

  const Port& port;
  const std::size_t rail;
  Handle<ibv_comp_channel> channel = no_handle<ibv_comp_channel>();
  Handle<ibv_cq> done = no_handle<ibv_cq>();
  ReceiveQueue requests = {};
  std::unique_ptr<Datagrams> datagrams = nullptr;
  std::unordered_map<std::uint32_t, Served*> by_qp = {};
  int answers = 0;  // under way
};

}  // namespace weft::ib
