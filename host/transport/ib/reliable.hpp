// Reliable queue pairs (RC): made, and then connected to the one at the other end.
#pragma once

#include <cstdint>

#include "host/transport/ib/port.hpp"

namespace weft::ib {

struct ReliableEnd {
  ibv_cq* sent;
  ibv_cq* received;
  ibv_srq* receives;
  std::uint32_t sends;  // that may be outstanding
  int access;           // what the other end may do with my memory
};

// Ready to be connected.
Result<Handle<ibv_qp>> make_reliable(const Port& port, const ReliableEnd& end);

struct OtherEnd {
  PortAddress port;
  std::uint32_t qp = 0;
  std::uint32_t psn = 0;  // of its first packet
};
// Ready to send and receive. `psn`: of my first packet.
Status connect_queue_pair(const Port& port, ibv_qp* qp, const OtherEnd& other, std::uint32_t psn);

std::uint32_t random_psn();

// The largest part of a message that travels at once between the two.
std::uint32_t packet_bytes(const Port& port, const PortAddress& other);
// The next packet that a queue pair expects: all before it have taken effect. It stays the same
// once the queue pair has ended. Drivers of NVIDIA's devices and soft-RoCE tell it; who asks checks
// what it is told.
Result<std::uint32_t> next_psn(const Port& port, ibv_qp* qp);

}  // namespace weft::ib
