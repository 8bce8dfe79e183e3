#include "tests/device/late_proxy.hpp"

#include <cstring>
#include <utility>

#include <weft/dev/fault.hpp>
#include <weft/dev/ring.hpp>

#include "host/transport/apply.hpp"

namespace weft::test {
namespace {

bool is_held(const Op& op) { return op.kind == OpKind::kPut && op.notify == NotifyOp::kNone; }

bool covers(const Op& fence, std::uint32_t pe) {
  return fence.kind == OpKind::kFence && (fence.pe == kAllPes || fence.pe == pe);
}

}  // namespace

bool take_fault(FaultRecord& record, FaultRecord* out) { return dev::take_fault(record, out); }

LateProxy::LateProxy(const RingView& ring, HeapOf heap_of, std::uint64_t seed)
    : ring_(ring), heap_of_(std::move(heap_of)), random_(seed) {}

LateProxy::~LateProxy() { stop(); }

void LateProxy::start() {
  thread_ = std::thread([this] {
    while (!stop_.load(std::memory_order_relaxed))
      if (!step()) std::this_thread::yield();
    while (step()) {
    }
  });
}

void LateProxy::stop() {
  stop_.store(true, std::memory_order_relaxed);
  if (thread_.joinable()) thread_.join();
}

bool LateProxy::step() {
  const bool took = take();
  const bool delivered = deliver();
  return took || delivered;
}

bool LateProxy::take() {
  bool took = false;
  for (std::uint64_t left = random_() % 4 + 1; left > 0; --left) {
    Pending next;
    if (!dev::ring::pop(ring_, taken_, next.op)) break;
    if (next.op.kind == OpKind::kPut && (next.op.flags & kOpSourceStays) == 0 &&
        next.op.bytes != 0) {
      next.source.resize(next.op.bytes);
      std::memcpy(next.source.data(), reinterpret_cast<void*>(next.op.local), next.op.bytes);
      next.op.local = reinterpret_cast<std::uintptr_t>(next.source.data());
    }
    pending_.push_back(std::move(next));
    dev::ring::free_slots(ring_, ++taken_);
    took = true;
  }
  return took;
}

bool LateProxy::deliver() {
  const bool waited_for = dev::ring::wanted(ring_) > completed_;
  std::vector<std::size_t> ready;
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    const Pending& p = pending_[i];
    if (!p.delivered && (waited_for || (!is_held(p.op) && p.op.kind != OpKind::kFence)))
      ready.push_back(i);
  }
  if (!ready.empty()) deliver_with_what_it_needs(ready[random_() % ready.size()]);
  bool completed = false;
  while (!pending_.empty() && pending_.front().delivered) {
    pending_.pop_front();
    ++completed_;
    completed = true;
  }
  if (completed) dev::ring::complete(ring_, completed_);
  return !ready.empty() || completed;
}

void LateProxy::deliver_with_what_it_needs(std::size_t index) {
  std::size_t last_fence = 0;
  const Op& op = pending_[index].op;
  for (std::size_t i = 0; i < index; ++i)
    if (covers(pending_[i].op, op.pe)) last_fence = i;
  for (std::size_t i = 0; i < last_fence; ++i)
    if (!pending_[i].delivered && pending_[i].op.pe == op.pe) deliver_with_what_it_needs(i);
  apply(op);
  pending_[index].delivered = true;
}

void LateProxy::apply(const Op& op) {
  if (op.kind == OpKind::kFence) return;
  std::byte* heap = heap_of_(op.pe);
  if (op.kind == OpKind::kPut) {
    put_to(heap + op.remote, reinterpret_cast<void*>(op.local), op.bytes);
    if (op.notify != NotifyOp::kNone)
      notify_at(reinterpret_cast<std::uint64_t*>(heap + op.signal), op.notify, op.value);
  } else if (op.kind == OpKind::kGet) {
    get_from(reinterpret_cast<void*>(op.local), heap + op.remote, op.bytes);
  } else {
    const std::uint64_t old = amo_at(op.kind, heap + op.remote, op.width, op.value, op.compare);
    if (is_fetching(op.kind)) std::memcpy(reinterpret_cast<void*>(op.result), &old, op.width);
  }
}

}  // namespace weft::test
