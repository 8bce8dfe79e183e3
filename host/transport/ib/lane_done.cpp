// Completions and failures of a lane's work.
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

}  // namespace

// A caller that sees that an op is complete must have been told of its failure: that waits for
// progress().
void IbLane::retire() {
  if (error_.is_ok()) flights_.retire();
}

void IbLane::poll() {
  for (const auto& port : ports_) poll(*port);
  retire();
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
    return take_answer(port, done);
  Path& path = *found->second;
  if (path.state() != Path::State::kReady) return;
  if (done.status == IBV_WC_SUCCESS) {
    path.complete(done.wr_id, [this](std::uint64_t flight) {
      sent(flights_[flight]);
      if (flights_[flight].repeats) repeating_.push_back(flight);
    });
    go_on();
  } else if (is_of_the_way(done.status)) {
    fail(path, cause(path, done));
  } else {
    break_off(link_to(path.pe()), cause(path, done));
  }
}

void IbLane::sent(Flight& flight) {
  --flight.sending;
  settle(flight);
}

// All that went out of it is done, if that is so: what it took is free again, what it brought goes
// where it is to.
void IbLane::settle(Flight& flight) {
  if (flight.sending != 0 || flight.again) return;
  Link& link = *flight.link;
  if (flight.loops && !has_held(flight)) return;
  if (std::exchange(flight.loops, false)) --link.loops;
  if (std::exchange(flight.native, false) && --link.natives == 0) lift_fence(link);
  if (std::exchange(flight.apart, false) && --link.apart == 0) lift_fence(link);
  const bool waits_for_pane = flight.by_pane && flight.op.kind == OpKind::kGet && !flight.reading;
  if (flight.room.base == nullptr || waits_for_pane) return;
  bring(flight);
  env_.staging->give(std::exchange(flight.room, {}));
  if (std::exchange(flight.reading, false))
    env_.windows->give(link.pe, std::exchange(flight.pane, Windows::kNoPane));
}

// Whether the step of a loop has; else the next compares with what it has brought.
bool IbLane::has_held(Flight& flight) {
  std::uint64_t old = 0;
  get_from(&old, flight.room.base, sizeof old);
  flight.repeats = std::exchange(flight.seen, old) != old;
  return !flight.repeats;
}

// The next steps of loops. They find room: what they had before is free.
void IbLane::go_on() {
  for (const std::uint64_t number : std::exchange(repeating_, {})) {
    if (!flights_.has(number)) continue;
    Flight& flight = flights_[number];
    if (!std::exchange(flight.repeats, false)) continue;  // its way has broken
    if (flight.path->state() != Path::State::kReady) {
      lose(flight, fate_of_native(flight, Path::Fate::kNotDone));
      continue;
    }
    std::vector<Heaps::There> word;  // not by work_ and word_, as in read_pane()
    if (Status found = find(flight, flight.op.remote, flight.op.width, word); !found.is_ok()) {
      note(std::move(found));
      end(flight);
      continue;
    }
    WorkList step;
    step.step(flight.op, flight.seen, word[0], old_value(flight));
    give(flight, number, step);
    ring(*flight.path);
  }
}

void IbLane::bring(Flight& flight) {
  if (flight.op.kind == OpKind::kGet) {
    auto* const to = reinterpret_cast<void*>(flight.op.local);
    note(env_.own.copy(to, flight.room.base, flight.op.bytes));
  } else if (is_amo(flight.op.kind)) {
    std::uint64_t old = 0;
    get_from(&old, flight.room.base, sizeof old);
    bring_result(flight.op, old);
  }
}

void IbLane::note(Status failure) {
  if (error_.is_ok()) error_ = std::move(failure);
}

void IbLane::lift_fence(Link& link) const {
  if (!holds_back(link)) link.fenced = false;
}

