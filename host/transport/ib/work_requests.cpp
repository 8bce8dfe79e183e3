#include "host/transport/ib/work_requests.hpp"

namespace weft::ib {

bool is_native(const Op& op) {
  if (op.width != sizeof(std::uint64_t)) return false;
  return op.kind == OpKind::kAmoAdd || op.kind == OpKind::kAmoFetchAdd ||
         op.kind == OpKind::kAmoFetch || op.kind == OpKind::kAmoCompareSwap;
}

void WorkList::transfer(ibv_wr_opcode opcode, std::span<const There> parts, const Piece& mine) {
  std::uint64_t local = mine.address;
  for (const There& part : parts) {
    Work& work = list_.emplace_back();
    work.bytes = {local, static_cast<std::uint32_t>(part.bytes),
                  static_cast<std::uint32_t>(mine.key)};
    work.request.opcode = opcode;
    work.request.send_flags = mine.is_inline ? unsigned{IBV_SEND_INLINE} : 0u;
    work.request.wr.rdma.remote_addr = part.address;
    work.request.wr.rdma.rkey = static_cast<std::uint32_t>(part.key);
    local += part.bytes;
  }
}

void WorkList::message(const Request& request) {
  Work& work = list_.emplace_back();
  work.bytes = {address_of(&request), sizeof request, 0};
  work.request.opcode = IBV_WR_SEND;
  work.request.send_flags = IBV_SEND_INLINE;
}

void WorkList::add(std::uint64_t value, const There& word, const Piece& old) {
  Work& work = list_.emplace_back();
  work.bytes = {old.address, sizeof(std::uint64_t), static_cast<std::uint32_t>(old.key)};
  work.request.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
  work.request.wr.atomic.remote_addr = word.address;
  work.request.wr.atomic.rkey = static_cast<std::uint32_t>(word.key);
  work.request.wr.atomic.compare_add = value;
}

void WorkList::atomic(const Op& op, const There& word, const Piece& old) {
  if (op.kind == OpKind::kAmoCompareSwap) return compare_swap(op.compare, op.value, word, old);
  add(op.kind == OpKind::kAmoFetch ? 0 : op.value, word, old);
}

void WorkList::compare_swap(std::uint64_t expected, std::uint64_t desired, const There& word,
                            const Piece& old) {
  add(0, word, old);
  ibv_send_wr& request = list_.back().request;
  request.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
  request.wr.atomic.compare_add = expected;
  request.wr.atomic.swap = desired;
}

}  // namespace weft::ib
