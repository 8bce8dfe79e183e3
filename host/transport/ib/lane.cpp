#include "host/transport/ib/lane.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "host/transport/apply.hpp"

namespace weft::ib {

namespace {

// A piece of something larger, or as large.
bool is_piece(const Op& op) {
  return !is_amo(op.kind) && op.bytes == Staging::kMostBytes && op.notify == NotifyOp::kNone;
}

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
  for (const auto& port : ports_) poll(*port);
  for (std::size_t i = moving_.size(); i > 0; --i) make_ready(*moving_[i - 1]).ignore();
  if (flights_.next() != flights_.first()) look_for_silence();
  Status failed = std::move(error_);
  retire();
  return failed;
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
    link->main = link->next = env_.owns_atomics ? 0 : env_.rails->first() % link->paths.size();
    link->native =
        env_.native_atomics && std::all_of(link->paths.begin(), link->paths.end(),
                                           [](const auto& path) { return path->is_native(); });
  }
  return *link;
}

// kBusy until the other end has answered.
Status IbLane::make_ready(Link& link) {
  if (!link.broken.is_ok()) return link.broken;
  Path& main = link.main_path();
  Status ready = main.make_ready();
  if (ready.is_ok() && link.moving) ready = move(link);
  if (ready.is_ok() || ready.is(Code::kBusy)) return ready;
  fail(main, std::move(ready));
  return link.broken.is_ok() ? Status::error(Code::kBusy, "another port is tried") : link.broken;
}

void IbLane::replied(const Dial& reply, std::size_t rail) {
  const std::lock_guard lock(mutex_);
  if (links_.empty() || links_[static_cast<std::size_t>(reply.from)] == nullptr) return;
  Link& link = *links_[static_cast<std::size_t>(reply.from)];
  if (rail >= link.paths.size()) return;
  if (reply.kind == Dial::Kind::kEnded) {
    if (reply.rail < link.paths.size()) ended(*link.paths[reply.rail], reply);
  } else if (Status used = link.paths[rail]->replied(reply); !used.is_ok()) {
    fail(*link.paths[rail], std::move(used));
  }
}

// --- posting -------------------------------------------------------------------------------------

// Complete at once: it orders, and has nothing to wait for.
Status IbLane::post_fence(const Op& op) {
  if (!links_.empty()) poll();
  for (const auto& link : links_) {
    if (link == nullptr || (op.pe != kAllPes && op.pe != static_cast<std::uint32_t>(link->pe)))
      continue;
    link->fenced = holds_back(*link);
    link->fenced_at = flights_.next();
    if (link->natives > 0 && !env_.owns_atomics) link->main_path().fence();
  }
  flights_.add({.op = op});
  retire();
  return Status::ok();
}

// Whether devices do the atomic of an op, or the owner of its word.
bool IbLane::is_native(const Link& link, const Op& op) const {
  if (env_.owns_atomics) return is_amo(op.kind) && op.width == sizeof(std::uint64_t);
  return link.native && (adds(op) || ib::is_native(op));
}

// kBusy as long as a loop on its word goes on; an error if the owner's device is out of reach.
Status IbLane::check_native(const Link& link, const Flight& flight) const {
  if (!env_.owns_atomics) return Status::ok();
  if (link.main != 0)
    return Status::error(
        Code::kPeerLost,
        fmt::format("{}: {} has failed, and with WEFT_IB_ATOMICS=nic no other port may execute "
                    "atomics on that PE's words of 8 bytes; all else goes on by {}",
                    describe(flight.op), link.paths.front()->describe(),
                    link.paths[link.main]->describe()));
  if (link.loops == 0) return Status::ok();
  for (const Flight& each : flights_)
    if (each.loops && each.link == &link && each.op.remote == flight.op.remote)
      return Status::error(Code::kBusy, "an atomic on the same word is under way");
  return Status::ok();
}

Status IbLane::post_on(Link& link, const Op& op) {
  const bool is_atomic = is_amo(op.kind) || adds(op);
  const bool by_pane = env_.windows->serves(link.pe) && !is_amo(op.kind) &&
                       (op.bytes != 0 || op.notify != NotifyOp::kNone);
  Path& path = is_piece(op) && !by_pane ? path_of_piece(link) : link.main_path();
  Flight flight{.op = op, .link = &link, .path = &path, .apart = path.rail() != link.main};
  flight.by_pane = by_pane;
  flight.native = is_atomic && !by_pane && is_native(link, op);
  flight.loops = flight.native && !adds(op) && !ib::is_native(op);
  flight.asking = by_pane || (is_atomic && !flight.native);
  // The owner executes requests in order, so those pass a fence behind requests.
  const auto waits = [&] {
    return link.fenced &&
           (link.apart > 0 || owes_atomics(link) || !flight.asking || !is_amo(op.kind));
  };
  if (waits()) poll();
  if (waits()) return Status::error(Code::kBusy, "what comes before a fence is under way");
  if (flight.native) RETURN_IF_ERROR(check_native(link, flight));
  if (flight.asking) RETURN_IF_ERROR(make_room_for_request());
  if (by_pane && op.bytes != 0) {
    ASSIGN_OR_RETURN(flight.pane, env_.windows->take(link.pe));
  }
  Status ready = prepare(flight);
  if (ready.is_ok())
    send(flight);
  else
    env_.windows->give(link.pe, flight.pane);
  return ready;
}

// Takes all that sending it needs.
Status IbLane::prepare(Flight& flight) {
  RETURN_IF_ERROR(find_target(flight));
  RETURN_IF_ERROR(make_room(flight, static_cast<int>(parts_.size()) + 1));
  return take_local(flight);
}

// The rail whose turn it is, if it is tied: until then pieces go by the first. And as long as what
// a fence has parted from them is under way.
Path& IbLane::path_of_piece(Link& link) {
  if (link.paths.size() == 1 || flights_.first() < link.fenced_at) return link.main_path();
  link.next = (link.next + 1) % link.paths.size();
  Path& path = *link.paths[link.next];
  if (path.state() == Path::State::kReady) return path;
  if (path.state() != Path::State::kAsks) return link.main_path();
  Status ready = path.make_ready();
  if (ready.is_ok()) return path;
  if (!ready.is(Code::kBusy)) fail(path, std::move(ready));
  return link.main_path();
}

// kBusy unless so many more work requests may be under way.
Status IbLane::make_room(const Flight& flight, int sends) {
  if (!flight.path->has_room(sends)) {
    ring_all();
    poll();
  }
  if (!flight.link->broken.is_ok()) return flight.link->broken;
  if (flight.link->moving) return Status::error(Code::kBusy, "another port is tried");
  return flight.path->has_room(sends) ? Status::ok()
                                      : Status::error(Code::kBusy, "the send queue is full");
}

// kBusy unless one more request may wait for its answer.
Status IbLane::make_room_for_request() {
  if (requests_ == kLaneRequests) poll();
  if (requests_ < kLaneRequests) return Status::ok();
  return Status::error(Code::kBusy, "too many requests are under way");
}

}  // namespace weft::ib
