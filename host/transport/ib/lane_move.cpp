// The end of a path: its lane goes on by another, or gives the PE up.
#include <utility>

#include <fmt/format.h>

#include "host/transport/apply.hpp"
#include "host/transport/ib/lane.hpp"
#include "src/base/log.hpp"

namespace weft::ib {

void IbLane::fail(Path& path, Status why) {
  Link& link = link_to(path.pe());
  const bool is_new = path.state() == Path::State::kAsks || path.state() == Path::State::kReady;
  if (!link.broken.is_ok() || !is_new) return;
  path.break_off();
  std::erase(holding_, &path);
  Path* const next = another(link);
  if (next == nullptr) return break_off(link, std::move(why));
  link.main = next->rail();
  link.lost += fmt::format("; {} had failed before", path.describe());
  if (!std::exchange(link.moving, true)) moving_.push_back(&link);
  if (env_.told->is_news(link.pe, path.rail()))
    LOG(kWarn, "transport", "ib: goes on by {}, since this failed: {}", next->describe(),
        why.text());
  next->probe();  // that it is good: for a while nothing else goes by it
  ring(*next);
}

// The main path, or that which takes its place: one that is tied, if there is one.
Path* IbLane::another(const Link& link) {
  Path* found = nullptr;
  for (std::size_t i = 0; i < link.paths.size(); ++i) {
    Path& path = *link.paths[(link.main + i) % link.paths.size()];
    if (path.state() == Path::State::kReady) return &path;
    if (path.state() == Path::State::kAsks && found == nullptr) found = &path;
  }
  return found;
}

// kBusy until the paths that failed have ended, and what they carried goes by the main one.
Status IbLane::move(Link& link) {
  for (const auto& path : link.paths) RETURN_IF_ERROR(path->make_end(link.main));
  RETURN_IF_ERROR(send_again(link));
  link.moving = false;
  std::erase(moving_, &link);
  return Status::ok();
}

void IbLane::ended(Path& path, const Dial& reply) {
  if (path.state() != Path::State::kEnding || !link_to(path.pe()).moving) return;
  path.ended(reply, [this](std::uint64_t number, Path::Fate fate) {
    if (flights_.has(number)) judge(flights_[number], fate);
  });
  if (path.state() == Path::State::kEnding) return;  // it was not about this queue pair
  for (Flight& flight : flights_)
    if (flight.path == &path && flight.asking && flight.sending == 0 && !flight.again)
      flight.again = flight.is_there = true;
  retire();
}

// For a flight that was under way on a path that has ended.
void IbLane::judge(Flight& flight, Path::Fate fate) {
  --flight.sending;
  if (flight.reading) {  // first its request is judged, if that is, then the read
    flight.again = flight.sending == 0;
    return;
  }
  if (const auto fate_of = fate_of_native(flight, fate); !fate_of.empty())
    return lose(flight, fate_of);
  const bool is_answered = flight.sequence != 0 && !flight.asking;
  const bool is_done = fate == Path::Fate::kDone && flight.op.kind != OpKind::kGet;
  if (is_done || is_answered)
    settle(flight);
  else
    flight.again = true;
}

// Why the atomic of a flight, if the device does that, cannot go on; "" if it can.
std::string_view IbLane::fate_of_native(const Flight& flight, Path::Fate fate) const {
  if (!flight.native) return "";
  if (fate == Path::Fate::kUnknown) return "the device may have executed it or not";
  if (fate == Path::Fate::kNotDone)
    return env_.owns_atomics ? "it has not been executed, and with WEFT_IB_ATOMICS=nic no other "
                               "port may do it"
                             : "";
  if (flight.loops) return "the device may have changed the word or not";
  return is_fetching(flight.op.kind) ? "the device has executed it, but the old value is lost" : "";
}

// The native atomic of a flight. The way to its PE goes on.
void IbLane::lose(Flight& flight, std::string_view how) {
  note(Status::error(Code::kPeerLost,
                     fmt::format("{}: {} failed while it was under way; {}", describe(flight.op),
                                 flight.path->describe(), how)));
  end(flight);
}

// By the main path, in the order in which they were posted.
Status IbLane::send_again(Link& link) {
  for (std::uint64_t number = flights_.first(); flights_.has(number); ++number) {
    Flight& flight = flights_[number];
    if (flight.link == &link && flight.again) RETURN_IF_ERROR(send_again(flight, number));
  }
  retire();
  return Status::ok();
}

Status IbLane::send_again(Flight& flight, std::uint64_t number) {
  Link& link = *flight.link;
  Path& path = link.main_path();
  flight.path = &path;
  if (Status found = find_target(flight); !found.is_ok()) {  // adopted memory that is no longer
    note(std::move(found));
    end(flight);
    return Status::ok();
  }
  if (!path.has_room(static_cast<int>(parts_.size()) + 1))
    return Status::error(Code::kBusy, "the send queue is full");
  if (std::exchange(flight.apart, false)) --link.apart;
  lift_fence(link);
  flight.again = false;
  path.fence();  // whatever fences there were
  build(flight, number);
  give(flight, number, work_);
  ring(path);
  if (path.state() == Path::State::kReady) return Status::ok();
  return Status::error(Code::kBusy, "another port is tried");
}

// Without having been done.
void IbLane::end(Flight& flight) {
  Link& link = *flight.link;
  if (flight.asking) {
    --requests_;
    --link.requests;
  }
  if (std::exchange(flight.native, false)) --link.natives;
  if (std::exchange(flight.loops, false)) --link.loops;
  if (flight.apart) --link.apart;
  lift_fence(link);
  flight.sending = 0;
  flight.asking = flight.again = flight.reading = flight.repeats = false;
  env_.windows->lose(link.pe, std::exchange(flight.pane, Windows::kNoPane));
  if (flight.room.base != nullptr) env_.staging->give(std::exchange(flight.room, {}));
}

// Work under way there counts as complete; the failure comes from the next progress().
void IbLane::break_off(Link& link, Status why) {
  if (!link.broken.is_ok()) return;
  link.broken = link.lost.empty()
                    ? std::move(why)
                    : Status::error(why.code(), fmt::format("{}{}", why.text(), link.lost));
  link.moving = false;
  std::erase(moving_, &link);
  for (const auto& path : link.paths) {
    path->break_off();
    std::erase(holding_, path.get());
  }
  bool lost = false;
  for (Flight& flight : flights_) {
    if (flight.link != &link || flight.is_done()) continue;
    lost = true;
    end(flight);
  }
  if (lost) note(link.broken);
  retire();
}

}  // namespace weft::ib
