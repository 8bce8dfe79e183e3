#include "host/transport/ib/lane.hpp"

#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "host/transport/apply.hpp"

namespace weft::ib {

namespace {

constexpr std::size_t kMostHeld = 16;

// Nobody is told that it has come, and its bytes are there to be read later.
bool may_be_held(const Op& op) {
  return op.kind == OpKind::kPut && op.notify == NotifyOp::kNone &&
         (op.flags & kOpSourceStays) != 0 && op.bytes <= kInlineBytes;
}
// A piece of something larger, or as large.
bool is_piece(const Op& op) {
  return !is_amo(op.kind) && op.bytes == Staging::kMostBytes && op.notify == NotifyOp::kNone;
}
bool adds(const Op& op) { return op.kind == OpKind::kPut && op.notify == NotifyOp::kAdd; }

}  // namespace

Status IbLane::open() {
  if (!links_.empty()) return Status::ok();
  ports_.clear();
  for (const Port& port : env_.rails->ports()) {
    ASSIGN_OR_RETURN(std::unique_ptr<LanePort> made, LanePort::open(port, ports_.size()));
    ports_.push_back(std::move(made));
  }
  links_.resize(env_.peers->size());
  return Status::ok();
}

Status IbLane::post(const Op& op) {
  const std::lock_guard lock(mutex_);
  if (op.kind == OpKind::kFence) return post_fence(op);
  RETURN_IF_ERROR(open());
  Link& link = link_to(static_cast<int>(op.pe));
  RETURN_IF_ERROR(make_ready(link));
  return post_on(link, op);
}

Status IbLane::progress() {
  const std::lock_guard lock(mutex_);
  ring_all();
  if (!links_.empty()) poll();
  return std::exchange(error_, Status::ok());
}

void IbLane::flush() {
  const std::lock_guard lock(mutex_);
  ring_all();
}

// --- links ---------------------------------------------------------------------------------------

IbLane::Link& IbLane::link_to(int pe) {
  auto& link = links_[static_cast<std::size_t>(pe)];
  if (link == nullptr) {
    const PathEnds ends{number_, pe, &(*env_.peers)[static_cast<std::size_t>(pe)]};
    link = std::make_unique<Link>();
    link->pe = pe;
    for (std::size_t rail = 0; rail < env_.rails->to(*ends.peer); ++rail)
      link->paths.push_back(
          std::make_unique<Path>(ends, *ports_[rail], *env_.service, env_.dial_timeout));
  }
  return *link;
}

// kBusy until the other end has answered.
Status IbLane::make_ready(Link& link) {
  if (!link.broken.is_ok()) return link.broken;
  Status ready = link.main_path().make_ready();
  if (!ready.is_ok() && !ready.is(Code::kBusy)) break_off(link, ready);
  return ready;
}

void IbLane::replied(const Dial& reply, std::size_t rail) {
  const std::lock_guard lock(mutex_);
  if (links_.empty() || links_[static_cast<std::size_t>(reply.from)] == nullptr) return;
  Link& link = *links_[static_cast<std::size_t>(reply.from)];
  if (rail >= link.paths.size()) return;
  if (Status used = link.paths[rail]->replied(reply); !used.is_ok())
    break_off(link, std::move(used));
}

// --- posting -------------------------------------------------------------------------------------

// Complete at once: it orders, and has nothing to wait for.
Status IbLane::post_fence(const Op& op) {
  if (!links_.empty()) poll();
  for (const auto& link : links_) {
    if (link == nullptr || (op.pe != kAllPes && op.pe != static_cast<std::uint32_t>(link->pe)))
      continue;
    link->fenced = link->requests > 0 || link->apart > 0;
    link->fenced_at = flights_.next();
    if (link->natives > 0) link->main_path().fence();
  }
  flights_.add({.op = op});
  flights_.retire();
  return Status::ok();
}

Status IbLane::post_on(Link& link, const Op& op) {
  const bool is_atomic = is_amo(op.kind) || adds(op);
  Path& path = is_piece(op) ? path_of_piece(link) : link.main_path();
  Flight flight{.op = op, .link = &link, .path = &path, .apart = path.rail() != link.main};
  flight.native = is_atomic && path.is_native() && (adds(op) || is_native(op));
  flight.asking = is_atomic && !flight.native;
  // The owner executes requests in order, so those pass a fence behind requests.
  const auto waits = [&] {
    return link.fenced && (link.apart > 0 || !flight.asking || !is_amo(op.kind));
  };
  if (waits()) poll();
  if (waits()) return Status::error(Code::kBusy, "what comes before a fence is under way");
  if (flight.asking) RETURN_IF_ERROR(make_room_for_request());
  RETURN_IF_ERROR(find_target(flight));
  RETURN_IF_ERROR(make_room(flight, static_cast<int>(parts_.size()) + 1));
  RETURN_IF_ERROR(take_local(flight));
  send(flight);
  return Status::ok();
}

// The rail whose turn it is, if it is tied: until then pieces go by the first. And as long as what
// a fence has parted from them is under way.
Path& IbLane::path_of_piece(Link& link) {
  if (link.paths.size() == 1 || flights_.first() < link.fenced_at) return link.main_path();
  link.next = (link.next + 1) % link.paths.size();
  Path& path = *link.paths[link.next];
  if (path.state() != Path::State::kAsks) return path;
  const Status ready = path.make_ready();
  return ready.is_ok() ? path : link.main_path();
}

// kBusy unless so many more work requests may be under way.
Status IbLane::make_room(const Flight& flight, int sends) {
  if (!flight.path->has_room(sends)) {
    ring_all();
    poll();
  }
  if (!flight.link->broken.is_ok()) return flight.link->broken;
  return flight.path->has_room(sends) ? Status::ok()
                                      : Status::error(Code::kBusy, "the send queue is full");
}

// kBusy unless one more request may wait for its answer.
Status IbLane::make_room_for_request() {
  if (requests_ == kLaneRequests) poll();
  if (requests_ < kLaneRequests) return Status::ok();
  return Status::error(Code::kBusy, "too many requests are under way");
}

// Into parts_ what the bytes go to or come from, into word_ what else the device changes there.
Status IbLane::find_target(const Flight& flight) {
  const Op& op = flight.op;
  parts_.clear();
  word_.clear();
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
    return flight.native && is_fetching(op.kind) ? stage(flight, sizeof op.value) : Status::ok();
  const auto* const bytes = reinterpret_cast<const std::byte*>(op.local);
  const bool is_put = op.kind == OpKind::kPut;
  if (is_put && op.bytes <= kInlineBytes) {
    flight.is_small = true;
    if (op.bytes != 0) std::memcpy(flight.small.data(), bytes, op.bytes);
    return Status::ok();
  }
  const bool stays = !is_put || (op.flags & kOpSourceStays) != 0;
  if (op.bytes == 0 || (stays && env_.heaps->key_of(bytes, op.bytes))) return Status::ok();
  RETURN_IF_ERROR(stage(flight, op.bytes));
  if (is_put) std::memcpy(flight.room.base, bytes, op.bytes);
  return Status::ok();
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
  const auto key = env_.heaps->key_of(reinterpret_cast<const void*>(op.local), op.bytes, rail);
  return {op.local, key.value_or(0)};
}

Piece IbLane::old_value(const Flight& flight) const {
  const LanePort& at = flight.path->at();
  if (!is_fetching(flight.op.kind)) return {address_of(at.nowhere.base()), at.nowhere.key()};
  return {address_of(flight.room.base), env_.staging->key(at.rail)};
}

// Into work_, of what find_target() found. Refers to the flight, which must be in its place.
void IbLane::build(const Flight& flight, std::uint64_t number) {
  const Op& op = flight.op;
  work_.clear();
  if (!is_amo(op.kind) && op.bytes != 0)
    work_.transfer(op.kind == OpKind::kPut ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ, parts_,
                   mine(flight));
  if (op.kind == OpKind::kPut && op.notify == NotifyOp::kSet)
    work_.transfer(IBV_WR_RDMA_WRITE, word_, {address_of(&op.value), 0, true});
  if (flight.native) {
    if (adds(op))
      work_.add(op.value, word_[0], old_value(flight));
    else
      work_.atomic(op, word_[0], old_value(flight));
  }
  if (!flight.asking) return;
  request_ = {.ticket = number,
              .remote = adds(op) ? op.signal : op.remote,
              .value = op.value,
              .compare = op.compare,
              .kind = adds(op) ? OpKind::kAmoAdd : op.kind,
              .width = adds(op) ? std::uint8_t{sizeof op.value} : op.width};
  work_.message(request_);
}

void IbLane::send(const Flight& taken) {
  Link& link = *taken.link;
  const std::uint64_t number = flights_.next();
  Flight& flight = flights_.add(taken);
  build(flight, number);
  flight.sending = !work_.all().empty();
  link.requests += flight.asking ? 1 : 0;
  requests_ += flight.asking ? 1 : 0;
  link.natives += flight.native ? 1 : 0;
  link.apart += flight.apart ? 1 : 0;
  Path& path = *taken.path;
  if (path.held() == 0) holding_.push_back(&path);
  path.give(work_.all(), number);
  if (!may_be_held(taken.op) || path.held() >= kMostHeld) ring(path);
  flights_.retire();
}

void IbLane::ring(Path& path) {
  std::erase(holding_, &path);
  if (Status rung = path.ring(); !rung.is_ok()) break_off(link_to(path.pe()), std::move(rung));
}

void IbLane::ring_all() {
  while (!holding_.empty()) ring(*holding_.back());
}

}  // namespace weft::ib
