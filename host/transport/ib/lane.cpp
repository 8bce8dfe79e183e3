#include "host/transport/ib/lane.hpp"

#include <array>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "host/transport/ib/reliable.hpp"
#include "host/transport/ib/service.hpp"
#include "src/base/log.hpp"

namespace weft::ib {

namespace {

constexpr int kLinkSends = 256;  // work requests under way to one PE
constexpr int kLaneSends = 1024;
constexpr std::size_t kMostHeld = 16;
// wr_ids: places of answers, reads of panes by flight, or flights.
constexpr std::uint64_t kAnswers = std::uint64_t{1} << 63, kPaneReads = std::uint64_t{1} << 62;
constexpr std::size_t kAnswerBytes = 128;
static_assert(sizeof(Answer) <= kAnswerBytes);

constexpr std::uint64_t kFirstPauseNs = 20'000'000, kLongestPauseNs = 1'000'000'000;

std::uint64_t address_of(const void* p) { return reinterpret_cast<std::uint64_t>(p); }

bool is_small(const Op& op) { return op.bytes <= kInlineBytes; }
// Nobody is told that it has come, and its bytes are there to be read later.
bool may_be_held(const Op& op) {
  return op.kind == OpKind::kPut && op.notify == NotifyOp::kNone &&
         (op.flags & kOpSourceStays) != 0 && is_small(op);
}

}  // namespace

Status IbLane::open() {
  if (!links_.empty()) return Status::ok();
  // Answers, and as many reads of panes.
  ASSIGN_OR_RETURN(done_, env_.port->make_cq(kLaneSends + 2 * Service::kLaneRequests, nullptr));
  ASSIGN_OR_RETURN(answers_,
                   Receives::make(*env_.port, Service::kLaneRequests, kAnswerBytes, kAnswers));
  links_.resize(env_.peers->size());
  return Status::ok();
}

Status IbLane::post(const Op& op) {
  const std::lock_guard lock(mutex_);
  if (op.kind == OpKind::kFence) return post_fence(op);
  RETURN_IF_ERROR(open());
  Link& link = link_to(static_cast<int>(op.pe));
  RETURN_IF_ERROR(make_ready(link));
  if (is_amo(op.kind)) return post_request(link, op);
  if (link.fenced) {
    poll();
    if (link.fenced) return Status::error(Code::kBusy, "requests before a fence are under way");
  }
  if (env_.windows->serves(link.pe) && (op.bytes != 0 || op.notify != NotifyOp::kNone))
    return post_by_pane(link, op);
  return op.kind == OpKind::kPut ? post_write(link, op) : post_read(link, op);
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
    link = std::make_unique<Link>();
    link->pe = pe;
    link->deadline = Deadline(env_.dial_timeout);
  }
  return *link;
}

// kBusy until the other end has answered.
Status IbLane::make_ready(Link& link) {
  if (link.state == State::kReady) return Status::ok();
  if (link.state == State::kAsks) {
    const auto& peer = (*env_.peers)[static_cast<std::size_t>(link.pe)];
    Status asked = ask(link);
    if (!asked.is_ok()) {
      break_off(link, std::move(asked));
    } else if (link.refused) {
      break_off(link, Status::error(
                          Code::kPeerLost,
                          fmt::format("PE {} on {} could not make a queue pair; its log says why",
                                      link.pe, peer.facts.host_name())));
    } else if (link.deadline.expired()) {
      break_off(link,
                Status::error(
                    Code::kPeerLost,
                    fmt::format("PE {} on {} ({}) did not answer within {:.0f} s; see that {} "
                                "reaches it: UDP port 4791 open both ways, one subnet or routed",
                                link.pe, peer.facts.host_name(), peer.port.text(),
                                env_.dial_timeout, env_.port->describe())));
    } else {
      return Status::error(Code::kBusy, "a queue pair is being tied");
    }
  }
  return link.broken;
}

