#include "host/transport/fault/lane.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "host/transport/apply.hpp"
#include "src/base/status.hpp"

namespace weft {

namespace {

// Splitmix64: small, and the same everywhere.
std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

bool is_plain_put(const Op& op) { return op.kind == OpKind::kPut && op.notify == NotifyOp::kNone; }

// Bytes of such an op may move twice without a legal program noticing. Words may not: a waiter
// could poll one, reset it, and then see it set again. Nor may atomics and notifies.
bool may_move_twice(const Op& op) {
  const bool word = op.bytes == 1 || op.bytes == 2 || op.bytes == 4 || op.bytes == 8;
  return op.kind == OpKind::kGet || (op.kind == OpKind::kPut && op.bytes != 0 && !word);
}

}  // namespace

FaultLane::FaultLane(Transport& inner, Lane lane, const FaultSpec& spec, int my_pe)
    : inner_(inner), lane_(lane), spec_(spec), random_(spec.seed) {
  // Another stream of numbers for each PE and lane.
  random_ ^= next_random(random_) + (static_cast<std::uint64_t>(my_pe) << 20) +
             static_cast<std::uint64_t>(lane);
  next_random(random_);
}

bool FaultLane::chance(double probability) {
  if (probability <= 0) return false;
  return static_cast<double>(next_random(random_) >> 11) * 0x1p-53 < probability;
}

std::uint64_t FaultLane::random_below(std::uint64_t n) { return next_random(random_) % n; }

bool FaultLane::is_killed(const Op& op) const {
  return spec_.kill_pe >= 0 && op.pe == static_cast<std::uint32_t>(spec_.kill_pe) &&
         to_killed_ > spec_.kill_after;
}

// The failures that post() itself can show.
Status FaultLane::refuse(const Op& op) {
  if (chance(spec_.busy)) return Status::busy();
  if (spec_.fail_after != 0 && posted_ >= spec_.fail_after)
    return Status::error(
        Code::kIo,
        fmt::format("{}: injected failure after {} ops of lane {} "
                    "(WEFT_FAULT: fail_after={})",
                    describe(op), posted_, static_cast<std::uint32_t>(lane_), spec_.fail_after));
  if (spec_.kill_pe >= 0 && op.pe == static_cast<std::uint32_t>(spec_.kill_pe)) ++to_killed_;
  if (is_killed(op))
    return Status::error(Code::kPeerLost,
                         fmt::format("{}: PE {} is gone (WEFT_FAULT: kill_pe={}, kill_after={})",
                                     describe(op), op.pe, spec_.kill_pe, spec_.kill_after));
  return Status::ok();
}

Status FaultLane::post(const Op& op) {
  std::lock_guard lock(mutex_);
  RETURN_IF_ERROR(refuse(op));
  ++posted_;
  done_.push_back(false);
  if (op.kind == OpKind::kFence) {
    raise_epoch(op);
    finish(posted_);
    return Status::ok();
  }
  if (chance(spec_.drop)) return Status::ok();  // and never complete
  held_ops_ += 1;
  held_bytes_ += op.bytes;
  queues_[op.pe].held.push_back(hold(op));
  if (over_limit()) release_all(1);
  if (!spec_.late || over_limit()) deliver_due();
  return Status::ok();
}

void FaultLane::raise_epoch(const Op& fence) {
  for (auto& [pe, queue] : queues_)
    if (fence.pe == kAllPes || fence.pe == pe) ++queue.epoch;
}

FaultLane::Held FaultLane::hold(const Op& op) {
  Held held{op, posted_, queues_[op.pe].epoch, due_of(op), {}};
  const bool source_goes_away = (op.flags & kOpSourceStays) == 0;
  if (op.kind == OpKind::kPut && op.bytes != 0 && source_goes_away) {
    const auto* source = reinterpret_cast<const std::byte*>(op.local);
    held.copy.assign(source, source + op.bytes);
    held.op.local = reinterpret_cast<std::uint64_t>(held.copy.data());
    held.op.flags |= kOpSourceStays;  // the copy does
  }
  return held;
}

std::uint64_t FaultLane::due_of(const Op& op) {
  const std::uint64_t delay = chance(spec_.delay) ? 1 + random_below(spec_.delay_calls) : 0;
  if (!spec_.late) return tick_ + delay;
  return is_plain_put(op) ? kNever : tick_ + 1 + delay + random_below(4);
}

bool FaultLane::over_limit() const { return held_ops_ > kHoldOps || held_bytes_ > kHoldBytes; }

void FaultLane::release_all(std::uint64_t spread) {
  for (auto& [pe, queue] : queues_)
    for (Held& held : queue.held)
      if (held.due == kNever) held.due = tick_ + random_below(spread);
}

Status FaultLane::progress() {
  std::lock_guard lock(mutex_);
  ++tick_;
  Status moved = inner_.progress(lane_);
  if (!moved.is_ok() && !moved.is(Code::kBusy) && error_.is_ok()) error_ = std::move(moved);
  deliver_due();
  collect_inner();
  return std::exchange(error_, Status::ok());
}

Status FaultLane::flush() {
  std::lock_guard lock(mutex_);
  release_all(4);
  return inner_.flush(lane_);
}

void FaultLane::deliver_due() {
  for (auto& [pe, queue] : queues_)
    while (deliver_some(queue)) continue;
  collect_inner();
}

// One epoch's worth. True if the epoch is through and the next may be looked at.
bool FaultLane::deliver_some(Queue& queue) {
  std::uint64_t wanted = 0, first = kNever;
  bool due = false;
  for (const Held& held : queue.held) {
    first = std::min(first, held.epoch);
    if (held.due > tick_) continue;
    due = true;
    wanted = std::max(wanted, held.epoch);
  }
  if (!due) return false;
  // An op that must go takes along what is fenced before it.
  for (Held& held : queue.held)
    if (held.epoch < wanted && held.due == kNever) held.due = tick_;
  return deliver_epoch(queue, first);
}

bool FaultLane::deliver_epoch(Queue& queue, std::uint64_t epoch) {
  std::vector<Held*> ready;
  bool left = false;
  for (Held& held : queue.held) {
    if (held.epoch != epoch) continue;
    if (held.due <= tick_)
      ready.push_back(&held);
    else
      left = true;
  }
  if (spec_.late)
    for (std::size_t i = ready.size(); i > 1; --i) std::swap(ready[i - 1], ready[random_below(i)]);
  for (Held* held : ready) {
    Status status = hand_on(queue, *held);
    if (status.is(Code::kBusy)) {
      left = true;
      break;
    }
    if (!status.is_ok()) {
      if (error_.is_ok()) error_ = std::move(status);
      finish(held->ticket);
    }
    held->op.kind = OpKind::kNone;  // gone from here
  }
  drop_delivered(queue);
  return !left && !ready.empty();
}

// kBusy: not yet. Another failure: never.
Status FaultLane::hand_on(Queue& queue, Held& held) {
  if (is_killed(held.op))
    return Status::error(Code::kPeerLost,
                         fmt::format("{}: PE {} is gone (WEFT_FAULT: kill_pe={})",
                                     describe(held.op), held.op.pe, spec_.kill_pe));
  if (queue.fenced < held.epoch) {
    Op fence;
    fence.kind = OpKind::kFence;
    fence.pe = held.op.pe;
    RETURN_IF_ERROR(inner_.post(lane_, fence));
    ++inner_posted_;
    queue.fenced = held.epoch;
  }
  if (inner_.caps().in_order && may_move_twice(held.op) && chance(spec_.duplicate)) {
    Op copy = held.op;
    copy.notify = NotifyOp::kNone;
    RETURN_IF_ERROR(inner_.post(lane_, copy));
    ++inner_posted_;
  }
  RETURN_IF_ERROR(inner_.post(lane_, held.op));
  in_flight_.push_back({++inner_posted_, held.ticket, std::move(held.copy)});
  return Status::ok();
}

void FaultLane::drop_delivered(Queue& queue) {
  std::erase_if(queue.held, [this](const Held& held) {
    if (held.op.kind != OpKind::kNone) return false;
    held_ops_ -= 1;
    held_bytes_ -= held.op.bytes;
    return true;
  });
}

void FaultLane::collect_inner() {
  const std::uint64_t done = inner_.completed(lane_);
  while (!in_flight_.empty() && in_flight_.front().inner <= done) {
    finish(in_flight_.front().ticket);
    in_flight_.pop_front();
  }
}

void FaultLane::finish(std::uint64_t ticket) {
  std::uint64_t completed = completed_.load(std::memory_order_relaxed);
  done_[ticket - completed - 1] = true;
  while (!done_.empty() && done_.front()) {
    done_.pop_front();
    ++completed;
  }
  completed_.store(completed, std::memory_order_release);  // pairs with the acquire in completed()
}

}  // namespace weft
