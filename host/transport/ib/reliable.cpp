#include "host/transport/ib/reliable.hpp"

#include <algorithm>
#include <cstring>

#include "host/transport/ib/messages.hpp"
#include "src/platform/platform.hpp"

namespace weft::ib {

namespace {

// 4.096 us * 2^18 = 1.1 s until a packet is sent again, six times: a peer that is gone is found out
// within 8 s, and one that is held up, or a network that hiccups, is not. Not seven times, which
// soft-RoCE takes for ever.
constexpr std::uint8_t kTimeout = 18, kRetries = 6;
// A sender that finds no receive posted tries again for ever: the other end takes requests as it
// gets to them.
constexpr std::uint8_t kAlways = 7;
constexpr std::uint8_t kWaitForReceive = 12;  // 0.64 ms

std::uint8_t path_mtu(const Port& port, const PortAddress& other) {
  return std::min(port.address().mtu, other.mtu);
}

}  // namespace

Result<Handle<ibv_qp>> make_reliable(const Port& port, const ReliableEnd& end) {
  ibv_qp_init_attr wanted{};
  wanted.qp_type = IBV_QPT_RC;
  wanted.send_cq = end.sent;
  wanted.recv_cq = end.received;
  wanted.srq = end.receives;
  wanted.cap.max_send_wr = end.sends;
  wanted.cap.max_send_sge = 1;
  wanted.cap.max_inline_data = kInlineBytes;
  ASSIGN_OR_RETURN(Handle<ibv_qp> qp, port.make_qp(wanted));
  ibv_qp_attr start{};
  start.qp_state = IBV_QPS_INIT;
  start.port_num = port.number();
  start.qp_access_flags = static_cast<unsigned>(end.access);
  RETURN_IF_ERROR(port.modify(qp.get(), start,
                              IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
                              "start a queue pair"));
  return qp;
}

Status connect_queue_pair(const Port& port, ibv_qp* qp, const OtherEnd& other, std::uint32_t psn) {
  ibv_qp_attr receive{};
  receive.qp_state = IBV_QPS_RTR;
  receive.ah_attr = port.way_to(other.port);
  receive.path_mtu = static_cast<ibv_mtu>(path_mtu(port, other.port));
  receive.dest_qp_num = other.qp;
  receive.rq_psn = other.psn;
  receive.max_dest_rd_atomic = port.address().reads;
  receive.min_rnr_timer = kWaitForReceive;
  RETURN_IF_ERROR(port.modify(qp, receive,
                              IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
                              "connect a queue pair to a peer's"));
  ibv_qp_attr send{};
  send.qp_state = IBV_QPS_RTS;
  send.timeout = kTimeout;
  send.retry_cnt = kRetries;
  send.rnr_retry = kAlways;
  send.sq_psn = psn;
  send.max_rd_atomic = port.reads_to(other.port);
  return port.modify(qp, send,
                     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                         IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
                     "let a queue pair send");
}

std::uint32_t packet_bytes(const Port& port, const PortAddress& other) {
  return 128u << path_mtu(port, other);
}

Result<std::uint32_t> next_psn(const Port& port, ibv_qp* qp) {
  ibv_qp_attr attributes{};
  ibv_qp_init_attr made{};
  const int error = port.verbs().query_qp(qp, &attributes, IBV_QP_RQ_PSN, &made);
  if (error != 0) return failure("look at a queue pair", port.name(), error);
  return attributes.rq_psn;
}

std::uint32_t random_psn() {
  const Uuid uuid = random_uuid();
  std::uint32_t psn = 0;
  std::memcpy(&psn, uuid.data(), sizeof psn);
  return psn & 0xffffff;
}

}  // namespace weft::ib
