// The contents of completion queues, and who hears of them.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tests/support/fake_verbs/operations.hpp"
#include "tests/support/fake_verbs/state.hpp"

namespace weft::fake_verbs {
namespace {

void free_slot(const Completion& completion) {
  if (completion.sent != 0)
    completion.qp->freed = completion.sent;
  else
    --*completion.taken;
}

void add(Cq& cq, const Completion& completion, bool is_solicited) {
  const std::lock_guard lock(cq.guard);
  if (cq.done.size() == static_cast<std::size_t>(cq.cqe)) {
    std::fprintf(stderr, "fake verbs: a completion queue of %d overflows\n", cq.cqe);
    std::abort();
  }
  cq.done.push_back(completion);
  const bool rings =
      cq.armed == Cq::Armed::kAny || (cq.armed == Cq::Armed::kSolicited &&
                                      (is_solicited || completion.wc.status != IBV_WC_SUCCESS));
  if (!rings) return;
  cq.armed = Cq::Armed::kNo;
  ++cq.events;
  static_cast<Channel*>(cq.channel)->events.push(&cq);
}

ibv_wc_opcode opcode_of(ibv_wr_opcode posted) {
  switch (posted) {
    case IBV_WR_RDMA_WRITE: return IBV_WC_RDMA_WRITE;
    case IBV_WR_RDMA_READ: return IBV_WC_RDMA_READ;
    case IBV_WR_ATOMIC_CMP_AND_SWP: return IBV_WC_COMP_SWAP;
    case IBV_WR_ATOMIC_FETCH_AND_ADD: return IBV_WC_FETCH_ADD;
    default: return IBV_WC_SEND;
  }
}

}  // namespace

void complete_send(Qp& qp, const Send& work, ibv_wc_status status, std::size_t bytes) {
  ibv_wc wc{};
  wc.wr_id = work.wr.wr_id;
  wc.status = status;
  wc.qp_num = qp.qp_num;
  wc.opcode = opcode_of(work.wr.opcode);
  wc.byte_len = static_cast<std::uint32_t>(bytes);
  // The rest of a failed completion means nothing: a wrong opcode shows clients that use it.
  if (status != IBV_WC_SUCCESS) wc.opcode = IBV_WC_RECV;
  add(qp.sends_to(), {wc, &qp, work.number, nullptr}, false);
}

void complete_receive(Qp& qp, ibv_wc wc, bool is_solicited) {
  wc.qp_num = qp.qp_num;
  wc.opcode = wc.status == IBV_WC_SUCCESS ? IBV_WC_RECV : IBV_WC_SEND;
  add(qp.receives_to(), {wc, &qp, 0, &qp.queue().taken}, is_solicited);
}

void forget_completions(const Qp& qp) {
  for (Cq* const cq : {&qp.sends_to(), &qp.receives_to()}) {
    const std::lock_guard lock(cq->guard);
    std::erase_if(cq->done, [&](const Completion& completion) {
      if (completion.qp != &qp) return false;
      free_slot(completion);
      return true;
    });
  }
}

int poll_cq(ibv_cq* polled, int count, ibv_wc* out) {
  if (const int error = failing("ibv_poll_cq")) return -error;
  auto& cq = own<Cq>(polled);
  const std::lock_guard lock(cq.guard);
  const int taken = std::min(count, static_cast<int>(cq.done.size()));
  for (int i = 0; i < taken; ++i) {
    out[i] = cq.done.front().wc;
    free_slot(cq.done.front());
    cq.done.pop_front();
  }
  return taken;
}

int req_notify_cq(ibv_cq* armed, int solicited_only) {
  if (const int error = failing("ibv_req_notify_cq")) return error;
  auto& cq = own<Cq>(armed);
  if (cq.channel == nullptr) return EINVAL;
  const std::lock_guard lock(cq.guard);
  if (solicited_only == 0)
    cq.armed = Cq::Armed::kAny;
  else if (cq.armed == Cq::Armed::kNo)
    cq.armed = Cq::Armed::kSolicited;
  return 0;
}

FAKE_VERB int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) {
  if (const int error = failing(__func__)) {
    errno = error;
    return -1;
  }
  Cq* ringing = nullptr;
  if (!own<Channel>(channel).events.take(&ringing)) return -1;
  *cq = ringing;
  *cq_context = ringing->cq_context;
  return 0;
}

FAKE_VERB void ibv_ack_cq_events(ibv_cq* cq, unsigned count) {
  auto& acknowledged = own<Cq>(cq);
  const std::lock_guard lock(acknowledged.guard);
  acknowledged.acknowledged += count;
  acknowledged.acknowledges.notify_all();
}

}  // namespace weft::fake_verbs
