// PEs with a heap and transports and nothing above them, as threads, as forked processes, or as
// those that a launcher started.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "host/transport/lane_queue.hpp"
#include "host/transport/routes.hpp"
#include "tests/support/random.hpp"
#include "tests/support/status.hpp"

namespace weft {

// One PE of a job. Every wait has a deadline, after which it is a failure.
class TransportPe {
 public:
  static constexpr std::size_t kChunk = std::size_t{2} << 20;

  TransportPe(Bootstrap& bootstrap, const Options& options, Platform& platform);
  ~TransportPe();
  void wire();  // collective, first of all
  int pe() const { return bootstrap_.pe(); }
  int npes() const { return bootstrap_.npes(); }
  std::byte* heap() const { return reservation_.base(); }
  std::uint64_t* word(std::uint64_t offset) const {
    return reinterpret_cast<std::uint64_t*>(heap() + offset);
  }
  Routes& routes() { return routes_; }
  LaneQueue& queue() { return *queue_; }

  Status grow();  // by a chunk; collective
  std::uint64_t committed() const { return chunks_.size() * kChunk; }
  void post(const Op& op);  // until it is taken
  void quiet();
  void barrier() { EXPECT_OK(bootstrap_.barrier()); }
  void quiet_and_barrier() {
    quiet();
    barrier();
  }
  // Until the word of my heap has that value; moves my own lane, so that nobody waits for me.
  void wait_for(std::uint64_t offset, std::uint64_t value);

 private:
  Bootstrap& bootstrap_;
  Platform& platform_;  // its memory can be loaded and stored here, whatever it says
  Options options_;
  Memory reservation_;
  std::vector<Memory> chunks_;
  Routes routes_;
  std::unique_ptr<LaneQueue> queue_;
};

enum class PesAre { kThreads, kProcesses, kLaunched };

struct TransportJob {
  std::string name;
  PesAre pes = PesAre::kThreads;
  int npes = 3;  // as many as there are, of those that are launched
  std::string transports = "p2p,loopback";
  std::string fault;              // the seed is added
  std::string fabric = {};        // how libfabric is different, as faulty_fabric names it
  bool on_gpus = false;           // of a fake driver, on which no GPU reaches another
  std::string gpu_rdma = "auto";  // how a network reaches their memory
  // "glob" devices of the fake library, or two "rails" of them; "nic": the devices own atomics.
  std::string verbs = {};

  // The first of them if it is a network: it reaches PEs of this host, too.
  std::string network() const {
    const std::string first = transports.substr(0, transports.find(','));
    return first == "ib" || first == "ofi" ? first : "";
  }
};

// Whether this process is one PE of several that a launcher started, as TEST_PES=launched says: on
// several hosts, perhaps.
bool is_launched();

// Whether ib has RDMA devices of this host, as TEST_VERBS=real says. Else it has those of a fake
// library, which other processes do not see.
bool has_rdma();

// Whether libfabric is to take the device that other hosts reach, as TEST_FABRIC=real says, and not
// the one of this host alone.
bool has_fabric();

void PrintTo(const TransportJob& job, std::ostream* out);

// Runs `body` as every PE, or as the one that this process is; a failed check of a PE that is a
// forked process fails the test, too.
void run_job(const TransportJob& job, const std::function<void(TransportPe&)>& body);

}  // namespace weft
