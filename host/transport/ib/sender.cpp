#include "host/transport/ib/sender.hpp"

#include "host/transport/apply.hpp"
#include "host/transport/ib/atomic_emulation.hpp"

namespace weft::ib {

namespace {

constexpr std::size_t kMostHeld = 16;

}  // namespace

Status Sender::find_target(const InFlightRequest& request) {
  const Op& op = request.op;
  parts_.clear();
  word_.clear();
  if (request.method == Method::kStagingSlot) {
    if (op.bytes != 0 && (op.kind == OpKind::kPut || request.is_reading()))
      parts_.push_back(memory_.staging_slot(request));
    return Status::ok();
  }
  if (is_amo(op.kind))
    return is_by_device(request.method) ? memory_.find(request, op.remote, op.width, word_)
                                        : Status::ok();
  RETURN_IF_ERROR(memory_.find(request, op.remote, op.bytes, parts_));
  if (op.notify == NotifyOp::kNone || asks_owner(request.method)) return Status::ok();
  return memory_.find(request, op.signal, sizeof op.value, word_);
}

void Sender::post(InFlightRequest& request, Number number) {
  build(request, number);
  hand_over(request, number);
}

void Sender::build(const InFlightRequest& request, Number number) {
  const Op& op = request.op;
  work_.clear();
  if (!is_amo(op.kind) && !parts_.empty() && !request.bytes_there)
    work_.transfer(op.kind == OpKind::kPut ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ, parts_,
                   memory_.local(request));
  if (op.kind == OpKind::kPut && op.notify == NotifyOp::kSet &&
      request.method != Method::kStagingSlot)
    work_.transfer(IBV_WR_RDMA_WRITE, word_, {address_of(&op.value), 0, true});
  if (request.method == Method::kDeviceAtomic) {
    if (adds(op))
      work_.add(op.value, word_[0], memory_.old_value(request));
    else
      work_.atomic(op, word_[0], memory_.old_value(request));
  } else if (request.method == Method::kCompareSwap) {
    work_.compare_swap(request.expected, changed_word(op, request.expected), word_[0],
                       memory_.old_value(request));
  }
  if (!request.expects_reply()) return;
  request_ = request_to_owner(request, number);
  work_.message(request_);
}

Status Sender::post_step(InFlightRequest& request, Number number) {
  const Op& op = request.op;
  std::vector<Heaps::There> word;
  RETURN_IF_ERROR(memory_.find(request, op.remote, op.width, word));
  work_.clear();
  work_.compare_swap(request.expected, changed_word(op, request.expected), word[0],
                     memory_.old_value(request));
  hand_over(request, number);
  return Status::ok();
}

void Sender::post_read(InFlightRequest& request, Number number) {
  const Heaps::There there = memory_.staging_slot(request);
  work_.clear();
  work_.transfer(IBV_WR_RDMA_READ, {&there, 1}, memory_.local(request));
  hand_over(request, number);
}

void Sender::post_request(InFlightRequest& request, Number number) {
  request_ = request_to_owner(request, number);
  work_.clear();
  work_.message(request_);
  hand_over(request, number);
}

void Sender::hand_over(InFlightRequest& request, Number number) {
  if (work_.all().empty()) {
    request.nothing_posted();
    return;
  }
  QueuePair& path = *request.path;
  request.work_posted();
  if (path.held() == 0) holding_.push_back(&path);
  path.give(work_.all(), number);
}

// No notify says that it has come, and its bytes are there to be read later.
bool Sender::may_be_held(const InFlightRequest& request) {
  const Op& op = request.op;
  return op.kind == OpKind::kPut && op.notify == NotifyOp::kNone &&
         (op.flags & kOpSourceStays) != 0 && op.bytes <= kInlineBytes &&
         !asks_owner(request.method) && request.path->held() < kMostHeld;
}

Status Sender::ring(QueuePair& path) {
  forget(path);
  return path.ring();
}

Request request_to_owner(const InFlightRequest& request, InFlightRequests::Number number) {
  const Op& op = request.op;
  Request ask{.ticket = number,
              .sequence = request.sequence,
              .remote = op.remote,
              .value = op.value,
              .compare = op.compare,
              .kind = op.kind,
              .width = op.width};
  if (request.method == Method::kStagingSlot) {
    ask.signal = op.signal;
    ask.bytes = static_cast<std::uint32_t>(op.bytes);
    ask.notify = op.notify;
    ask.staging_slot = static_cast<std::int8_t>(request.staging_slot);
  } else if (adds(op)) {
    ask.remote = op.signal;
    ask.kind = OpKind::kAmoAdd;
    ask.width = sizeof op.value;
  }
  return ask;
}

}  // namespace weft::ib
