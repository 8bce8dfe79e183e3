// Queue pairs, but for what states they go through.
#include "tests/support/fake_verbs/state.hpp"

namespace weft::fake_verbs {
namespace {

bool is_possible(const ibv_pd* pd, const ibv_qp_init_attr& init) {
  const ibv_qp_cap& cap = init.cap;
  if (init.qp_type != IBV_QPT_RC && init.qp_type != IBV_QPT_UD) return false;
  if (init.send_cq == nullptr || init.recv_cq == nullptr) return false;
  if (init.send_cq->context != pd->context || init.recv_cq->context != pd->context) return false;
  if (init.srq != nullptr && init.srq->context != pd->context) return false;
  return cap.max_send_wr <= kMaxWr && cap.max_recv_wr <= kMaxWr && cap.max_send_sge <= kMaxSge &&
         cap.max_recv_sge <= kMaxSge && cap.max_inline_data <= kMaxInline;
}

void give_number(Qp& qp) {
  do {
    qp.qp_num = random_number(24);
  } while (qp.qp_num < 2 || !state().qps.try_emplace(qp.qp_num, &qp).second);
}

void count_users(const Qp& qp, int change) {
  qp.sends_to().users += change;
  qp.receives_to().users += change;
  if (qp.srq != nullptr) own<Srq>(qp.srq).users += change;
  own<Pd>(qp.pd).users += change;
  own<Context>(qp.context).users += change;
}

}  // namespace

FAKE_VERB ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* init) {
  if (const int error = failing(__func__)) return refuse(error);
  if (!is_possible(pd, *init)) return refuse(EINVAL);
  const std::lock_guard lock(state().mutex);
  auto* const qp = new Qp;
  static_cast<ibv_qp&>(*qp) = {};
  qp->context = pd->context;
  qp->qp_context = init->qp_context;
  qp->pd = pd;
  qp->send_cq = init->send_cq;
  qp->recv_cq = init->recv_cq;
  qp->srq = init->srq;
  qp->qp_type = init->qp_type;
  qp->init = *init;
  qp->receives.pd = pd;
  qp->receives.max_wr = init->cap.max_recv_wr;
  qp->receives.max_sge = init->cap.max_recv_sge;
  give_number(*qp);
  count_users(*qp, 1);
  ++state().live.qps;
  start_wire();
  return qp;
}

FAKE_VERB int ibv_destroy_qp(ibv_qp* destroyed) {
  if (const int error = failing(__func__)) return error;
  const std::lock_guard lock(state().mutex);
  auto* const qp = &own<Qp>(destroyed);
  unlist(*qp);
  forget_completions(*qp);
  count_users(*qp, -1);
  state().qps.erase(qp->qp_num);
  --state().live.qps;
  delete qp;
  wake_wire();  // whoever waits for one of its receives waits no longer
  return 0;
}

FAKE_VERB int ibv_query_qp(ibv_qp* queried, ibv_qp_attr* attr, int, ibv_qp_init_attr* init) {
  if (const int error = failing(__func__)) return error;
  const std::lock_guard lock(state().mutex);
  const auto& qp = own<Qp>(queried);
  *attr = qp.attr;
  attr->qp_state = attr->cur_qp_state = qp.now;
  attr->cap = qp.init.cap;
  attr->rq_psn = (qp.attr.rq_psn + qp.taken) & 0xffffff;
  *init = qp.init;
  return 0;
}

}  // namespace weft::fake_verbs