Status IbLane::ask(Link& link) {
  if (link.qp == nullptr) {
    ASSIGN_OR_RETURN(link.qp, make_reliable(*env_.port, {.sent = done_.get(),
                                                         .received = done_.get(),
                                                         .receives = answers_.queue(),
                                                         .sends = kLinkSends + Windows::kPanes,
                                                         .access = IBV_ACCESS_LOCAL_WRITE}));
    link.psn = random_psn();
    by_qp_[link.qp->qp_num] = &link;
  }
  const std::uint64_t now = now_ns();
  if (now < link.ask_at_ns) return Status::ok();
  link.pause_ns = link.pause_ns == 0 ? kFirstPauseNs : std::min(2 * link.pause_ns, kLongestPauseNs);
  link.ask_at_ns = now + link.pause_ns;
  return env_.service->ask(link.pe, number_, link.qp->qp_num, link.psn);
}

void IbLane::replied(const Dial& reply) {
  const std::lock_guard lock(mutex_);
  if (links_.empty() || links_[static_cast<std::size_t>(reply.from)] == nullptr) return;
  Link& link = *links_[static_cast<std::size_t>(reply.from)];
  if (link.state != State::kAsks || link.qp == nullptr || link.qp->qp_num != reply.asked) return;
  if (reply.kind == Dial::Kind::kRefusal) {
    link.refused = true;
    return;
  }
  const auto& peer = (*env_.peers)[static_cast<std::size_t>(link.pe)];
  Status tied = tie(*env_.port, link.qp.get(), {peer.port, reply.qp, reply.psn}, link.psn);
  if (tied.is_ok())
    link.state = State::kReady;
  else
    break_off(link, std::move(tied));
}

// What is under way there counts as complete; the failure comes from the next progress().
void IbLane::break_off(Link& link, Status why) {
  if (link.state == State::kBroken) return;
  link.state = State::kBroken;
  link.broken = std::move(why);
  // Nothing more is read from memory that its owner takes back now.
  ibv_qp_attr ended{};
  ended.qp_state = IBV_QPS_ERR;
  if (link.qp != nullptr)
    env_.port->modify(link.qp.get(), ended, IBV_QP_STATE, "end a queue pair").ignore();
  sends_ -= std::exchange(link.sends, 0);
  requests_ -= std::exchange(link.requests, 0);
  link.held.clear();
  link.sending.clear();
  std::erase(holding_, &link);
  bool lost = false;
  for (Flight& flight : flights_) {
    if (flight.link != &link || flight.is_done()) continue;
    lost = true;
    flight.sending = flight.asking = flight.reading = false;
    env_.windows->lose(link.pe, std::exchange(flight.pane, Windows::kNoPane));
    if (flight.room.base != nullptr) env_.staging->give(std::exchange(flight.room, {}));
  }
  if (lost && error_.is_ok()) error_ = link.broken;
  flights_.retire();
}

// --- posting -------------------------------------------------------------------------------------

// Complete at once: it orders, and has nothing to wait for.
Status IbLane::post_fence(const Op& op) {
  if (!links_.empty()) poll();
  for (const auto& link : links_)
    if (link != nullptr && (op.pe == kAllPes || op.pe == static_cast<std::uint32_t>(link->pe)))
      link->fenced = link->requests > 0;
  flights_.add({.op = op});
  flights_.retire();
  return Status::ok();
}

// kBusy unless so many more work requests may be under way.
Status IbLane::make_room(Link& link, int sends) {
  const auto fits = [&] {
    return link.sends + sends <= kLinkSends && sends_ + sends <= kLaneSends;
  };
  if (!fits()) {
    ring_all();
    poll();
  }
  if (link.state == State::kBroken) return link.broken;
  return fits() ? Status::ok() : Status::error(Code::kBusy, "the send queue is full");
}

// kBusy unless one more request may wait for its answer.
Status IbLane::make_room_for_request(Link& link) {
  if (requests_ == Service::kLaneRequests) poll();
  if (link.state == State::kBroken) return link.broken;
  if (requests_ < Service::kLaneRequests) return Status::ok();
  return Status::error(Code::kBusy, "too many requests are under way");
}

Status IbLane::find(const Op& op, std::uint64_t offset, std::uint64_t bytes) {
  parts_.clear();
  if (env_.heaps->find(static_cast<int>(op.pe), offset, bytes, parts_)) return Status::ok();
  return Status::error(
      Code::kOutOfRange,
      fmt::format("{}: offset {:#x} was adopted memory, and is no longer", describe(op), offset));
}

