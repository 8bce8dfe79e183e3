// Completions and replies of a lane: what they mean, and to which part they go.
#include <array>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "host/transport/apply.hpp"
#include "host/transport/ib/lane.hpp"
#include "src/base/log.hpp"

namespace weft::ib {

namespace {

// Whether it may be the port or the network, so that another way may be better; or what was asked.
bool is_of_the_way(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_LOC_LEN_ERR:
    case IBV_WC_LOC_PROT_ERR:
    case IBV_WC_LOC_ACCESS_ERR:
    case IBV_WC_REM_ACCESS_ERR:
    case IBV_WC_REM_INV_REQ_ERR: return false;
    default: return true;
  }
}

std::string how_far(const InFlightRequest& request) {
  const char* const state = request.is_replay()       ? "waits for another port"
                            : request.work > 0        ? "has been handed to the device"
                            : request.expects_reply() ? "waits for its owner's answer"
                                                      : "waits for what it compares with";
  return fmt::format("{}: {}, {}", describe(request.op), request.path->describe(), state);
}

}  // namespace

void IbLane::poll() {
  for (const auto& port : connections_.ports()) poll(*port);
  in_flight_.retire();
}

void IbLane::poll(LanePort& port) {
  std::array<ibv_wc, 32> done;
  int count = 0;
  do {
    count = ibv_poll_cq(port.done.get(), static_cast<int>(done.size()), done.data());
    for (int i = 0; i < count; ++i) take(port, done[static_cast<std::size_t>(i)]);
  } while (count == static_cast<int>(done.size()));
}

void IbLane::take(LanePort& port, const ibv_wc& done) {
  const auto found = port.by_qp.find(done.qp_num);
  if (found == port.by_qp.end()) return;
  if (done.status == IBV_WC_SUCCESS && done.wr_id >= LanePort::kAnswers)
    return take_reply(port, done);
  QueuePair& path = *found->second;
  if (path.state() != QueuePair::State::kReady) return;
  if (done.status == IBV_WC_SUCCESS) {
    path.complete(done.wr_id, [this](Number number) { work_completed(number); });
    post_next_steps();
  } else if (is_of_the_way(done.status)) {
    failover_.fail(connections_.to(path.pe()), path, cause(path, done));
  } else {
    failover_.break_off(connections_.to(path.pe()), cause(path, done));
  }
}

void IbLane::work_completed(Number number) {
  InFlightRequest& request = in_flight_[number];
  if (request.method == Method::kCompareSwap && emulation_.step_completed(request, number)) return;
  if (in_flight_.work_completed(request)) in_flight_.fail(memory_.finish(request));
}

// The send queue has space for them: that of the steps before is free.
void IbLane::post_next_steps() {
  for (const Number number : emulation_.take_due()) {
    if (!in_flight_.has(number) || in_flight_[number].state != RequestState::kStepPending) continue;
    InFlightRequest& request = in_flight_[number];
    if (request.path->state() != QueuePair::State::kReady) {
      failover_.lose_loop(request);
    } else if (Status posted = sender_.post_step(request, number); !posted.is_ok()) {
      in_flight_.fail(std::move(posted));
      failover_.abandon(request);
    } else {
      failover_.ring(*request.connection, *request.path);
    }
  }
}

void IbLane::take_reply(LanePort& port, const ibv_wc& done) {
  Answer answer;
  std::memcpy(&answer, port.answers.receive_buffer(done.wr_id), sizeof answer);
  in_flight_.fail(port.answers.post(done.wr_id));
  if (!in_flight_.has(answer.ticket)) return;
  InFlightRequest& request = in_flight_[answer.ticket];
  const auto code = static_cast<Code>(answer.code);
  const bool reads = code == Code::kOk && request.gets_by_staging_slot();
  if (!in_flight_.replied(request, reads)) return;
  if (code != Code::kOk)
    in_flight_.fail(Status::error(code, fmt::format("{}: PE {} could not: {}", describe(request.op),
                                                    request.op.pe, answer.text.data())));
  else if (is_amo(request.op.kind))
    bring_result(request.op, answer.old);
  if (reads) return read_staging_slot(request, answer.ticket);
  memory_.free_staging_slot(request);
  if (request.gets_by_staging_slot()) memory_.free_block(request);
  // Its work was to be replayed, though the owner had taken it.
  if (request.is_done()) in_flight_.fail(memory_.finish(request));
}

// The owner is done with the staging slot, in which the bytes of a get still are.
void IbLane::read_staging_slot(InFlightRequest& request, Number number) {
  Connection& connection = *request.connection;
  request.bytes_there = false;
  request.path = &connection.main();
  if (connection.state() == Connection::State::kFailingOver ||
      request.path->state() != QueuePair::State::kReady) {
    request.read_delayed();
    return;
  }
  sender_.post_read(request, number);
  failover_.ring(connection, *request.path);
}

void IbLane::look_for_silence() {
  const Number first = in_flight_.first();
  if (!stall_.has_stalled(first)) return;
  InFlightRequest& oldest = in_flight_[first];
  if (oldest.is_replay() || (oldest.work == 0 && !oldest.expects_reply())) return;
  LOG(kDebug, "transport", "ib: {} for a second; its port is rung again", how_far(oldest));
  if (oldest.work == 0 && oldest.path->has_room(1)) {
    // The bytes are there already. The owner knows the request by its sequence number, and answers
    // it again.
    sender_.post_request(oldest, first);
  } else {
    oldest.path->probe();
  }
  failover_.ring(*oldest.connection, *oldest.path);
}

std::string IbLane::oldest() const {
  const std::lock_guard lock(mutex_);
  const Number first = in_flight_.first();
  if (!in_flight_.has(first) || in_flight_[first].is_done()) return "";
  return how_far(in_flight_[first]);
}

Status IbLane::cause(const QueuePair& path, const ibv_wc& done) const {
  std::string text =
      fmt::format("{}: {}", path.describe(), path.at().port.verbs().wc_status_str(done.status));
  if (done.wr_id < LanePort::kAnswers && in_flight_.has(done.wr_id))
    text = fmt::format("{}: {}", describe(in_flight_[done.wr_id].op), text);
  if (done.status == IBV_WC_RETRY_EXC_ERR)
    text += ". Its process may have ended, or the link between the two be cut";
  return Status::error(Code::kPeerLost, std::move(text));
}

}  // namespace weft::ib
