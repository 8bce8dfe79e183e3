// Connection: the queue pairs of a lane to one PE, one by each rail; which of them is the main one,
// by which all goes but pieces; and whether the PE is reached.
//
// States. kOpen: the main path carries requests, once it is connected. kFailingOver: a path has
// failed, and what it carried is to go by the main path before anything new does (failover.hpp).
// kFailed: no path is left; the connection refuses requests and says why.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "host/transport/ib/lane_env.hpp"
#include "host/transport/ib/outstanding.hpp"
#include "host/transport/ib/queue_pair.hpp"

namespace weft::ib {

class Connection {
 public:
  enum class State : std::uint8_t { kOpen, kFailingOver, kFailed };
  using Paths = std::vector<std::unique_ptr<QueuePair>>;  // by rail

  Connection(int pe, Paths paths, std::size_t main, const LaneEnv& env);

  int pe() const { return pe_; }
  State state() const { return state_; }
  // Why it has failed.
  const Status& failure() const { return failure_; }
  const Paths& paths() const { return paths_; }
  QueuePair& main() const { return *paths_[main_]; }
  // Whether the devices of both ends do atomics that are atomic with the processors', by all rails.
  bool has_device_atomics() const { return has_device_atomics_; }
  std::uint64_t next_sequence() { return ++sequence_; }
  // kBusy while it fails over.
  Status check() const;

  // The path whose turn it is to carry a piece; it need not be connected.
  QueuePair& next_path();
  // The main path, or the path that takes its place: one that is connected, if there is one. Null:
  // none is left.
  QueuePair* find_usable() const;

  // `failed` has failed, and requests go by `next`. False: it fails over already, or has failed.
  bool begin_failover(const QueuePair& failed, const QueuePair& next);
  // The main path carries again what failed ones did. False: it does not fail over.
  bool end_failover();
  // For good; the text names the paths that had failed before. False: it had failed.
  bool fail(Status why);

  Outstanding outstanding;

 private:
  const int pe_;
  const Paths paths_;
  const bool has_device_atomics_;
  State state_ = State::kOpen;
  std::size_t main_, next_;
  std::string failed_paths_;
  std::uint64_t sequence_ = 0;  // of the last request to the owner
  Status failure_;
};

// The connections of one lane, and its end at each port.
class Connections {
 public:
  Connections(const LaneEnv& env, std::uint32_t lane) : env_(env), lane_(lane) {}

  // Makes the ends at the ports, at the first call.
  Status open();
  std::span<const std::unique_ptr<LanePort>> ports() const { return ports_; }
  // The connection to a PE, which is made at the first call; its queue pairs are by make_ready().
  Connection& to(int pe);
  // Null: nothing was sent there.
  Connection* find(int pe) const {
    return all_.empty() ? nullptr : all_[static_cast<std::size_t>(pe)].get();
  }
  template <class Do>
  void for_each(Do apply) const {
    for (const auto& connection : all_)
      if (connection != nullptr) apply(*connection);
  }

 private:
  std::unique_ptr<Connection> make(int pe) const;

  const LaneEnv& env_;
  const std::uint32_t lane_;
  std::vector<std::unique_ptr<LanePort>> ports_;  // by rail
  std::vector<std::unique_ptr<Connection>> all_;  // by PE
};

}  // namespace weft::ib
