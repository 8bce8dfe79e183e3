#include "host/transport/ib/datagram_wireup.hpp"

#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace weft::ib {

Result<std::unique_ptr<Datagrams>> Datagrams::create(const Port& port, std::size_t rail,
                                                     ibv_cq* received, std::uint64_t first) {
  std::unique_ptr<Datagrams> made(new Datagrams(port, rail, first));
  RETURN_IF_ERROR(made->open(received));
  return made;
}

Status Datagrams::open(ibv_cq* received) {
  ASSIGN_OR_RETURN(buffer_, Buffer::make(port_, kReceives * kReceiveBytes));
  ASSIGN_OR_RETURN(sent_, port_.make_cq(kSends, nullptr));
  ibv_qp_init_attr wanted{};
  wanted.qp_type = IBV_QPT_UD;
  wanted.send_cq = sent_.get();
  wanted.recv_cq = received;
  wanted.cap.max_send_wr = kSends;
  wanted.cap.max_recv_wr = kReceives;
  wanted.cap.max_send_sge = wanted.cap.max_recv_sge = 1;
  wanted.cap.max_inline_data = kInlineBytes;
  ASSIGN_OR_RETURN(qp_, port_.make_qp(wanted));
  RETURN_IF_ERROR(start());
  for (std::uint64_t i = 0; i < kReceives; ++i) RETURN_IF_ERROR(post_receive(first_ + i));
  return Status::ok();
}

Status Datagrams::start() {
  ibv_qp_attr state{};
  state.qp_state = IBV_QPS_INIT;
  state.port_num = port_.number();
  state.qkey = kConnectKey;
  RETURN_IF_ERROR(port_.modify(qp_.get(), state,
                               IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY,
                               "start a queue pair of datagrams"));
  state.qp_state = IBV_QPS_RTR;
  RETURN_IF_ERROR(port_.modify(qp_.get(), state, IBV_QP_STATE, "let datagrams in"));
  state.qp_state = IBV_QPS_RTS;
  return port_.modify(qp_.get(), state, IBV_QP_STATE | IBV_QP_SQ_PSN, "let datagrams out");
}

Result<ibv_ah*> Datagrams::way_to(int pe) {
  if (ways_.empty())
    for (std::size_t i = 0; i < peers_->size(); ++i) ways_.push_back(no_handle<ibv_ah>());
  auto& way = ways_[static_cast<std::size_t>(pe)];
  if (way == nullptr) {
    ibv_ah_attr there = port_.way_to(endpoint_of(pe).port);
    ASSIGN_OR_RETURN(way, owned([&] { return port_.verbs().create_ah(port_.domain(), &there); },
                                port_.verbs().destroy_ah, fmt::format("find the way to PE {}", pe),
                                port_.name()));
  }
  return way.get();
}

Status Datagrams::send(int pe, const ConnectMessage& message) {
  const std::lock_guard lock(mutex_);
  std::array<ibv_wc, kSends> done;
  const int gone = ibv_poll_cq(sent_.get(), kSends, done.data());
  if (gone > 0) outstanding_ -= gone;
  if (outstanding_ == kSends) return Status::ok();  // as if the network had lost it
  ASSIGN_OR_RETURN(ibv_ah* const way, way_to(pe));
  ibv_sge bytes{reinterpret_cast<std::uint64_t>(&message), sizeof message, 0};
  ibv_send_wr request{};
  request.sg_list = &bytes;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  request.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED;
  request.wr.ud.ah = way;
  request.wr.ud.remote_qpn = endpoint_of(pe).connect_qp;
  request.wr.ud.remote_qkey = kConnectKey;
  ibv_send_wr* bad = nullptr;
  if (const int error = ibv_post_send(qp_.get(), &request, &bad); error != 0)
    return failure(fmt::format("send a datagram to PE {}", pe), port_.name(), error);
  ++outstanding_;
  return Status::ok();
}

bool Datagrams::read(const ibv_wc& done, ConnectMessage* message) const {
  if (done.status != IBV_WC_SUCCESS || done.byte_len != kHeader + sizeof(ConnectMessage))
    return false;
  std::memcpy(message, receive_buffer(done.wr_id) + kHeader, sizeof(ConnectMessage));
  return true;
}

Status Datagrams::post_receive(std::uint64_t wr_id) {
  return buffer_.receive(port_, wr_id, receive_buffer(wr_id), kReceiveBytes,
                         [&](ibv_recv_wr* request, ibv_recv_wr** bad) {
                           return ibv_post_recv(qp_.get(), request, bad);
                         });
}

}  // namespace weft::ib