// Small bytes go along; those that stay where the device reads are read there, others copied.
Result<IbLane::Local> IbLane::source_of(const Op& op) const {
  const auto* const from = reinterpret_cast<const std::byte*>(op.local);
  if (op.bytes == 0 || (is_small(op) && env_.own.is_host(from))) return Local{op.local, 0, true};
  if (const auto key = env_.own.key_of(op)) return Local{op.local, *key, false};
  ASSIGN_OR_RETURN(const Local local, stage(op));
  Status copied = env_.own.copy(local.room.base, from, op.bytes);
  if (copied.is_ok()) return local;
  env_.staging->give(local.room);
  return copied;
}

Result<IbLane::Local> IbLane::target_of(const Op& op) const {
  if (op.bytes == 0) return Local{};
  if (const auto key = env_.own.key_of(op)) return Local{op.local, *key, false};
  return stage(op);
}

Result<IbLane::Local> IbLane::stage(const Op& op) const {
  ASSIGN_OR_RETURN(const Staging::Room room, env_.staging->take(op.bytes));
  if (room.base == nullptr) return Status::error(Code::kBusy, "no staging memory is free");
  return Local{address_of(room.base), room.key, false, room};
}

IbLane::Work IbLane::transfer_of(ibv_wr_opcode opcode, const Local& local,
                                 const Heaps::There& part) {
  Work work{};
  work.bytes = {local.address, static_cast<std::uint32_t>(part.bytes),
                static_cast<std::uint32_t>(local.key)};
  work.request.opcode = opcode;
  work.request.send_flags = local.is_inline ? unsigned{IBV_SEND_INLINE} : 0u;
  work.request.wr.rdma.remote_addr = part.address;
  work.request.wr.rdma.rkey = static_cast<std::uint32_t>(part.key);
  return work;
}

void IbLane::add_transfers(ibv_wr_opcode opcode, Local local) {
  for (const Heaps::There& part : parts_) {
    work_.push_back(transfer_of(opcode, local, part));
    local.address += part.bytes;
  }
}

void IbLane::add_message(const Request& request) {
  Work& work = work_.emplace_back();
  work.bytes = {address_of(&request), sizeof request, 0};
  work.request.opcode = IBV_WR_SEND;
  work.request.send_flags = IBV_SEND_INLINE;
}

Status IbLane::post_write(Link& link, const Op& op) {
  const bool sets = op.notify == NotifyOp::kSet, adds = op.notify == NotifyOp::kAdd;
  if (adds) RETURN_IF_ERROR(make_room_for_request(link));
  RETURN_IF_ERROR(find(op, op.remote, op.bytes));
  RETURN_IF_ERROR(make_room(link, static_cast<int>(parts_.size()) + 1));
  ASSIGN_OR_RETURN(const Local source, source_of(op));
  work_.clear();
  add_transfers(IBV_WR_RDMA_WRITE, source);
  if (sets) {
    Status found = find(op, op.signal, sizeof op.value);
    if (!found.is_ok()) {
      if (source.room.base != nullptr) env_.staging->give(source.room);
      return found;
    }
    add_transfers(IBV_WR_RDMA_WRITE, {address_of(&op.value), 0, true});
  }
  const Request add{.ticket = flights_.next(),
                    .remote = op.signal,
                    .value = op.value,
                    .compare = 0,
                    .kind = OpKind::kAmoAdd,
                    .width = sizeof op.value};
  if (adds) add_message(add);
  send(link, {.op = op, .link = &link, .asking = adds, .room = source.room});
  return Status::ok();
}

Status IbLane::post_read(Link& link, const Op& op) {
  RETURN_IF_ERROR(find(op, op.remote, op.bytes));
  RETURN_IF_ERROR(make_room(link, static_cast<int>(parts_.size())));
  ASSIGN_OR_RETURN(const Local target, target_of(op));
  work_.clear();
  add_transfers(IBV_WR_RDMA_READ, target);
  send(link, {.op = op, .link = &link, .room = target.room});
  return Status::ok();
}

