// Requests that a service executes for others, and its answers.
#include <cstddef>
#include <cstring>

#include "host/transport/ib/service.hpp"
#include "src/base/log.hpp"

namespace weft::ib {

// False: not now, since too many answers are under way.
bool Service::take_request(const Heard& heard) {
  auto& [endpoint, done] = heard;
  const auto served = endpoint->by_qp.find(done.qp_num);
  if (done.status == IBV_WC_SUCCESS && served != endpoint->by_qp.end()) {
    Request request;
    if (endpoint->answers == ServiceEndpoint::kAnswers ||
        served->second->answers == 2 * kLaneRequests)
      return false;
    std::memcpy(&request, endpoint->requests.receive_buffer(done.wr_id), sizeof request);
    Caller& caller = *served->second->caller;
    Answer& reply = caller.answer_to(request.sequence);
    if (request.sequence > caller.executed) {
      caller.executed = request.sequence;
      reply = {.ticket = request.ticket};
      const Status done_so = work_.execute(request, caller.pe, &reply.old);
      reply.code = static_cast<std::uint32_t>(done_so.code());
      std::strncpy(reply.text.data(), done_so.text(), reply.text.size() - 1);
    }
    answer(*endpoint, *served->second, reply);
  } else if (done.status != IBV_WC_SUCCESS) {
    drop(*endpoint, done.qp_num);
  }
  const Status posted = endpoint->requests.post(done.wr_id);
  if (!posted.is_ok()) LOG(kError, "transport", "ib: {}", posted.text());
  return true;
}

void Service::answer(ServiceEndpoint& endpoint, Served& served, const Answer& answer) {
  const std::size_t size = answer.code == 0 ? offsetof(Answer, text) : sizeof answer;
  ibv_sge bytes{reinterpret_cast<std::uint64_t>(&answer), static_cast<std::uint32_t>(size), 0};
  ibv_send_wr request{};
  request.wr_id = ServiceEndpoint::kSent;
  request.sg_list = &bytes;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  request.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED;
  ibv_send_wr* bad = nullptr;
  if (const int error = ibv_post_send(served.qp.get(), &request, &bad); error != 0) {
    LOG(kError, "transport", "ib: {}",
        failure("answer a request", endpoint.port.name(), error).text());
    return;
  }
  ++served.answers;
  ++endpoint.answers;
}

void Service::take_sent(ServiceEndpoint& endpoint, const ibv_wc& done) {
  const auto served = endpoint.by_qp.find(done.qp_num);
  if (served == endpoint.by_qp.end()) return;
  --served->second->answers;
  --endpoint.answers;
  if (done.status != IBV_WC_SUCCESS) drop(endpoint, done.qp_num);
}

// Its PE is gone, or has ended. The queue pair stays, without a use, as long as its completions may
// come.
void Service::drop(ServiceEndpoint& endpoint, std::uint32_t qp) {
  const auto served = endpoint.by_qp.find(qp);
  if (served == endpoint.by_qp.end()) return;
  endpoint.answers -= served->second->answers;
  endpoint.by_qp.erase(served);
}

}  // namespace weft::ib