void IbLane::take_answer(LanePort& port, const ibv_wc& done) {
  Answer answer;
  std::memcpy(&answer, port.answers.place(done.wr_id), sizeof answer);
  note(port.answers.post(done.wr_id));
  if (!flights_.has(answer.ticket)) return;
  Flight& asked = flights_[answer.ticket];
  if (!asked.asking) return;
  asked.asking = false;
  if (std::exchange(asked.again, false)) settle(asked);  // it had been taken
  Link& link = *asked.link;
  --requests_;
  if (--link.requests == 0) lift_fence(link);
  const auto code = static_cast<Code>(answer.code);
  if (code != Code::kOk)
    note(Status::error(code, fmt::format("{}: PE {} could not: {}", describe(asked.op), asked.op.pe,
                                         answer.text.data())));
  else if (is_amo(asked.op.kind))
    bring_result(asked.op, answer.old);
  if (asked.pane != Windows::kNoPane) leave_pane(asked, answer.ticket, code == Code::kOk);
}

// The owner does no more with it. What was got is still in there.
void IbLane::leave_pane(Flight& flight, std::uint64_t number, bool is_well) {
  const bool gets = flight.op.kind == OpKind::kGet;
  if (gets && is_well) return read_pane(flight, number);
  env_.windows->give(flight.link->pe, std::exchange(flight.pane, Windows::kNoPane));
  if (gets) env_.staging->give(std::exchange(flight.room, {}));
}

void IbLane::read_pane(Flight& flight, std::uint64_t number) {
  Link& link = *flight.link;
  flight.reading = true;
  flight.is_there = false;
  flight.path = &link.main_path();
  if (link.moving || flight.path->state() != Path::State::kReady) {
    flight.again = true;  // when there is a way
    return;
  }
  // Not by work_ and parts_: they may be of an op that waits for room meanwhile.
  const Heaps::There there =
      env_.windows->there(link.pe, flight.pane, flight.op.bytes, flight.path->rail());
  WorkList read;
  read.transfer(IBV_WR_RDMA_READ, {&there, 1}, mine(flight));
  give(flight, number, read);
  ring(*flight.path);
}

// The clock is looked at now and then: that takes about as long as a look at the device.
void IbLane::look_for_silence() {
  constexpr std::uint64_t kLooks = 32, kLongNs = 1'000'000'000;
  const std::uint64_t first = flights_.first();
  if (std::exchange(oldest_, first) != first) looks_ = since_ns_ = 0;
  if (++looks_ % kLooks != 0) return;
  const std::uint64_t now = now_ns();
  if (since_ns_ == 0) since_ns_ = now;
  if (now - since_ns_ < kLongNs) return;
  since_ns_ = now;
  Flight& oldest = flights_[first];
  if (oldest.again || (oldest.sending == 0 && !oldest.asking)) return;
  LOG(kDebug, "transport", "ib: {} for a second; its port is rung again", how_far(oldest));
  if (oldest.sending == 0 && oldest.path->has_room(1)) return ask_again(oldest, first);
  oldest.path->probe();
  ring(*oldest.path);
}

// Its request, whose bytes are there already. The owner knows it by its sequence, and answers it
// again.
void IbLane::ask_again(Flight& flight, std::uint64_t number) {
  flight.is_there = true;
  const Request request = request_of(flight, number);
  WorkList work;  // not work_ and request_, as in read_pane()
  work.message(request);
  give(flight, number, work);
  ring(*flight.path);
}

std::string IbLane::how_far(const Flight& flight) {
  const char* const state = flight.again         ? "waits for another port"
                            : flight.sending > 0 ? "has been handed to the device"
                            : flight.asking      ? "waits for its owner's answer"
                                                 : "waits for what it compares with";
  return fmt::format("{}: {}, {}", describe(flight.op), flight.path->describe(), state);
}

std::string IbLane::oldest() const {
  const std::lock_guard lock(mutex_);
  const std::uint64_t first = flights_.first();
  if (!flights_.has(first) || flights_[first].is_done()) return "";
  return how_far(flights_[first]);
}

Status IbLane::cause(const Path& path, const ibv_wc& done) const {
  std::string text =
      fmt::format("{}: {}", path.describe(), path.at().port.verbs().wc_status_str(done.status));
  if (done.wr_id < LanePort::kAnswers && flights_.has(done.wr_id))
    text = fmt::format("{}: {}", describe(flights_[done.wr_id].op), text);
  if (done.status == IBV_WC_RETRY_EXC_ERR)
    text += ". Its process may have ended, or the link between the two be cut";
  return Status::error(Code::kPeerLost, std::move(text));
}

}  // namespace weft::ib
