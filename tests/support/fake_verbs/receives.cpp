// Receives, and shared queues of them.
#include "tests/support/fake_verbs/operations.hpp"
#include "tests/support/fake_verbs/state.hpp"

namespace weft::fake_verbs {
namespace {

int add_receive(ReceiveQueue& queue, const ibv_recv_wr& wr) {
  if (wr.num_sge < 0 || static_cast<std::uint32_t>(wr.num_sge) > queue.max_sge) return EINVAL;
  if (queue.taken == queue.max_wr) return ENOMEM;
  ++queue.taken;
  queue.posted.push_back({wr.wr_id, {wr.sg_list, wr.sg_list + wr.num_sge}});
  return 0;
}

int add_receives(ReceiveQueue& queue, ibv_recv_wr* list, ibv_recv_wr** bad) {
  for (; list != nullptr; list = list->next) {
    if (const int error = add_receive(queue, *list)) {
      *bad = list;
      return error;
    }
  }
  return 0;
}

}  // namespace

ibv_wc_status deliver(Qp& qp, const Send& work, const Spans& message, ibv_wc wc) {
  const Receive receive = std::move(qp.queue().posted.front());
  qp.queue().posted.pop_front();
  const auto buffer = local_spans(qp.queue().pd, receive.sges, IBV_ACCESS_LOCAL_WRITE);
  wc.wr_id = receive.id;
  wc.status = IBV_WC_SUCCESS;
  if (!buffer)
    wc.status = IBV_WC_LOC_PROT_ERR;
  else if (bytes_of(*buffer) < bytes_of(message))
    wc.status = IBV_WC_LOC_LEN_ERR;
  else
    move(*buffer, message);
  wc.byte_len = static_cast<std::uint32_t>(bytes_of(message));
  if (work.wr.opcode == IBV_WR_SEND_WITH_IMM) {
    wc.wc_flags |= IBV_WC_WITH_IMM;
    wc.imm_data = work.wr.imm_data;
  }
  if (wc.status != IBV_WC_SUCCESS) fail(qp);
  complete_receive(qp, wc, (work.wr.send_flags & IBV_SEND_SOLICITED) != 0);
  return wc.status;
}

int post_recv(ibv_qp* posted, ibv_recv_wr* list, ibv_recv_wr** bad) {
  auto& qp = own<Qp>(posted);
  int error = failing("ibv_post_recv");
  const std::lock_guard lock(state().mutex);
  if (qp.srq != nullptr || qp.now == IBV_QPS_RESET) error = EINVAL;
  if (error != 0) {
    *bad = list;
    return error;
  }
  error = add_receives(qp.receives, list, bad);
  if (qp.now == IBV_QPS_ERR) enlist(qp);
  wake_wire();
  return error;
}

int post_srq_recv(ibv_srq* srq, ibv_recv_wr* list, ibv_recv_wr** bad) {
  if (const int error = failing("ibv_post_srq_recv")) {
    *bad = list;
    return error;
  }
  const std::lock_guard lock(state().mutex);
  const int error = add_receives(own<Srq>(srq).queue, list, bad);
  wake_wire();
  return error;
}

FAKE_VERB ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* init) {
  if (const int error = failing(__func__)) return refuse(error);
  if (init->attr.max_wr == 0 || init->attr.max_wr > kMaxWr || init->attr.max_sge > kMaxSge)
    return refuse(EINVAL);
  const std::lock_guard lock(state().mutex);
  auto* const srq = new Srq;
  static_cast<ibv_srq&>(*srq) = {};
  srq->context = pd->context;
  srq->srq_context = init->srq_context;
  srq->pd = pd;
  srq->queue.pd = pd;
  srq->queue.max_wr = init->attr.max_wr;
  srq->queue.max_sge = init->attr.max_sge;
  ++own<Pd>(pd).users;
  ++state().live.srqs;
  return srq;
}

FAKE_VERB int ibv_destroy_srq(ibv_srq* srq) {
  if (const int error = failing(__func__)) return error;
  const std::lock_guard lock(state().mutex);
  if (own<Srq>(srq).users > 0) return EBUSY;
  --own<Pd>(srq->pd).users;
  --state().live.srqs;
  delete &own<Srq>(srq);
  return 0;
}

}  // namespace weft::fake_verbs
