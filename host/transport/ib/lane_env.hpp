// LaneEnv: what all lanes of a PE share.
#pragma once

#include <cstddef>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "host/transport/ib/rails.hpp"
#include "host/transport/network/heaps.hpp"
#include "host/transport/network/own_memory.hpp"
#include "host/transport/network/staging.hpp"
#include "host/transport/network/windows.hpp"

namespace weft::ib {

using network::Heaps;
using network::Staging;
using network::Windows;

class Service;

// Failures of ports to PEs that have been reported. Each is reported once, though all lanes notice
// it, one after the other.
class ReportedFailures {
 public:
  bool is_news(int pe, std::size_t rail) {
    const std::lock_guard lock(mutex_);
    return known_.insert({pe, rail}).second;
  }

 private:
  std::mutex mutex_;
  std::set<std::pair<int, std::size_t>> known_;
};

struct LaneEnv {
  const Rails* rails = nullptr;
  const std::vector<PeAddress>* peers = nullptr;
  const Heaps* heaps = nullptr;
  network::OwnMemory own;
  Windows* windows = nullptr;
  Service* service = nullptr;
  Staging* staging = nullptr;
  ReportedFailures* reported = nullptr;
  bool native_atomics =
      true;                   // of devices that say so; not on memory of GPUs, of which they do not
  bool owns_atomics = false;  // the devices of the owners' first rails execute all of 64 bits
  double connect_timeout = 0;  // seconds
};

}  // namespace weft::ib
