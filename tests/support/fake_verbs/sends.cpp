// Sends, from when they are posted until they are carried out.
#include "tests/support/fake_verbs/operations.hpp"
#include "tests/support/fake_verbs/state.hpp"

namespace weft::fake_verbs {
namespace {

bool is_send(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM;
}

bool is_known(const Qp& qp, ibv_wr_opcode opcode) {
  if (is_send(opcode)) return true;
  if (qp.qp_type != IBV_QPT_RC) return false;
  return opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_RDMA_READ ||
         opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

bool copy_inline(const Qp& qp, Send& work) {
  if (!is_send(work.wr.opcode) && work.wr.opcode != IBV_WR_RDMA_WRITE) return false;
  for (const ibv_sge& sge : work.sges) {
    const auto* const base = reinterpret_cast<const std::byte*>(sge.addr);
    work.bytes.insert(work.bytes.end(), base, base + sge.length);
  }
  return work.bytes.size() <= qp.init.cap.max_inline_data;
}

int add_send(Qp& qp, const ibv_send_wr& wr) {
  const bool takes_sges =
      wr.num_sge >= 0 && static_cast<std::uint32_t>(wr.num_sge) <= qp.init.cap.max_send_sge;
  if (!is_known(qp, wr.opcode) || !takes_sges) return EINVAL;
  if (qp.posted - qp.freed >= qp.init.cap.max_send_wr) return ENOMEM;
  Send work{wr, {wr.sg_list, wr.sg_list + wr.num_sge}, {}, {}, false, qp.posted + 1};
  work.wr.next = nullptr;
  work.wr.sg_list = nullptr;
  work.is_signaled = qp.init.sq_sig_all != 0 || (wr.send_flags & IBV_SEND_SIGNALED) != 0;
  if ((wr.send_flags & IBV_SEND_INLINE) != 0 && !copy_inline(qp, work)) return EINVAL;
  if (qp.qp_type == IBV_QPT_UD) {
    if (wr.wr.ud.ah == nullptr) return EINVAL;
    work.to = own<Ah>(wr.wr.ud.ah).attr;
  }
  ++qp.posted;
  qp.sends.push_back(std::move(work));
  return 0;
}

}  // namespace

std::optional<Spans> payload(const Qp& qp, Send& work) {
  if ((work.wr.send_flags & IBV_SEND_INLINE) != 0)
    return Spans{{work.bytes.data(), work.bytes.size()}};
  return local_spans(qp.pd, work.sges, 0);
}

int post_send(ibv_qp* posted, ibv_send_wr* list, ibv_send_wr** bad) {
  auto& qp = own<Qp>(posted);
  int error = failing("ibv_post_send");
  const std::lock_guard lock(state().mutex);
  if (qp.now != IBV_QPS_RTS && qp.now != IBV_QPS_ERR) error = EINVAL;
  for (; list != nullptr && error == 0; list = list->next) {
    error = add_send(qp, *list);
    if (error != 0) break;
  }
  if (error != 0) *bad = list;
  if (qp.asleep > 0) --qp.asleep;
  enlist(qp);
  wake_wire();
  return error;
}

}  // namespace weft::fake_verbs
