// Ops on their way into a lane: where the bytes are at both ends, the work requests, and when the
// device gets them.
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "host/transport/apply.hpp"
#include "host/transport/ib/lane.hpp"

namespace weft::ib {

namespace {

constexpr std::size_t kMostHeld = 16;

// Nobody is told that it has come, and its bytes are there to be read later.
bool may_be_held(const Op& op) {
  return op.kind == OpKind::kPut && op.notify == NotifyOp::kNone &&
         (op.flags & kOpSourceStays) != 0 && op.bytes <= kInlineBytes;
}

}  // namespace

// Into parts_ what the bytes go to or come from, into word_ what else the device changes there.
Status IbLane::find_target(const Flight& flight) {
  const Op& op = flight.op;
  parts_.clear();
  word_.clear();
  if (flight.by_pane) {
    if (op.bytes != 0 && (op.kind == OpKind::kPut || flight.reading))
      parts_.push_back(
          env_.windows->there(flight.link->pe, flight.pane, op.bytes, flight.path->rail()));
    return Status::ok();
  }
  if (is_amo(op.kind))
    return flight.native ? find(flight, op.remote, op.width, word_) : Status::ok();
  RETURN_IF_ERROR(find(flight, op.remote, op.bytes, parts_));
  if (op.notify == NotifyOp::kNone || flight.asking) return Status::ok();
  return find(flight, op.signal, sizeof op.value, word_);
}

Status IbLane::find(const Flight& flight, std::uint64_t offset, std::uint64_t bytes,
                    std::vector<Heaps::There>& parts) const {
  const Op& op = flight.op;
  const std::size_t rail = flight.path->rail();
  if (env_.heaps->find(static_cast<int>(op.pe), offset, bytes, parts, rail)) return Status::ok();
  return Status::error(
      Code::kOutOfRange,
      fmt::format("{}: offset {:#x} was adopted memory, and is no longer", describe(op), offset));
}

// Small bytes go along; those that stay where the device reaches are used there, others copied.
Status IbLane::take_local(Flight& flight) const {
  const Op& op = flight.op;
  if (is_amo(op.kind))
    return flight.native && (flight.loops || is_fetching(op.kind)) ? stage(flight, sizeof op.value)
                                                                   : Status::ok();
  const auto* const bytes = reinterpret_cast<const std::byte*>(op.local);
  const bool is_put = op.kind == OpKind::kPut;
  if (is_put && (op.bytes == 0 || (op.bytes <= kInlineBytes && env_.own.is_host(bytes)))) {
    flight.is_small = true;
    if (op.bytes != 0) std::memcpy(flight.small.data(), bytes, op.bytes);
    return Status::ok();
  }
  if (op.bytes == 0 || env_.own.key_of(op)) return Status::ok();
  RETURN_IF_ERROR(stage(flight, op.bytes));
  if (!is_put) return Status::ok();
  Status copied = env_.own.copy(flight.room.base, bytes, op.bytes);
  if (!copied.is_ok()) env_.staging->give(flight.room);
  return copied;
}

Status IbLane::stage(Flight& flight, std::uint64_t bytes) const {
  ASSIGN_OR_RETURN(flight.room, env_.staging->take(bytes));
  if (flight.room.base == nullptr) return Status::error(Code::kBusy, "no staging memory is free");
  return Status::ok();
}

Piece IbLane::mine(const Flight& flight) const {
  const Op& op = flight.op;
  if (flight.is_small) return {address_of(flight.small.data()), 0, true};
  const std::size_t rail = flight.path->rail();
  if (flight.room.base != nullptr) return {address_of(flight.room.base), env_.staging->key(rail)};
  return {op.local, env_.own.key_of(op, rail).value_or(0)};
}

Piece IbLane::old_value(const Flight& flight) const {
  const LanePort& at = flight.path->at();
  if (flight.room.base == nullptr) return {address_of(at.nowhere.base()), at.nowhere.key()};
  return {address_of(flight.room.base), env_.staging->key(at.rail)};
}

Request IbLane::request_of(const Flight& flight, std::uint64_t number) const {
  const Op& op = flight.op;
  Request ask{.ticket = number,
              .sequence = flight.sequence,
              .remote = op.remote,
              .value = op.value,
              .compare = op.compare,
              .kind = op.kind,
              .width = op.width};
  if (flight.by_pane) {
    ask.signal = op.signal;
    ask.bytes = static_cast<std::uint32_t>(op.bytes);
    ask.notify = op.notify;
    ask.pane = static_cast<std::int8_t>(flight.pane);
  } else if (adds(op)) {
    ask.remote = op.signal;
    ask.kind = OpKind::kAmoAdd;
    ask.width = sizeof op.value;
  }
  return ask;
}

// Into work_, of what find_target() found. Refers to the flight, which must be in its place.
void IbLane::build(const Flight& flight, std::uint64_t number) {
  const Op& op = flight.op;
  work_.clear();
  if (!is_amo(op.kind) && !parts_.empty() && !flight.is_there)
    work_.transfer(op.kind == OpKind::kPut ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ, parts_,
                   mine(flight));
  if (op.kind == OpKind::kPut && op.notify == NotifyOp::kSet && !flight.by_pane)
    work_.transfer(IBV_WR_RDMA_WRITE, word_, {address_of(&op.value), 0, true});
  if (flight.native) {
    if (adds(op))
      work_.add(op.value, word_[0], old_value(flight));
    else if (flight.loops)
      work_.step(op, flight.seen, word_[0], old_value(flight));
    else
      work_.atomic(op, word_[0], old_value(flight));
  }
  if (!flight.asking) return;
  request_ = request_of(flight, number);
  work_.message(request_);
}

void IbLane::send(const Flight& taken) {
  Link& link = *taken.link;
  const std::uint64_t number = flights_.next();
  Flight& flight = flights_.add(taken);
  if (flight.asking) flight.sequence = ++link.sequence;
  link.requests += flight.asking ? 1 : 0;
  requests_ += flight.asking ? 1 : 0;
  link.natives += flight.native ? 1 : 0;
  link.loops += flight.loops ? 1 : 0;
  link.apart += flight.apart ? 1 : 0;
  Path& path = *taken.path;
  build(flight, number);
  give(flight, number, work_);
  if (taken.asking || !may_be_held(taken.op) || path.held() >= kMostHeld) ring(path);
  retire();
}

void IbLane::give(Flight& flight, std::uint64_t number, WorkList& work) {
  Path& path = *flight.path;
  flight.sending += work.all().empty() ? 0 : 1;
  if (path.held() == 0) holding_.push_back(&path);
  path.give(work.all(), number);
}

void IbLane::ring(Path& path) {
  std::erase(holding_, &path);
  if (Status rung = path.ring(); !rung.is_ok()) fail(path, std::move(rung));
}

void IbLane::ring_all() {
  while (!holding_.empty()) ring(*holding_.back());
}

}  // namespace weft::ib
