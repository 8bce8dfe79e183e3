#include "host/transport/ib/failover.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "host/transport/apply.hpp"
#include "src/base/log.hpp"

namespace weft::ib {

namespace {

// Why the atomic of a request, if the device does that, cannot go on; "" if it can.
std::string_view why_lost(const InFlightRequest& request, QueuePair::Fate fate, bool owns_atomics) {
  if (!is_by_device(request.method)) return "";
  if (fate == QueuePair::Fate::kUnknown) return "the device may have executed it or not";
  if (fate == QueuePair::Fate::kNotDone)
    return owns_atomics ? "it has not been executed, and with WEFT_IB_ATOMICS=nic no other port "
                          "may do it"
                        : "";
  if (request.method == Method::kCompareSwap) return "the device may have changed the word or not";
  return is_fetching(request.op.kind) ? "the device has executed it, but the old value is lost"
                                      : "";
}

}  // namespace

Verdict judge(const InFlightRequest& request, QueuePair::Fate fate, bool owns_atomics) {
  // The request was judged before, if it was in flight; now it is the read.
  if (request.is_reading()) return {Verdict::Kind::kReplay};
  if (const std::string_view why = why_lost(request, fate, owns_atomics); !why.empty())
    return {Verdict::Kind::kLost, why};
  const bool was_answered = asks_owner(request.method) && !request.expects_reply();
  const bool is_done = fate == QueuePair::Fate::kDone && request.op.kind != OpKind::kGet;
  return {is_done || was_answered ? Verdict::Kind::kComplete : Verdict::Kind::kReplay};
}

Status Failover::make_ready(Connection& connection) {
  if (connection.state() == Connection::State::kFailed) return connection.failure();
  QueuePair& main = connection.main();
  Status ready = main.make_ready();
  if (ready.is_ok() && connection.state() == Connection::State::kFailingOver)
    ready = replay(connection);
  if (ready.is_ok() || ready.is(Code::kBusy)) return ready;
  fail(connection, main, std::move(ready));
  return connection.state() == Connection::State::kFailed
             ? connection.failure()
             : Status::error(Code::kBusy, "another port is tried");
}

void Failover::progress() {
  for (std::size_t i = failing_over_.size(); i > 0; --i) make_ready(*failing_over_[i - 1]).ignore();
}

void Failover::ring(Connection& connection, QueuePair& path) {
  if (Status rung = sender_.ring(path); !rung.is_ok()) fail(connection, path, std::move(rung));
}

void Failover::fail(Connection& connection, QueuePair& path, Status why) {
  const bool is_new =
      path.state() == QueuePair::State::kAsks || path.state() == QueuePair::State::kReady;
  if (connection.state() == Connection::State::kFailed || !is_new) return;
  path.break_off();
  sender_.forget(path);
  QueuePair* const next = connection.find_usable();
  if (next == nullptr) return break_off(connection, std::move(why));
  if (connection.begin_failover(path, *next)) failing_over_.push_back(&connection);
  if (env_.reported->is_news(connection.pe(), path.rail()))
    LOG(kWarn, "transport", "ib: goes on by {}, since this failed: {}", next->describe(),
        why.text());
  next->probe();  // that it is good: for a while nothing else goes by it
  ring(connection, *next);
}

void Failover::ended(Connection& connection, QueuePair& path, const ConnectMessage& reply) {
  if (path.state() != QueuePair::State::kEnding ||
      connection.state() != Connection::State::kFailingOver)
    return;
  path.ended(reply, [this](Number number, QueuePair::Fate fate) {
    if (in_flight_.has(number)) settle(in_flight_[number], fate);
  });
  if (path.state() == QueuePair::State::kEnding) return;  // it was not about this queue pair
  for (InFlightRequest& request : in_flight_)
    if (request.path == &path) request.reply_lost();
  in_flight_.retire();
}

void Failover::settle(InFlightRequest& request, QueuePair::Fate fate) {
  const Verdict verdict = judge(request, fate, env_.owns_atomics);
  switch (verdict.kind) {
    case Verdict::Kind::kLost: return lose(request, verdict.why);
    case Verdict::Kind::kReplay: request.work_failed(); return;
    case Verdict::Kind::kComplete:
      if (in_flight_.work_completed(request)) in_flight_.fail(memory_.finish(request));
  }
}

void Failover::lose(InFlightRequest& request, std::string_view why) {
  in_flight_.fail(Status::error(
      Code::kPeerLost, fmt::format("{}: {} failed while it was under way; {}", describe(request.op),
                                   request.path->describe(), why)));
  abandon(request);
}

void Failover::lose_loop(InFlightRequest& request) {
  lose(request, why_lost(request, QueuePair::Fate::kNotDone, env_.owns_atomics));
}

Status Failover::replay(Connection& connection) {
  for (const auto& path : connection.paths())
    RETURN_IF_ERROR(path->make_end(connection.main().rail()));
  for (Number number = in_flight_.first(); in_flight_.has(number); ++number) {
    InFlightRequest& request = in_flight_[number];
    if (request.connection == &connection && request.is_replay())
      RETURN_IF_ERROR(replay(request, number));
  }
  in_flight_.retire();
  connection.end_failover();
  std::erase(failing_over_, &connection);
  return Status::ok();
}

Status Failover::replay(InFlightRequest& request, Number number) {
  QueuePair& path = request.connection->main();
  request.path = &path;
  if (Status found = sender_.find_target(request); !found.is_ok()) {  // adopted memory that is gone
    in_flight_.fail(std::move(found));
    abandon(request);
    return Status::ok();
  }
  if (!path.has_room(sender_.sends())) return Status::error(Code::kBusy, "the send queue is full");
  InFlightRequests::moved_to_main(request);
  path.fence();  // whatever fences there were
  sender_.post(request, number);
  ring(*request.connection, path);
  if (path.state() == QueuePair::State::kReady) return Status::ok();
  return Status::error(Code::kBusy, "another port is tried");
}

void Failover::abandon(InFlightRequest& request) {
  if (in_flight_.abandon(request)) memory_.abandon(request);
}

void Failover::break_off(Connection& connection, Status why) {
  if (!connection.fail(std::move(why))) return;
  std::erase(failing_over_, &connection);
  for (const auto& path : connection.paths()) {
    path->break_off();
    sender_.forget(*path);
  }
  bool lost = false;
  for (InFlightRequest& request : in_flight_) {
    if (request.connection != &connection || request.is_done()) continue;
    lost = true;
    abandon(request);
  }
  if (lost) in_flight_.fail(connection.failure());
  in_flight_.retire();
}

}  // namespace weft::ib
