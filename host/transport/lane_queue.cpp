#include "host/transport/lane_queue.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "src/base/status.hpp"

namespace weft {

LaneQueue::LaneQueue(const Routes& routes, Lane lane)
    : routes_(routes), lane_(lane), posted_(routes.transports.size()) {
  // A lane may have been another queue's before.
  for (std::size_t t = 0; t < posted_.size(); ++t)
    posted_[t].store(routes_.transports[t]->completed(lane), std::memory_order_relaxed);
  for (std::uint32_t t = 0; t < posted_.size(); ++t) {
    const bool reaches = std::find(routes.via.begin(), routes.via.end(), t) != routes.via.end();
    if (!reaches && routes.atomics != t) continue;
    const Caps& caps = routes_.transports[t]->caps();
    used_.push_back({t, caps.needs_progress, caps.moves_sooner});
  }
}

Status LaneQueue::post(const Op& op, Ticket* ticket) {
  Status status = post_parts(op, ticket);
  if (!status.is(Code::kBusy)) mark_failed();
  return status;
}

// A transport does not know what another one has brought to a PE, so what is on both sides
// of a fence must not be under way at once.
Status LaneQueue::wait_for_split() {
  if (!split_) return Status::ok();
  if (all_done()) {
    split_ = false;
    return Status::ok();
  }
  flush();
  return Status::error(Code::kBusy, "what comes before a fence is under way by another transport");
}

Status LaneQueue::post_parts(const Op& op, Ticket* ticket) {
  if (op.kind == OpKind::kFence) RETURN_IF_ERROR(wait_for_split());
  if (op.kind == OpKind::kFence && op.pe == kAllPes) return post_fence_to_all(op, ticket);
  if (op.pe >= routes_.via.size())
    return Status::error(
        Code::kOutOfRange,
        fmt::format("PE {} does not exist: this job has PEs 0 to {}", op.pe, routes_.npes() - 1));
  const std::uint32_t transport = routes_.way_of(op);
  const bool moves = op.kind == OpKind::kPut || op.kind == OpKind::kGet;
  if (!moves || op.bytes <= routes_.transports[transport]->caps().max_bytes)
    return post_one(transport, op, ticket);
  return post_pieces(transport, op, ticket);
}

void LaneQueue::mark_failed() {
  fenced_ = 0;
  sent_ = 0;
  pieces_fenced_ = false;
}

Status LaneQueue::post_one(std::uint32_t transport, const Op& op, Ticket* ticket) {
  RETURN_IF_ERROR(routes_.transports[transport]->post(lane_, op));
  const std::uint64_t count = posted_[transport].load(std::memory_order_relaxed) + 1;
  posted_[transport].store(count, std::memory_order_relaxed);
  split_ |= op.kind != OpKind::kFence && routes_.is_split(op.pe);
  if (ticket != nullptr) *ticket = {transport, count};
  return Status::ok();
}

Status LaneQueue::post_fence_to_all(const Op& op, Ticket* ticket) {
  for (; fenced_ < used_.size(); ++fenced_)
    RETURN_IF_ERROR(post_one(used_[fenced_].index, op, ticket));
  return Status::ok();
}

Status LaneQueue::post_pieces(std::uint32_t transport, const Op& op, Ticket* ticket) {
  const Caps& caps = routes_.transports[transport]->caps();
  if (sent_ == 0) RETURN_IF_ERROR(routes_.transports[transport]->check(op));
  Op piece = op;
  piece.notify = NotifyOp::kNone;
  piece.bytes = caps.max_bytes;
  for (; op.bytes - sent_ > caps.max_bytes; sent_ += caps.max_bytes) {
    piece.remote = op.remote + sent_;
    piece.local = op.local + sent_;
    RETURN_IF_ERROR(post_one(transport, piece, nullptr));
  }
  if (op.notify != NotifyOp::kNone && !caps.in_order && !pieces_fenced_) {
    Op fence;
    fence.kind = OpKind::kFence;
    fence.pe = op.pe;
    RETURN_IF_ERROR(post_one(transport, fence, nullptr));
    pieces_fenced_ = true;
  }
  piece.notify = op.notify;
  piece.remote = op.remote + sent_;
  piece.local = op.local + sent_;
  piece.bytes = op.bytes - sent_;
  return post_one(transport, piece, ticket);
}

void LaneQueue::progress() {
  rounds_.store(rounds() + 1, std::memory_order_relaxed);
  for (const Used& each : used_)
    if (each.needs_progress || each.moves_sooner)
      keep(routes_.transports[each.index]->progress(lane_));
}

bool LaneQueue::move_on() {
  bool moved = false;
  for (const Used& each : used_) {
    if (!wants_progress(each)) continue;
    keep(routes_.transports[each.index]->progress(lane_));
    moved = true;
  }
  if (moved) rounds_.store(rounds() + 1, std::memory_order_relaxed);
  return moved;
}

void LaneQueue::flush() {
  for (const Used& each : used_)
    if (!done_up_to(each.index)) keep(routes_.transports[each.index]->flush(lane_));
}

bool LaneQueue::done(Ticket ticket) const {
  return routes_.transports[ticket.transport]->completed(lane_) >= ticket.count;
}

bool LaneQueue::done_up_to(std::size_t transport) const {
  const std::uint64_t posted = posted_[transport].load(std::memory_order_relaxed);
  return routes_.transports[transport]->completed(lane_) >= posted;
}

bool LaneQueue::all_done() const {
  for (const Used& each : used_)
    if (!done_up_to(each.index)) return false;
  return true;
}

bool LaneQueue::all_done(int pe) const {
  const auto at = static_cast<std::size_t>(pe);
  return done_up_to(routes_.via[at]) && (!routes_.is_split(at) || done_up_to(*routes_.atomics));
}

std::uint64_t LaneQueue::outstanding() const {
  std::uint64_t sum = 0;
  for (const Used& each : used_) {
    const std::uint64_t completed = routes_.transports[each.index]->completed(lane_);
    const std::uint64_t posted = posted_[each.index].load(std::memory_order_relaxed);
    if (posted > completed) sum += posted - completed;
  }
  return sum;
}

std::string LaneQueue::describe_outstanding() const {
  std::string text = fmt::format("{} operations of lane {} are not complete", outstanding(),
                                 static_cast<unsigned>(lane_));
  for (const Used& each : used_) {
    const std::string oldest = routes_.transports[each.index]->oldest(lane_);
    if (!oldest.empty())
      text += fmt::format("; the oldest by {}: {}", routes_.transports[each.index]->name(), oldest);
  }
  return text;
}

bool LaneQueue::needs_progress(const Used& each) const {
  return each.needs_progress && !done_up_to(each.index);
}

bool LaneQueue::wants_progress(const Used& each) const {
  return each.moves_sooner || needs_progress(each);
}

bool LaneQueue::needs_progress() const {
  return std::any_of(used_.begin(), used_.end(),
                     [this](const Used& each) { return needs_progress(each); });
}

bool LaneQueue::wants_progress() const {
  return std::any_of(used_.begin(), used_.end(),
                     [this](const Used& each) { return wants_progress(each); });
}

void LaneQueue::keep(Status status) {
  if (status.is_ok() || status.is(Code::kBusy)) return;
  std::lock_guard lock(mutex_);
  if (error_.is_ok()) error_ = std::move(status);
  failed_.store(true, std::memory_order_release);  // pairs with the acquire in take_error
}

Status LaneQueue::take_error() {
  if (!failed_.load(std::memory_order_acquire)) return Status::ok();
  std::lock_guard lock(mutex_);
  failed_.store(false, std::memory_order_relaxed);
  return std::exchange(error_, Status::ok());
}

}  // namespace weft
