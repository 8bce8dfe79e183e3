// LanePort: what a lane has at one port for all PEs: where it hears what is done, and where answers
// come in.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "host/transport/ib/receive_queue.hpp"
#include "host/transport/ib/service.hpp"

namespace weft::ib {

class QueuePair;

struct LanePort {
  static constexpr int kSends = 1024;  // work requests under way,
  static constexpr int kProbes = 8;    // and so many empty ones beyond them
  // wr_ids: places of answers, or numbers of ops in flight.
  static constexpr std::uint64_t kAnswers = std::uint64_t{1} << 63;

  static Result<std::unique_ptr<LanePort>> open(const Port& port, std::size_t rail) {
    constexpr std::size_t kAnswerBytes = 128;
    static_assert(sizeof(Answer) <= kAnswerBytes);
    auto made = std::make_unique<LanePort>(LanePort{.port = port, .rail = rail});
    // Answers, and as many reads of staging slots.
    ASSIGN_OR_RETURN(made->done, port.make_cq(kSends + kProbes + 2 * kLaneRequests, nullptr));
    ASSIGN_OR_RETURN(made->answers,
                     ReceiveQueue::make(port, kLaneRequests, kAnswerBytes, kAnswers));
    ASSIGN_OR_RETURN(made->nowhere, Buffer::make(port, sizeof(std::uint64_t)));
    return made;
  }

  const Port& port;
  const std::size_t rail;
  Handle<ibv_cq> done = no_handle<ibv_cq>();
  ReceiveQueue answers = {};
  Buffer nowhere = {};  // where old values go that nobody wants
  std::unordered_map<std::uint32_t, QueuePair*> by_qp = {};
  int sends = 0;  // under way or held
};

}  // namespace weft::ib