Request IbLane::request_of(const Op& op) const {
  return {.ticket = flights_.next(),
          .remote = op.remote,
          .value = op.value,
          .compare = op.compare,
          .signal = op.signal,
          .bytes = static_cast<std::uint32_t>(is_amo(op.kind) ? 0 : op.bytes),
          .kind = op.kind,
          .width = op.width,
          .notify = op.notify};
}

Status IbLane::post_request(Link& link, const Op& op) {
  RETURN_IF_ERROR(make_room_for_request(link));
  RETURN_IF_ERROR(make_room(link, 1));
  const Request ask = request_of(op);
  work_.clear();
  add_message(ask);
  send(link, {.op = op, .link = &link, .asking = true});
  return Status::ok();
}

// A put: its bytes into the pane, and behind them the request. A get: the request, and when that is
// answered, the bytes out of the pane.
Status IbLane::post_by_pane(Link& link, const Op& op) {
  RETURN_IF_ERROR(make_room_for_request(link));
  RETURN_IF_ERROR(make_room(link, 2));
  Request ask = request_of(op);
  Local mine;
  work_.clear();
  if (op.bytes != 0) {
    ASSIGN_OR_RETURN(const int pane, env_.windows->take(link.pe));
    ask.pane = static_cast<std::int8_t>(pane);
    const auto local = fill_pane(op, pane);
    if (!local) {
      env_.windows->give(link.pe, pane);
      return local.status();
    }
    mine = *local;
  }
  add_message(ask);
  send(link, {.op = op, .link = &link, .asking = true, .room = mine.room, .pane = int{ask.pane}});
  return Status::ok();
}

Result<IbLane::Local> IbLane::fill_pane(const Op& op, int pane) {
  if (op.kind == OpKind::kGet) return stage(op);
  ASSIGN_OR_RETURN(const Local source, source_of(op));
  const auto there = env_.windows->there(static_cast<int>(op.pe), pane, op.bytes);
  work_.push_back(transfer_of(IBV_WR_RDMA_WRITE, source, there));
  return source;
}

// What work_ holds, as one flight.
void IbLane::send(Link& link, const Flight& taken) {
  const std::uint64_t number = flights_.next();
  Flight& flight = flights_.add(taken);
  flight.sends = static_cast<int>(work_.size());
  flight.sending = !work_.empty();
  link.sends += flight.sends;
  sends_ += flight.sends;
  link.requests += flight.asking ? 1 : 0;
  requests_ += flight.asking ? 1 : 0;
  if (flight.sending) link.sending.push_back(number);
  if (link.held.empty()) holding_.push_back(&link);
  for (Work& work : work_) {
    work.request.wr_id = number;
    link.held.push_back(work);
  }
  if (taken.asking || !may_be_held(taken.op) || link.held.size() >= kMostHeld) ring(link);
  flights_.retire();
}

// Hands the device what is held. What fails there breaks the link: some of it may be on its way.
void IbLane::ring(Link& link) {
  std::erase(holding_, &link);
  if (link.held.empty()) return;
  for (std::size_t i = 0; i < link.held.size(); ++i) {
    ibv_send_wr& request = link.held[i].request;
    request.sg_list = &link.held[i].bytes;
    request.num_sge = 1;
    request.next = i + 1 < link.held.size() ? &link.held[i + 1].request : nullptr;
  }
  link.held.back().request.send_flags |= IBV_SEND_SIGNALED;
  ibv_send_wr* bad = nullptr;
  const int error = ibv_post_send(link.qp.get(), &link.held[0].request, &bad);
  link.held.clear();
  if (error != 0) break_off(link, failure("send", env_.port->name(), error));
}

void IbLane::ring_all() {
  while (!holding_.empty()) ring(*holding_.back());
}

// --- completing ----------------------------------------------------------------------------------

void IbLane::poll() {
  std::array<ibv_wc, 32> done;
  int count = 0;
  do {
    count = ibv_poll_cq(done_.get(), static_cast<int>(done.size()), done.data());
    for (int i = 0; i < count; ++i) take(done[static_cast<std::size_t>(i)]);
  } while (count == static_cast<int>(done.size()));
  flights_.retire();
}

