#include "host/transport/ib/lane.hpp"

#include <utility>

namespace weft::ib {

namespace {

// A piece of something larger, or as large.
bool is_piece(const Op& op) {
  return !is_amo(op.kind) && op.bytes == Staging::kMostBytes && op.notify == NotifyOp::kNone;
}

}  // namespace

Status IbLane::post(const Op& op) {
  const std::lock_guard lock(mutex_);
  if (op.kind == OpKind::kFence) return post_fence(op);
  RETURN_IF_ERROR(connections_.open());
  Connection& connection = connections_.to(static_cast<int>(op.pe));
  RETURN_IF_ERROR(failover_.make_ready(connection));
  return post_on(connection, op);
}

Status IbLane::progress() {
  const std::lock_guard lock(mutex_);
  ring_all();
  for (const auto& port : connections_.ports()) poll(*port);
  failover_.progress();
  if (!in_flight_.is_empty()) look_for_silence();
  Status failure = in_flight_.take_failure();
  in_flight_.retire();
  return failure;
}

void IbLane::flush() {
  const std::lock_guard lock(mutex_);
  ring_all();
}

void IbLane::replied(const ConnectMessage& reply, std::size_t rail) {
  const std::lock_guard lock(mutex_);
  Connection* const connection = connections_.find(reply.from);
  if (connection == nullptr || rail >= connection->paths().size()) return;
  const Connection::Paths& paths = connection->paths();
  if (reply.kind == ConnectMessage::Kind::kDisconnected) {
    if (reply.rail < paths.size()) failover_.ended(*connection, *paths[reply.rail], reply);
  } else if (Status used = paths[rail]->replied(reply); !used.is_ok()) {
    failover_.fail(*connection, *paths[rail], std::move(used));
  }
}

// Complete at once: it orders, and has nothing to wait for.
Status IbLane::post_fence(const Op& op) {
  if (!connections_.ports().empty()) poll();
  connections_.for_each([&](Connection& connection) {
    if (op.pe != kAllPes && op.pe != static_cast<std::uint32_t>(connection.pe())) return;
    connection.outstanding.fence(in_flight_.next());
    if (connection.outstanding.needs_device_fence()) connection.main().fence();
  });
  in_flight_.add_fence(op);
  in_flight_.retire();
  return Status::ok();
}

Status IbLane::post_on(Connection& connection, const Op& op) {
  const bool by_staging_slot = env_.windows->serves(connection.pe()) && !is_amo(op.kind) &&
                               (op.bytes != 0 || op.notify != NotifyOp::kNone);
  QueuePair& path =
      is_piece(op) && !by_staging_slot ? path_of_piece(connection) : connection.main();
  InFlightRequest request{.op = op,
                          .connection = &connection,
                          .path = &path,
                          .method = by_staging_slot
                                        ? Method::kStagingSlot
                                        : emulation_.method_of(op, connection.has_device_atomics()),
                          .apart = &path != &connection.main()};
  const bool is_owners_atomic = request.method == Method::kOwner && is_amo(op.kind);
  if (connection.outstanding.holds_back(is_owners_atomic)) poll();
  if (connection.outstanding.holds_back(is_owners_atomic))
    return Status::error(Code::kBusy, "what comes before a fence is under way");
  if (is_by_device(request.method)) RETURN_IF_ERROR(emulation_.check(request, in_flight_));
  if (asks_owner(request.method)) RETURN_IF_ERROR(make_room_for_reply());
  if (by_staging_slot && op.bytes != 0) {
    ASSIGN_OR_RETURN(request.staging_slot, env_.windows->take(connection.pe()));
  }
  Status ready = prepare(request);
  if (ready.is_ok())
    send(request);
  else
    memory_.free_staging_slot(request);
  return ready;
}

// Takes all that sending it needs.
Status IbLane::prepare(InFlightRequest& request) {
  RETURN_IF_ERROR(sender_.find_target(request));
  RETURN_IF_ERROR(make_room(request));
  return memory_.take(request);
}

void IbLane::send(const InFlightRequest& taken) {
  const Number number = in_flight_.next();
  InFlightRequest& request = in_flight_.add(taken);
  sender_.post(request, number);
  if (!Sender::may_be_held(request)) failover_.ring(*request.connection, *request.path);
  in_flight_.retire();
}

// The rail whose turn it is, if it is connected: until then pieces go by the main one. And as long
// as what a fence has parted from them is under way.
QueuePair& IbLane::path_of_piece(Connection& connection) {
  if (connection.paths().size() == 1 || in_flight_.first() < connection.outstanding.fenced_at())
    return connection.main();
  QueuePair& path = connection.next_path();
  if (path.state() == QueuePair::State::kReady) return path;
  if (path.state() != QueuePair::State::kAsks) return connection.main();
  Status ready = path.make_ready();
  if (ready.is_ok()) return path;
  if (!ready.is(Code::kBusy)) failover_.fail(connection, path, std::move(ready));
  return connection.main();
}

// kBusy unless the work that find_target() has found may be under way, too.
Status IbLane::make_room(const InFlightRequest& request) {
  const QueuePair& path = *request.path;
  if (!path.has_room(sender_.sends())) {
    ring_all();
    poll();
  }
  RETURN_IF_ERROR(request.connection->check());
  return path.has_room(sender_.sends()) ? Status::ok()
                                        : Status::error(Code::kBusy, "the send queue is full");
}

Status IbLane::make_room_for_reply() {
  if (!in_flight_.has_room_for_reply()) poll();
  if (in_flight_.has_room_for_reply()) return Status::ok();
  return Status::error(Code::kBusy, "too many requests are under way");
}

void IbLane::ring_all() {
  while (QueuePair* const path = sender_.holding())
    failover_.ring(connections_.to(path->pe()), *path);
}

}  // namespace weft::ib
