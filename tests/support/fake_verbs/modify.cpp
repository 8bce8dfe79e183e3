// The states of queue pairs, and what each way from one to the next needs.
#include "tests/support/fake_verbs/state.hpp"

namespace weft::fake_verbs {
namespace {

struct Step {
  ibv_qp_type type;
  ibv_qp_state from, to;
  int needs, takes;
};

constexpr int kInitRc = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
constexpr int kInitUd = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
constexpr int kToRtr = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int kToRts =
    IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
constexpr int kAlways = IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER;

constexpr Step kSteps[] = {
    {IBV_QPT_RC, IBV_QPS_RESET, IBV_QPS_INIT, kInitRc, 0},
    {IBV_QPT_RC, IBV_QPS_INIT, IBV_QPS_INIT, 0, kInitRc},
    {IBV_QPT_RC, IBV_QPS_INIT, IBV_QPS_RTR, kToRtr, IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
    {IBV_QPT_RC, IBV_QPS_RTR, IBV_QPS_RTS, kToRts, kAlways},
    {IBV_QPT_RC, IBV_QPS_RTS, IBV_QPS_RTS, 0, kAlways},
    {IBV_QPT_UD, IBV_QPS_RESET, IBV_QPS_INIT, kInitUd, 0},
    {IBV_QPT_UD, IBV_QPS_INIT, IBV_QPS_INIT, 0, kInitUd},
    {IBV_QPT_UD, IBV_QPS_INIT, IBV_QPS_RTR, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
    {IBV_QPT_UD, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN, IBV_QP_CUR_STATE | IBV_QP_QKEY},
    {IBV_QPT_UD, IBV_QPS_RTS, IBV_QPS_RTS, 0, IBV_QP_CUR_STATE | IBV_QP_QKEY},
};

bool is_step(const Qp& qp, ibv_qp_state to, int mask) {
  mask &= ~IBV_QP_STATE;
  if (to == IBV_QPS_RESET || to == IBV_QPS_ERR) return mask == 0;
  for (const Step& step : kSteps) {
    if (step.type == qp.qp_type && step.from == qp.now && step.to == to)
      return (mask & step.needs) == step.needs && (mask & ~(step.needs | step.takes)) == 0;
  }
  return false;
}

bool is_known(const Device& device, const ibv_qp_attr& attr, int mask) {
  const auto ok = [&](int bit, bool value) { return (mask & bit) == 0 || value; };
  return ok(IBV_QP_PORT, attr.port_num == 1) && ok(IBV_QP_PKEY_INDEX, attr.pkey_index == 0) &&
         ok(IBV_QP_AV, is_valid(device, attr.ah_attr)) &&
         ok(IBV_QP_PATH_MTU, attr.path_mtu >= IBV_MTU_256 && attr.path_mtu <= IBV_MTU_4096) &&
         ok(IBV_QP_DEST_QPN, attr.dest_qp_num >> 24 == 0) &&
         ok(IBV_QP_RQ_PSN, attr.rq_psn >> 24 == 0) && ok(IBV_QP_SQ_PSN, attr.sq_psn >> 24 == 0) &&
         ok(IBV_QP_MAX_QP_RD_ATOMIC, attr.max_rd_atomic <= kMaxReads) &&
         ok(IBV_QP_MAX_DEST_RD_ATOMIC, attr.max_dest_rd_atomic <= kMaxReads) &&
         ok(IBV_QP_MIN_RNR_TIMER, attr.min_rnr_timer < 32) &&
         ok(IBV_QP_TIMEOUT, attr.timeout < 32) && ok(IBV_QP_RETRY_CNT, attr.retry_cnt < 8) &&
         ok(IBV_QP_RNR_RETRY, attr.rnr_retry < 8);
}

void take_attributes(ibv_qp_attr& to, const ibv_qp_attr& from, int mask) {
  const auto take = [&](int bit, auto member) {
    if ((mask & bit) != 0) to.*member = from.*member;
  };
  take(IBV_QP_ACCESS_FLAGS, &ibv_qp_attr::qp_access_flags);
  take(IBV_QP_PKEY_INDEX, &ibv_qp_attr::pkey_index);
  take(IBV_QP_PORT, &ibv_qp_attr::port_num);
  take(IBV_QP_QKEY, &ibv_qp_attr::qkey);
  take(IBV_QP_AV, &ibv_qp_attr::ah_attr);
  take(IBV_QP_PATH_MTU, &ibv_qp_attr::path_mtu);
  take(IBV_QP_TIMEOUT, &ibv_qp_attr::timeout);
  take(IBV_QP_RETRY_CNT, &ibv_qp_attr::retry_cnt);
  take(IBV_QP_RNR_RETRY, &ibv_qp_attr::rnr_retry);
  take(IBV_QP_RQ_PSN, &ibv_qp_attr::rq_psn);
  take(IBV_QP_SQ_PSN, &ibv_qp_attr::sq_psn);
  take(IBV_QP_DEST_QPN, &ibv_qp_attr::dest_qp_num);
  take(IBV_QP_MAX_QP_RD_ATOMIC, &ibv_qp_attr::max_rd_atomic);
  take(IBV_QP_MAX_DEST_RD_ATOMIC, &ibv_qp_attr::max_dest_rd_atomic);
  take(IBV_QP_MIN_RNR_TIMER, &ibv_qp_attr::min_rnr_timer);
}

void reset(Qp& qp) {
  unlist(qp);
  forget_completions(qp);
  qp.sends.clear();
  qp.receives.posted.clear();
  qp.receives.taken = 0;
  qp.posted = 0;
  qp.freed = 0;
  qp.taken = 0;
  qp.attr = {};
}

}  // namespace

FAKE_VERB int ibv_modify_qp(ibv_qp* modified, ibv_qp_attr* attr, int mask) {
  if (const int error = failing(__func__)) return error;
  const std::lock_guard lock(state().mutex);
  auto& qp = own<Qp>(modified);
  const ibv_qp_state to = (mask & IBV_QP_STATE) != 0 ? attr->qp_state : qp.now;
  if ((mask & IBV_QP_CUR_STATE) != 0 && attr->cur_qp_state != qp.now) return EINVAL;
  if (!is_step(qp, to, mask) || !is_known(qp.device_of(), *attr, mask)) return EINVAL;
  take_attributes(qp.attr, *attr, mask);
  if (to == IBV_QPS_RESET) reset(qp);
  qp.now = qp.state = to;
  if (to == IBV_QPS_ERR) fail(qp);
  wake_wire();
  return 0;
}

}  // namespace weft::fake_verbs