void IbLane::take(const ibv_wc& done) {
  const auto found = by_qp_.find(done.qp_num);
  if (found == by_qp_.end()) return;
  Link& link = *found->second;
  if (done.status == IBV_WC_SUCCESS && done.wr_id >= kAnswers) return take_answer(done);
  if (link.state == State::kBroken) return;
  if (done.status != IBV_WC_SUCCESS) return break_off(link, cause(link, done));
  if (done.wr_id >= kPaneReads) return take_pane(done.wr_id - kPaneReads);
  for (; !link.sending.empty() && link.sending.front() <= done.wr_id; link.sending.pop_front())
    sent(link, flights_[link.sending.front()]);
}

void IbLane::sent(Link& link, Flight& flight) {
  flight.sending = false;
  link.sends -= flight.sends;
  sends_ -= flight.sends;
  const bool gets = flight.op.kind == OpKind::kGet;
  if (flight.room.base == nullptr || (gets && flight.pane != Windows::kNoPane)) return;
  if (gets) bring(flight);
  env_.staging->give(std::exchange(flight.room, {}));
}

void IbLane::bring(const Flight& flight) {
  auto* const to = reinterpret_cast<void*>(flight.op.local);
  fail(env_.own.copy(to, flight.room.base, flight.op.bytes));
}

void IbLane::fail(Status why) {
  if (error_.is_ok()) error_ = std::move(why);
}

void IbLane::take_answer(const ibv_wc& done) {
  Answer answer;
  std::memcpy(&answer, answers_.place(done.wr_id), sizeof answer);
  fail(answers_.post(done.wr_id));
  if (!flights_.has(answer.ticket)) return;
  Flight& asked = flights_[answer.ticket];
  if (!asked.asking) return;
  asked.asking = false;
  Link& link = *asked.link;
  --requests_;
  if (--link.requests == 0) link.fenced = false;
  const auto code = static_cast<Code>(answer.code);
  if (code != Code::kOk)
    fail(Status::error(code, fmt::format("{}: PE {} could not: {}", describe(asked.op), asked.op.pe,
                                         answer.text.data())));
  else if (is_amo(asked.op.kind))
    bring_result(asked.op, answer.old);
  if (asked.pane != Windows::kNoPane) leave_pane(answer.ticket, code == Code::kOk);
}

void IbLane::leave_pane(std::uint64_t number, bool is_well) {
  Flight& flight = flights_[number];
  if (is_well && flight.op.kind == OpKind::kGet) return read_pane(number);
  env_.windows->give(flight.link->pe, std::exchange(flight.pane, Windows::kNoPane));
  if (flight.op.kind == OpKind::kGet) env_.staging->give(std::exchange(flight.room, {}));
}

void IbLane::read_pane(std::uint64_t number) {
  Flight& flight = flights_[number];
  Link& link = *flight.link;
  ring(link);
  if (link.state == State::kBroken) return;
  flight.reading = true;
  Work& work = link.held.emplace_back(
      transfer_of(IBV_WR_RDMA_READ, {address_of(flight.room.base), flight.room.key},
                  env_.windows->there(link.pe, flight.pane, flight.op.bytes)));
  work.request.wr_id = kPaneReads + number;
  ring(link);
}

void IbLane::take_pane(std::uint64_t number) {
  Flight& flight = flights_[number];
  flight.reading = false;
  bring(flight);
  leave_pane(number, false);
}

Status IbLane::cause(const Link& link, const ibv_wc& done) const {
  const auto& peer = (*env_.peers)[static_cast<std::size_t>(link.pe)];
  std::string text =
      fmt::format("{} to PE {} on {} ({}): {}", env_.port->name(), link.pe, peer.facts.host_name(),
                  peer.port.text(), env_.port->verbs().wc_status_str(done.status));
  if (done.wr_id < kAnswers && flights_.has(done.wr_id))
    text = fmt::format("{}: {}", describe(flights_[done.wr_id].op), text);
  if (done.status == IBV_WC_RETRY_EXC_ERR)
    text += ". Its process may have ended, or the link between the two be cut";
  return Status::error(Code::kPeerLost, std::move(text));
}

}  // namespace weft::ib
