#include "host/transport/ib/connection.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace weft::ib {

Connection::Connection(int pe, Paths paths, std::size_t main, const LaneEnv& env)
    : outstanding(env.owns_atomics),
      pe_(pe),
      paths_(std::move(paths)),
      has_device_atomics_(env.native_atomics &&
                          std::all_of(paths_.begin(), paths_.end(),
                                      [](const auto& path) { return path->is_native(); })),
      main_(main),
      next_(main) {}

Status Connection::check() const {
  if (state_ == State::kFailed) return failure_;
  if (state_ == State::kFailingOver) return Status::error(Code::kBusy, "another port is tried");
  return Status::ok();
}

QueuePair& Connection::next_path() {
  next_ = (next_ + 1) % paths_.size();
  return *paths_[next_];
}

QueuePair* Connection::find_usable() const {
  QueuePair* found = nullptr;
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    QueuePair& path = *paths_[(main_ + i) % paths_.size()];
    if (path.state() == QueuePair::State::kReady) return &path;
    if (path.state() == QueuePair::State::kAsks && found == nullptr) found = &path;
  }
  return found;
}

bool Connection::begin_failover(const QueuePair& failed, const QueuePair& next) {
  if (state_ == State::kFailed) return false;
  main_ = next.rail();
  failed_paths_ += fmt::format("; {} had failed before", failed.describe());
  return std::exchange(state_, State::kFailingOver) == State::kOpen;
}

bool Connection::end_failover() {
  if (state_ != State::kFailingOver) return false;
  state_ = State::kOpen;
  return true;
}

bool Connection::fail(Status why) {
  if (state_ == State::kFailed) return false;
  state_ = State::kFailed;
  failure_ = failed_paths_.empty()
                 ? std::move(why)
                 : Status::error(why.code(), fmt::format("{}{}", why.text(), failed_paths_));
  return true;
}

Status Connections::open() {
  if (!all_.empty()) return Status::ok();
  ports_.clear();
  for (const Port& port : env_.rails->ports()) {
    ASSIGN_OR_RETURN(std::unique_ptr<LanePort> made, LanePort::open(port, ports_.size()));
    ports_.push_back(std::move(made));
  }
  all_.resize(env_.peers->size());
  return Status::ok();
}

Connection& Connections::to(int pe) {
  auto& connection = all_[static_cast<std::size_t>(pe)];
  if (connection == nullptr) connection = make(pe);
  return *connection;
}

std::unique_ptr<Connection> Connections::make(int pe) const {
  const PathEnds ends{lane_, pe, &(*env_.peers)[static_cast<std::size_t>(pe)]};
  Connection::Paths paths;
  for (std::size_t rail = 0; rail < env_.rails->to(*ends.peer); ++rail)
    paths.push_back(
        std::make_unique<QueuePair>(ends, *ports_[rail], *env_.service, env_.connect_timeout));
  const std::size_t main = env_.owns_atomics ? 0 : env_.rails->first() % paths.size();
  return std::make_unique<Connection>(pe, std::move(paths), main, env_);
}

}  // namespace weft::ib
