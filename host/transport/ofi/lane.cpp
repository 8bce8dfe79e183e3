#include "host/transport/ofi/lane.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "host/transport/apply.hpp"
#include "src/base/clock.hpp"
#include "src/base/status.hpp"

namespace weft::ofi {

namespace {

constexpr int kLinkTransfers = 64;    // under way to one PE
constexpr int kLaneRequests = 1024;   // that wait for answers
constexpr int kMostHeld = 32;         // requests of one message that others may join
constexpr std::size_t kWaiting = 64;  // steps of one PE

std::byte* pointer(std::uint64_t address) { return reinterpret_cast<std::byte*>(address); }

bool is_word(std::uint64_t bytes, std::uint64_t offset) {
  return (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8) && offset % bytes == 0;
}
// No notify says that it has come, and so it may wait for others.
bool may_be_held(const Op& op) {
  return op.kind == OpKind::kPut && op.notify == NotifyOp::kNone &&
         (op.flags & kOpSourceStays) != 0 && op.bytes <= Request::kPayload;
}
}  // namespace

Status OfiLane::post(const Op& op) {
  const std::lock_guard lock(mutex_);
  if (op.kind == OpKind::kFence) return post_fence(op);
  Link& link = link_to(static_cast<int>(op.pe));
  if (link.stalled) advance(link);
  RETURN_IF_ERROR(link.broken);
  if (link.stalled || is_held(link, op)) return Status::busy();
  const bool asks = is_request(op) || goes_by_staging_slot(op) || op.notify != NotifyOp::kNone;
  if ((asks && requests_ >= kLaneRequests) || link.transfers >= kLinkTransfers ||
      link.steps.size() >= kWaiting)
    return Status::busy();
  InFlight flight{.op = op, .link = &link, .asking = asks};
  std::vector<Transfer> transfers;
  Status ready = prepare(flight, transfers);
  if (ready.is_ok() && asks) ready = hold(link, flight);
  if (ready.is_ok())
    launch(flight, transfers);
  else
    give_back(flight, transfers);
  return ready;
}

// Makes my memory ready for the op. By a staging slot a put writes there first, and a get reads
// last.
Status OfiLane::prepare(InFlight& flight, std::vector<Transfer>& transfers) const {
  const Op& op = flight.op;
  const int pe = static_cast<int>(op.pe);
  if (is_request(op)) return Status::ok();
  std::vector<Heaps::There> parts;
  if (goes_by_staging_slot(op)) {
    ASSIGN_OR_RETURN(flight.staging_slot, env_.windows->take(pe));
    if (op.kind == OpKind::kGet) return take_block(op.bytes, flight.block);
    parts.push_back(env_.windows->there(pe, flight.staging_slot, op.bytes));
  } else if (!env_.heaps->find(pe, op.remote, op.bytes, parts)) {
    return Status::error(Code::kOutOfRange,
                         fmt::format("{}: offset {:#x} was adopted memory, and is no longer",
                                     describe(op), op.remote));
  }
  return add_transfers(op, parts, transfers);
}

void OfiLane::give_back(const InFlight& flight, const std::vector<Transfer>& transfers) const {
  for (const Transfer& transfer : transfers) give(transfer.block);
  give(flight.block);
  env_.windows->give(flight.link->pe, flight.staging_slot);
}

void OfiLane::give(const Staging::Block& block) const {
  if (block.base != nullptr) env_.staging->give(block);
}

void OfiLane::push() {
  if (!is_stalled()) return;
  const std::lock_guard lock(mutex_);
  stalled_.store(false, std::memory_order_relaxed);
  for (const auto& link : links_)
    if (link != nullptr && link->stalled) advance(*link);
}

void OfiLane::flush() {
  const std::lock_guard lock(mutex_);
  ring_all();
}

void OfiLane::ring_all() {
  while (!holding_.empty()) {
    Link& link = *holding_.back();
    ring(link, in_flight_.next() - 1, false);
    advance(link);
  }
}

Status OfiLane::progress() {
  const std::lock_guard lock(mutex_);
  ring_all();
  for (const Event& event : arrived_) finish(event);
  arrived_.clear();
  Status error = std::exchange(error_, Status::ok());
  retire();
  return error;
}

// A failed op counts as complete only with its failure: the one who waits, whoever found it
// out, learns both at once.
void OfiLane::retire() {
  if (error_.is_ok()) in_flight_.retire();
}

OfiLane::Link& OfiLane::link_to(int pe) {
  if (links_.empty()) links_.resize(env_.peers->size());
  auto& link = links_[static_cast<std::size_t>(pe)];
  if (link == nullptr) {
    link = std::make_unique<Link>();
    link->pe = pe;
  }
  return *link;
}

// Complete at once: it orders, and has nothing to wait for.
Status OfiLane::post_fence(const Op& op) {
  const Fabric& way = env_.endpoint->fabric();
  for (const auto& link : links_) {
    if (link == nullptr || (op.pe != kAllPes && op.pe != static_cast<std::uint32_t>(link->pe)))
      continue;
    const bool writes = link->transfers > 0, asked = link->requests > 0;
    link->holds_requests |=
        (writes && !way.orders(FI_ORDER_SAW)) || (asked && !way.orders(FI_ORDER_SAS));
    link->holds_writes |= asked || (writes && !way.orders_data(FI_ORDER_WAW, Staging::kMostBytes));
    link->holds_reads |= asked || (writes && !way.orders_data(FI_ORDER_RAW, Staging::kMostBytes));
  }
  in_flight_.add({.op = op});
  retire();
  return Status::ok();
}

bool OfiLane::is_held(const Link& link, const Op& op) const {
  if (is_request(op) || goes_by_staging_slot(op)) return link.holds_requests;
  if (op.kind == OpKind::kGet) return link.holds_reads;
  return link.holds_writes || (op.notify != NotifyOp::kNone && link.holds_requests);
}

// Small enough to travel in a request; or a word, which must come and go as one.
bool OfiLane::is_request(const Op& op) const {
  if (op.kind == OpKind::kPut) return op.bytes <= env_.endpoint->fabric().most_payload();
  return is_amo(op.kind) || is_word(op.bytes, op.remote);
}

// An op on memory that no device reaches.
bool OfiLane::goes_by_staging_slot(const Op& op) const {
  return env_.windows->serves(static_cast<int>(op.pe)) && !is_request(op);
}

// --- posting -------------------------------------------------------------------------------------

Request OfiLane::request_of(const InFlight& flight) const {
  const Op& op = flight.op;
  Request request;
  request.lane = static_cast<std::uint16_t>(number_);
  request.ticket = in_flight_.next();
  request.remote = op.remote;
  request.value = op.value;
  request.compare = op.compare;
  request.signal = op.signal;
  request.kind = op.kind;
  request.notify = op.notify;
  request.width = op.width;
  // Else only the notify, behind the bytes.
  if (is_request(op)) request.bytes = static_cast<std::uint16_t>(op.bytes);
  request.staging_slot = static_cast<std::int8_t>(flight.staging_slot);
  if (flight.staging_slot != Windows::kNoStagingSlot) request.compare = op.bytes;
  return request;
}

// Adds the request to the batch for that PE, which is sent before if it is full.
Status OfiLane::hold(Link& link, const InFlight& flight) {
  const Request request = request_of(flight);
  const std::byte* payload = pointer(flight.op.local);
  std::array<std::byte, Request::kLargePayload> from_gpu;
  if (request.payload() != 0 && !env_.own.is_host(payload)) {
    RETURN_IF_ERROR(env_.own.copy(from_gpu.data(), payload, request.payload()));
    payload = from_gpu.data();
  }
  if (link.held != nullptr && !link.held->has_room(request.size()))
    ring(link, in_flight_.next() - 1, false);
  if (link.held == nullptr) {
    ASSIGN_OR_RETURN(link.held, env_.endpoint->take_batch());
    holding_.push_back(&link);
  }
  link.held->add(request, payload);
  return Status::ok();
}

// The batch is to go; `flight` is the number of the last op in it.
void OfiLane::ring(Link& link, std::uint64_t flight, bool after_transfers) {
  if (link.held == nullptr) return;
  std::erase(holding_, &link);
  link.steps.push_back({.flight = flight,
                        .what = std::exchange(link.held, nullptr),
                        .after_transfers = after_transfers});
}

// My side is memory of the heap if it stays as it is meanwhile, else staged: part by part, as the
// other side is cut.
Status OfiLane::add_transfers(const Op& op, const std::vector<Heaps::There>& parts,
                              std::vector<Transfer>& transfers) const {
  const auto key = env_.own.key_of(op);
  std::byte* mine = pointer(op.local);
  for (const Heaps::There& part : parts) {
    Transfer& transfer = transfers.emplace_back(Transfer{.reads = op.kind == OpKind::kGet,
                                                         .pe = static_cast<int>(op.pe),
                                                         .remote = part.address,
                                                         .key = part.key,
                                                         .local = mine,
                                                         .local_key = key.value_or(0),
                                                         .bytes = part.bytes});
    if (!key) RETURN_IF_ERROR(stage(op, transfer, mine));
    mine += part.bytes;
  }
  return Status::ok();
}

Status OfiLane::take_block(std::uint64_t bytes, Staging::Block& block) const {
  ASSIGN_OR_RETURN(block, env_.staging->take(bytes));
  return block.base == nullptr ? Status::busy() : Status::ok();
}

Status OfiLane::stage(const Op& op, Transfer& transfer, std::byte* mine) const {
  RETURN_IF_ERROR(take_block(transfer.bytes, transfer.block));
  transfer.local = transfer.block.base;
  transfer.local_key = transfer.block.key;
  if (op.kind == OpKind::kPut) return env_.own.copy(transfer.local, mine, transfer.bytes);
  transfer.bring_to = mine;
  return Status::ok();
}

void OfiLane::launch(const InFlight& taken, const std::vector<Transfer>& transfers) {
  Link& link = *taken.link;
  const bool asks = taken.asking;
  if (link.under_way() == 0) link.busy_since = now_ns();
  const std::uint64_t number = in_flight_.next();
  // Ops that were held before go before.
  if (!transfers.empty() && !asks) ring(link, number, false);
  for (const Transfer& transfer : transfers)
    link.steps.push_back({.flight = number, .what = transfer});
  in_flight_.add(taken).transfers = static_cast<int>(transfers.size());
  link.transfers += static_cast<int>(transfers.size());
  link.requests += asks ? 1 : 0;
  requests_ += asks ? 1 : 0;
  if (asks && (!may_be_held(taken.op) || link.held->requests() >= kMostHeld))
    ring(link, number, !transfers.empty() && !env_.endpoint->fabric().orders(FI_ORDER_SAW));
  advance(link);
}

// Does what can be done now. One that waits for its transfers lets others pass; one that the
// provider does not take holds all up.
void OfiLane::advance(Link& link) {
  link.stalled = false;
  for (auto step = link.steps.begin(); step != link.steps.end();) {
    if (step->after_transfers && in_flight_[step->flight].transfers > 0) {
      ++step;
      continue;
    }
    if (!take_step(link, *step)) return;
    step = link.steps.erase(step);
  }
}

// False: nothing more is possible now.
bool OfiLane::take_step(Link& link, Step& step) {
  const auto* const transfer = std::get_if<Transfer>(&step.what);
  Status taken = transfer != nullptr
                     ? env_.endpoint->post(*transfer, number_, step.flight)
                     : env_.endpoint->send(link.pe, *std::get<MessageBatch*>(step.what));
  if (taken.is_ok()) return true;
  if (taken.is(Code::kBusy)) {
    link.stalled = true;
    stalled_.store(true, std::memory_order_relaxed);
  } else {
    const bool flies = in_flight_.has(step.flight);
    break_off(link, lost(link, flies ? &in_flight_[step.flight].op : nullptr, taken.text()));
  }
  return false;
}

// --- completing ----------------------------------------------------------------------------------

// An op that brings bytes waits for the owner to come for them: an owner whose wait has timed out,
// and who has left, must not find its memory written.
void OfiLane::take(const Event& event) {
  const std::lock_guard lock(mutex_);
  const bool brings = event.kind == Event::Kind::kTransfer ? event.transfer.bring_to != nullptr
                                                           : event.answer.has_old != 0;
  if (brings) return arrived_.push_back(event);
  finish(event);
  retire();
}

void OfiLane::finish(const Event& event) {
  if (event.kind == Event::Kind::kTransfer)
    take_transfer(event);
  else
    take_answer(event);
}

void OfiLane::take_transfer(const Event& event) {
  const Transfer& transfer = event.transfer;
  const bool expected = in_flight_.has(event.flight) && in_flight_[event.flight].transfers > 0;
  if (expected && event.failure.empty() && transfer.bring_to != nullptr)
    fail(env_.own.copy(transfer.bring_to, transfer.local, transfer.bytes));
  give(transfer.block);
  if (!expected) return;
  InFlight& flight = in_flight_[event.flight];
  Link& link = *flight.link;
  if (!event.failure.empty()) return break_off(link, lost(link, &flight.op, event.failure));
  if (transfer.reads)
    env_.windows->give(link.pe, std::exchange(flight.staging_slot, Windows::kNoStagingSlot));
  --link.transfers;
  if (--flight.transfers == 0 && !link.steps.empty()) advance(link);
  settle(link);
}

void OfiLane::take_answer(const Event& event) {
  const Answer& answer = event.answer;
  for (std::uint64_t i = 0; i < answer.count; ++i)
    take_answer_to(answer.ticket + i, answer, event.failure);
}

void OfiLane::take_answer_to(std::uint64_t ticket, const Answer& answer, std::string_view why) {
  if (!in_flight_.has(ticket) || !in_flight_[ticket].asking) return;
  InFlight& flight = in_flight_[ticket];
  flight.asking = false;
  Link& link = *flight.link;
  --requests_;
  --link.requests;
  settle(link);
  const Op& op = flight.op;
  const auto code = static_cast<Code>(answer.code);
  if (code != Code::kOk)
    fail(Status::error(code, fmt::format("{}: PE {} could not: {}", describe(op), op.pe, why)));
  else if (is_amo(op.kind))
    bring_result(op, answer.old);
  else if (answer.has_old != 0)
    bring_word(op, answer.old);
  if (flight.staging_slot != Windows::kNoStagingSlot) leave_staging_slot(ticket, code == Code::kOk);
}

void OfiLane::bring_word(const Op& op, std::uint64_t word) {
  std::byte* const to = pointer(op.local);
  if (env_.own.is_host(to))
    put_to(to, &word, op.bytes);
  else
    fail(env_.own.copy(to, &word, op.bytes));
}

// The owner is done with it; what it has put there is read now.
void OfiLane::leave_staging_slot(std::uint64_t number, bool is_well) {
  InFlight& flight = in_flight_[number];
  Link& link = *flight.link;
  const Op& op = flight.op;
  if (op.kind != OpKind::kGet || !is_well) {
    env_.windows->give(link.pe, std::exchange(flight.staging_slot, Windows::kNoStagingSlot));
    return give(std::exchange(flight.block, {}));
  }
  const Heaps::There there = env_.windows->there(link.pe, flight.staging_slot, op.bytes);
  const Staging::Block block = std::exchange(flight.block, {});
  const Transfer reads{.reads = true,
                       .pe = link.pe,
                       .remote = there.address,
                       .key = there.key,
                       .local = block.base,
                       .local_key = block.key,
                       .bytes = there.bytes,
                       .block = block,
                       .bring_to = pointer(op.local)};
  link.steps.push_back({.flight = number, .what = reads});
  flight.transfers = 1;
  ++link.transfers;
  advance(link);
}

void OfiLane::fail(Status why) {
  if (error_.is_ok()) error_ = std::move(why);
}

void OfiLane::settle(Link& link) {
  if (link.under_way() == 0) link.holds_requests = link.holds_writes = link.holds_reads = false;
}

void OfiLane::look_at_clock(std::uint64_t now_ns) {
  if (!(env_.timeout > 0)) return;
  const auto patience = static_cast<std::uint64_t>(env_.timeout * 1e9);
  const std::lock_guard lock(mutex_);
  for (const auto& link : links_) {
    if (link == nullptr || link->under_way() == 0) continue;
    const std::uint64_t since = std::max(link->busy_since, env_.endpoint->heard(link->pe));
    if (now_ns < since || now_ns - since < patience) continue;
    break_if_busy(*link, fmt::format("nothing has come from there for {:.0f} s", env_.timeout));
  }
  retire();
}

void OfiLane::lose(int pe, std::string_view why) {
  const std::lock_guard lock(mutex_);
  if (links_.empty() || links_[static_cast<std::size_t>(pe)] == nullptr) return;
  break_if_busy(*links_[static_cast<std::size_t>(pe)], why);
}

void OfiLane::break_if_busy(Link& link, std::string_view why) {
  const auto oldest = std::find_if(
      in_flight_.begin(), in_flight_.end(),
      [&](const InFlight& flight) { return flight.link == &link && !flight.is_done(); });
  if (oldest != in_flight_.end()) break_off(link, lost(link, &oldest->op, why));
}

// Work under way there counts as complete; the failure comes from the next progress(). Memory that
// the provider holds of it stays where it is until it says that it is over.
void OfiLane::break_off(Link& link, Status why) {
  if (!link.broken.is_ok()) return;
  link.broken = std::move(why);
  link.stalled = false;
  ring(link, 0, false);
  for (const Step& step : link.steps) {
    const auto* const transfer = std::get_if<Transfer>(&step.what);
    if (transfer == nullptr)
      env_.endpoint->give_batch(*std::get<MessageBatch*>(step.what));
    else
      give(transfer->block);
  }
  link.steps.clear();
  requests_ -= std::exchange(link.requests, 0);
  link.transfers = 0;
  for (InFlight& flight : in_flight_) {
    if (flight.link != &link || flight.is_done()) continue;
    flight.transfers = 0;
    flight.asking = false;
    env_.windows->lose(link.pe, std::exchange(flight.staging_slot, Windows::kNoStagingSlot));
    give(std::exchange(flight.block, {}));
    fail(link.broken);
  }
  retire();
}

Status OfiLane::lost(const Link& link, const Op* op, std::string_view why) const {
  const network::Peer& peer = (*env_.peers)[static_cast<std::size_t>(link.pe)];
  Way way;
  std::memcpy(&way, peer.way.data(), std::min(sizeof way, peer.way.size()));
  return Status::error(
      Code::kPeerLost,
      fmt::format("{}{}{} to PE {} on {} ({}): {}. Its process may have ended, or the network "
                  "between the two be cut",
                  op == nullptr ? "" : describe(*op), op == nullptr ? "" : ": ",
                  env_.endpoint->fabric().describe(), link.pe, peer.facts.host_name(),
                  way.text.data(), why));
}

}  // namespace weft::ofi
