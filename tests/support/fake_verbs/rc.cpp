// Requests over reliable connections.
#include <cstring>

#include "tests/support/fake_verbs/state.hpp"

namespace weft::fake_verbs {
namespace {

bool same_path(const Qp& qp, const Qp& peer) {
  const ibv_ah_attr& to = qp.attr.ah_attr;
  if (!names(qp.device_of(), to, peer.device_of())) return false;
  if (qp.device_of().is_ib) return true;
  const ibv_gid_entry& mine = qp.device_of().gids[to.grh.sgid_index];
  const ibv_gid_entry& theirs = peer.device_of().gids[peer.attr.ah_attr.grh.sgid_index];
  return mine.gid_type == theirs.gid_type &&
         std::memcmp(theirs.gid.raw, to.grh.dgid.raw, sizeof theirs.gid.raw) == 0;
}

// The other end, if packets come there and back.
Qp* peer_of(const Qp& qp) {
  const auto found = state().qps.find(qp.attr.dest_qp_num);
  if (found == state().qps.end()) return nullptr;
  Qp& peer = *found->second;
  const bool receives = peer.now == IBV_QPS_RTR || peer.now == IBV_QPS_RTS;
  if (peer.qp_type != IBV_QPT_RC || !receives || peer.attr.dest_qp_num != qp.qp_num) return nullptr;
  if (qp.device_of().is_cut || peer.device_of().is_cut) return nullptr;
  if (peer.attr.rq_psn != qp.attr.sq_psn) return nullptr;
  return same_path(qp, peer) && same_path(peer, qp) ? &peer : nullptr;
}

std::optional<Span> target(const Qp& peer, std::uint32_t rkey, std::uint64_t address,
                           std::size_t bytes, unsigned access) {
  if ((peer.attr.qp_access_flags & access) != access) return {};
  return remote_span(peer.pd, rkey, address, bytes, access);
}

Result write(Qp&, Qp& peer, const Spans& local, Send& work) {
  const auto& rdma = work.wr.wr.rdma;
  const std::size_t bytes = bytes_of(local);
  const auto remote = target(peer, rdma.rkey, rdma.remote_addr, bytes, IBV_ACCESS_REMOTE_WRITE);
  if (!remote) return {IBV_WC_REM_ACCESS_ERR, 0};
  move({*remote}, local);
  return {IBV_WC_SUCCESS, bytes};
}

Result read(Qp& qp, Qp& peer, const Spans& local, Send& work) {
  if (qp.attr.max_rd_atomic == 0) return {IBV_WC_LOC_QP_OP_ERR, 0};
  if (peer.attr.max_dest_rd_atomic == 0) return {IBV_WC_REM_INV_REQ_ERR, 0};
  const auto& rdma = work.wr.wr.rdma;
  const std::size_t bytes = bytes_of(local);
  const auto remote = target(peer, rdma.rkey, rdma.remote_addr, bytes, IBV_ACCESS_REMOTE_READ);
  if (!remote) return {IBV_WC_REM_ACCESS_ERR, 0};
  move(local, {*remote});
  return {IBV_WC_SUCCESS, bytes};
}

bool is_atomic(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

// By a device that is atomic with nobody else: it writes what it makes of what it has read before.
std::uint64_t change_apart(std::uint64_t* word, std::uint64_t read, const ibv_send_wr& wr) {
  const auto& atomic = wr.wr.atomic;
  if (wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
    __atomic_store_n(word, read + atomic.compare_add, __ATOMIC_RELEASE);
  else if (read == atomic.compare_add)
    __atomic_store_n(word, atomic.swap, __ATOMIC_RELEASE);
  return read;
}

std::uint64_t change(std::uint64_t* word, const ibv_send_wr& wr) {
  const auto& atomic = wr.wr.atomic;
  if (wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
    return __atomic_fetch_add(word, atomic.compare_add, __ATOMIC_ACQ_REL);
  std::uint64_t seen = atomic.compare_add;
  __atomic_compare_exchange_n(word, &seen, atomic.swap, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  return seen;
}

Result change_word(Qp& qp, Qp& peer, const Spans& local, Send& work) {
  const auto& atomic = work.wr.wr.atomic;
  std::uint64_t old = 0;
  if (bytes_of(local) != sizeof old) return {IBV_WC_LOC_LEN_ERR, 0};
  if (qp.attr.max_rd_atomic == 0) return {IBV_WC_LOC_QP_OP_ERR, 0};
  if (atomic.remote_addr % sizeof old != 0 || peer.attr.max_dest_rd_atomic == 0)
    return {IBV_WC_REM_INV_REQ_ERR, 0};
  const auto remote =
      target(peer, atomic.rkey, atomic.remote_addr, sizeof old, IBV_ACCESS_REMOTE_ATOMIC);
  if (!remote) return {IBV_WC_REM_ACCESS_ERR, 0};
  ++state().atomics;
  auto* const word = reinterpret_cast<std::uint64_t*>(remote->base);
  Device& device = peer.device_of();
  const bool has_read = device.changing == qp.qp_num;
  if (has_read) device.changing = 0;
  old = has_read ? change_apart(word, qp.read, work.wr) : change(word, work.wr);
  move(local, {{reinterpret_cast<std::byte*>(&old), sizeof old}});
  return {IBV_WC_SUCCESS, sizeof old};
}

Result send(Qp&, Qp& peer, const Spans& local, Send& work) {
  switch (deliver(peer, work, local, {})) {
    case IBV_WC_SUCCESS: return {IBV_WC_SUCCESS, bytes_of(local)};
    case IBV_WC_LOC_LEN_ERR: return {IBV_WC_REM_INV_REQ_ERR, 0};
    default: return {IBV_WC_REM_OP_ERR, 0};
  }
}

std::uint32_t packets_of(const Qp& qp, const Spans& message, ibv_wr_opcode opcode) {
  const std::size_t bytes = bytes_of(message), most = std::size_t{128} << qp.attr.path_mtu;
  return is_atomic(opcode) || bytes == 0 ? 1
                                         : static_cast<std::uint32_t>((bytes + most - 1) / most);
}

}  // namespace

Result carry_out_rc(Qp& qp, Send& work) {
  const ibv_wr_opcode opcode = work.wr.opcode;
  const bool is_send = opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM;
  const bool is_out = is_send || opcode == IBV_WR_RDMA_WRITE;
  const auto local =
      is_out ? payload(qp, work) : local_spans(qp.pd, work.sges, IBV_ACCESS_LOCAL_WRITE);
  if (!local) return {IBV_WC_LOC_PROT_ERR, 0};
  if (bytes_of(*local) > kMaxMessage) return {IBV_WC_LOC_LEN_ERR, 0};
  Qp* const peer = peer_of(qp);
  if (peer == nullptr) return {IBV_WC_RETRY_EXC_ERR, 0};
  Device& device = qp.device_of();
  ++device.carried;
  const bool is_last = device.cut_after != 0 && --device.cut_after == 0;
  if (is_last) set_cut(device, true);
  if (is_last && !device.last_takes_effect) return {IBV_WC_RETRY_EXC_ERR, 0};
  const auto act = is_send                       ? send
                   : opcode == IBV_WR_RDMA_WRITE ? write
                   : opcode == IBV_WR_RDMA_READ  ? read
                                                 : change_word;
  const Result result = act(qp, *peer, *local, work);
  // A peer that is asked for what it must not do takes no more requests either.
  if (result.status == IBV_WC_REM_ACCESS_ERR || result.status == IBV_WC_REM_INV_REQ_ERR)
    fail(*peer);
  if (result.status == IBV_WC_SUCCESS) peer->taken += packets_of(qp, *local, opcode);
  return is_last ? Result{IBV_WC_RETRY_EXC_ERR, 0} : result;
}

// Whether a device is at an atomic of another queue pair, which is not gone meanwhile.
bool is_changing_for_another(const Device& device, const Qp& qp) {
  const auto other = state().qps.find(device.changing);
  return device.changing != qp.qp_num && other != state().qps.end() &&
         other->second->now == IBV_QPS_RTS && !other->second->sends.empty();
}

// The device of the word, if that is what the next send changes, and if it does so in two steps.
Device* changes_apart(const Qp& qp) {
  if (qp.qp_type != IBV_QPT_RC || qp.sends.empty() || !is_atomic(qp.sends.front().wr.opcode))
    return nullptr;
  Qp* const peer = peer_of(qp);
  const bool apart = peer != nullptr && peer->device_of().atomics != IBV_ATOMIC_GLOB;
  return apart ? &peer->device_of() : nullptr;
}

bool waits_for_device(const Qp& qp) {
  const Device* const device = changes_apart(qp);
  return device != nullptr && is_changing_for_another(*device, qp);
}

// True: the word has been read, and is to be written when it is the queue pair's turn again.
bool reads_word(Qp& qp) {
  Device* const device = changes_apart(qp);
  if (device == nullptr || device->changing == qp.qp_num) return false;
  const Qp& peer = *peer_of(qp);
  const auto& atomic = qp.sends.front().wr.wr.atomic;
  const auto remote =
      target(peer, atomic.rkey, atomic.remote_addr, sizeof qp.read, IBV_ACCESS_REMOTE_ATOMIC);
  if (!remote || atomic.remote_addr % sizeof qp.read != 0) return false;
  qp.read = __atomic_load_n(reinterpret_cast<const std::uint64_t*>(remote->base), __ATOMIC_ACQUIRE);
  device->changing = qp.qp_num;
  return true;
}

bool waits_for_receive(const Qp& qp) {
  const ibv_wr_opcode next = qp.sends.front().wr.opcode;
  if (qp.qp_type != IBV_QPT_RC || (next != IBV_WR_SEND && next != IBV_WR_SEND_WITH_IMM))
    return false;
  Qp* const peer = peer_of(qp);
  return peer != nullptr && peer->queue().posted.empty();
}

}  // namespace weft::fake_verbs
