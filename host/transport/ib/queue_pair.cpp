#include "host/transport/ib/queue_pair.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "host/transport/ib/reliable.hpp"
#include "src/base/log.hpp"

namespace weft::ib {

namespace {

constexpr std::uint64_t kFirstPauseNs = 20'000'000, kLongestPauseNs = 1'000'000'000;

}  // namespace

std::string QueuePair::describe() const {
  return fmt::format("{} to PE {} on {} ({})", at_.port.name(), ends_.pe,
                     ends_.peer->facts.host_name(), there().text());
}

// --- tying ---------------------------------------------------------------------------------------

Status QueuePair::make_ready() {
  if (state_ == State::kReady) return Status::ok();
  if (state_ != State::kAsks)
    return Status::error(Code::kPeerLost, fmt::format("{} is cut", describe()));
  RETURN_IF_ERROR(ask());
  if (refused_)
    return Status::error(Code::kPeerLost,
                         fmt::format("PE {} on {} could not make a queue pair; its log says why",
                                     ends_.pe, ends_.peer->facts.host_name()));
  if (deadline_.expired())
    return Status::error(
        Code::kPeerLost,
        fmt::format("PE {} on {} ({}) did not answer within {:.0f} s; see that {} reaches it: UDP "
                    "port 4791 open both ways, one subnet or routed",
                    ends_.pe, ends_.peer->facts.host_name(), there().text(), connect_timeout_,
                    at_.port.describe()));
  return Status::error(Code::kBusy, "a queue pair is being connected");
}

Status QueuePair::ask() {
  if (qp_ == nullptr) {
    ASSIGN_OR_RETURN(
        qp_, make_reliable(at_.port,
                           {.sent = at_.done.get(),
                            .received = at_.done.get(),
                            .receives = at_.answers.queue(),
                            .sends = kSends + network::Windows::kStagingSlots + LanePort::kProbes,
                            .access = IBV_ACCESS_LOCAL_WRITE}));
    psn_ = random_psn();
    at_.by_qp[qp_->qp_num] = this;
    deadline_ = Deadline(connect_timeout_);
  }
  if (!is_time_to_ask()) return Status::ok();
  return service_.ask(at_.rail, ends_.pe, ends_.lane, qp_->qp_num, psn_);
}

bool QueuePair::is_time_to_ask() {
  const std::uint64_t now = now_ns();
  if (now < ask_at_ns_) return false;
  pause_ns_ = pause_ns_ == 0 ? kFirstPauseNs : std::min(2 * pause_ns_, kLongestPauseNs);
  ask_at_ns_ = now + pause_ns_;
  return true;
}

Status QueuePair::replied(const ConnectMessage& reply) {
  if (state_ != State::kAsks || !is_known(reply)) return Status::ok();
  if (reply.kind == ConnectMessage::Kind::kReject) {
    refused_ = true;
    return Status::ok();
  }
  RETURN_IF_ERROR(connect_queue_pair(at_.port, qp_.get(), {there(), reply.qp, reply.psn}, psn_));
  packet_bytes_ = packet_bytes(at_.port, there());
  state_ = State::kReady;
  return Status::ok();
}

// --- the end -------------------------------------------------------------------------------------

void QueuePair::break_off() {
  state_ = state_ == State::kReady ? State::kEnding : State::kBroken;
  // Nothing more is read from memory that its owner takes back now.
  ibv_qp_attr ended{};
  ended.qp_state = IBV_QPS_ERR;
  if (qp_ != nullptr) at_.port.modify(qp_.get(), ended, IBV_QP_STATE, "end a queue pair").ignore();
  at_.sends -= std::exchange(sends_, 0);
  held_.clear();
}

Status QueuePair::make_end(std::size_t by_rail) {
  if (state_ != State::kEnding) return Status::ok();
  if (std::exchange(asked_by_, by_rail) != by_rail) {
    deadline_ = Deadline(connect_timeout_);
    ask_at_ns_ = pause_ns_ = 0;
  }
  if (deadline_.expired())
    return Status::error(
        Code::kPeerLost,
        fmt::format("PE {} on {} did not say within {:.0f} s how far {} had come, asked by {}",
                    ends_.pe, ends_.peer->facts.host_name(), connect_timeout_, describe(),
                    ends_.peer->endpoints[by_rail].port.text()));
  if (is_time_to_ask())
    RETURN_IF_ERROR(service_.ask_end(by_rail, ends_.pe, ends_.lane, at_.rail, qp_->qp_num, psn_));
  return Status::error(Code::kBusy, "the other end is asked how far it came");
}

// Counted from the last that was acknowledged, so that 24 bits are enough.
std::uint64_t QueuePair::taken(const ConnectMessage& reply) const {
  const std::uint64_t known = reply.known == 0
                                  ? packets_ + 1
                                  : acknowledged_ + ((reply.psn - psn_ - acknowledged_) & 0xffffff);
  LOG(kInfo, "transport", "ib: {} took {} of {} packets, {} of them acknowledged", describe(),
      known <= packets_ ? std::to_string(known) : "nobody knows how many", packets_, acknowledged_);
  return known;
}

// --- sending -------------------------------------------------------------------------------------

bool QueuePair::has_room(int sends) const {
  return sends_ + sends <= kSends && at_.sends + sends <= LanePort::kSends;
}

// As the network counts them.
std::uint64_t QueuePair::packets_of(const Work& work) const {
  const bool moves =
      work.request.opcode == IBV_WR_RDMA_WRITE || work.request.opcode == IBV_WR_RDMA_READ;
  if (!moves || work.bytes.length == 0) return 1;
  return (work.bytes.length + packet_bytes_ - 1) / packet_bytes_;
}

void QueuePair::probe() {
  const bool is_full =
      sends_ >= kSends + LanePort::kProbes || at_.sends >= LanePort::kSends + LanePort::kProbes;
  if (state_ != State::kReady || is_full) return;
  Work nothing;
  nothing.request.opcode = IBV_WR_RDMA_WRITE;
  give({&nothing, 1}, kProbe);
}

void QueuePair::give(std::span<Work> work, std::uint64_t flight) {
  if (work.empty()) return;
  const auto sends = static_cast<int>(work.size());
  sends_ += sends;
  at_.sends += sends;
  for (const Work& each : work) packets_ += packets_of(each);
  sending_.push_back({flight, sends, packets_});
  if (std::exchange(is_fenced_, false)) work.front().request.send_flags |= IBV_SEND_FENCE;
  for (Work& each : work) {
    each.request.wr_id = flight;
    held_.push_back(each);
  }
}

// A failure here breaks the path: some of the work may be on its way.
Status QueuePair::ring() {
  if (held_.empty()) return Status::ok();
  for (std::size_t i = 0; i < held_.size(); ++i) {
    ibv_send_wr& request = held_[i].request;
    request.sg_list = &held_[i].bytes;
    request.num_sge = held_[i].bytes.length == 0 ? 0 : 1;
    request.next = i + 1 < held_.size() ? &held_[i + 1].request : nullptr;
  }
  held_.back().request.send_flags |= IBV_SEND_SIGNALED;
  ibv_send_wr* bad = nullptr;
  const int error = ibv_post_send(qp_.get(), &held_[0].request, &bad);
  held_.clear();
  return error == 0 ? Status::ok() : failure("send", at_.port.name(), error);
}

}  // namespace weft::ib
