// One test body, its PEs reached in every way there is: a hand-made job whose heaps are mapped (and
// whose collectives may pack small messages), one where all goes through the ring to a late proxy,
// and real runtimes, plain and behind the fault injector. A PE is a thread; on GPUs each launches
// on its own (PE i on GPU i modulo their number).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include <weft/device.hpp>
#include <weft/dev/team_block.hpp>
#include <weft/runtime.hpp>
#include <weft/team.hpp>

#include "src/base/status.hpp"
#include "tests/device/device_job.hpp"
#include "tests/device/shared_memory.hpp"
#include "tests/support/random.hpp"
#include "tests/support/status.hpp"

namespace weft::test {

enum class Way { kMapped, kPacked, kRing, kRuntime, kLateRuntime };
#if WEFT_TARGET_CPU
inline const std::vector<Way> kWays = {Way::kMapped, Way::kRing, Way::kRuntime, Way::kLateRuntime};
#else
inline const std::vector<Way> kWays = {Way::kMapped, Way::kRing};  // runtimes' heaps are the host's
#endif
inline std::string to_string(Way way) {
  switch (way) {
    case Way::kMapped: return "mapped";
    case Way::kPacked: return "packed";
    case Way::kRing: return "ring";
    case Way::kRuntime: return "runtime";
    case Way::kLateRuntime: return "late";
  }
  return "?";
}
inline void PrintTo(Way way, std::ostream* out) { *out << to_string(way); }
inline std::string way_name(const ::testing::TestParamInfo<Way>& info) {
  return to_string(info.param);
}

// A body's view of its PE.
class Pe {
 public:
  virtual ~Pe() = default;
  virtual DeviceContext handle() = 0;
  virtual void barrier() = 0;
  int pe() { return handle().pe; }
  int npes() { return handle().npes; }
  int next() { return (pe() + 1) % npes(); }

  // Symmetric; every PE makes the same calls.
  template <class T>
  T* allocate(std::size_t count) {
    return static_cast<T*>(allocate_bytes(count * sizeof(T)));
  }
  // All PEs, and a team of some of them in this order; every PE of the job makes the same calls.
  virtual Team world() = 0;
  virtual Team team(const std::vector<int>& members) = 0;
  template <class Kernel>
  void run(unsigned blocks, unsigned threads, Kernel kernel, std::size_t shared_bytes = 0) {
    EXPECT_OK(dev::launch({blocks, threads, shared_bytes}, kernel));
    EXPECT_OK(dev::synchronize());
  }

 private:
  virtual void* allocate_bytes(std::size_t bytes) = 0;
};

class JobPe final : public Pe {
 public:
  JobPe(DeviceJob& job, std::barrier<>& rendezvous, int pe)
      : job_(job), rendezvous_(rendezvous), pe_(pe) {}
  DeviceContext handle() override { return job_.handle(pe_); }
  void barrier() override { rendezvous_.arrive_and_wait(); }
  Team world() override {
    Team all;
    all.id = take_team_id();
    all.size = npes();
    all.rank = pe_;
    return all;
  }
  Team team(const std::vector<int>& members) override {
    Team some;
    some.id = take_team_id();
    some.size = static_cast<int>(members.size());
    const TeamBlocks& blocks = job_.teams(pe_);
    auto* list = job_.at<std::int32_t>(
        pe_, team_block_offset(blocks, some.id) +
                 team_layout(npes(), static_cast<std::size_t>(blocks.slot_bytes)).list);
    std::copy(members.begin(), members.end(), list);
    some.list = list;
    some.rank = some.rank_of(pe_);
    return some;
  }

 private:
  // The blocks of all teams are there from the first on.
  int take_team_id() {
    TeamBlocks& blocks = job_.teams(pe_);
    if (blocks.count == 0) {
      blocks =
          team_blocks(npes(), kMaxTeams, 0, job_.options().packs ? team_packed_bytes(npes()) : 0);
      const std::size_t bytes = kMaxTeams * blocks.stride;
      blocks.offset = static_cast<std::uint64_t>(allocate<std::byte>(bytes) - job_.heap(pe_));
      if (job_.options().mapped) blocks.pushed_bytes = 2048;
    }
    EXPECT_LT(teams_, kMaxTeams);
    // A little before the flags of packed messages begin anew.
    auto* const header = job_.at<TeamHeader>(pe_, team_block_offset(blocks, teams_));
    header->packed = header->packed_synced = kPackedPeriod - 3;
    return teams_++;
  }
  void* allocate_bytes(std::size_t bytes) override {
    used_ = (used_ + 63) / 64 * 64;
    void* memory = job_.at<std::byte>(pe_, used_);
    used_ += bytes;
    EXPECT_LE(used_, job_.options().heap_bytes);
    return memory;
  }
  DeviceJob& job_;
  std::barrier<>& rendezvous_;
  static constexpr int kMaxTeams = 8;
  const int pe_;
  std::uint64_t used_ = 64 + dev::kJournalBytes;
  int teams_ = 0;
};

class RuntimePe final : public Pe {
 public:
  RuntimePe(Runtime& runtime, DeviceContext handle) : runtime_(runtime), handle_(handle) {}
  DeviceContext handle() override { return handle_; }
  void barrier() override { EXPECT_OK(runtime_.barrier()); }
  Team world() override { return runtime_.world(); }
  Team team(const std::vector<int>& members) override {
    auto made = runtime_.team_from_list(runtime_.world(), members);
    EXPECT_OK(made.status());
    return made.value_or(Team{});
  }

 private:
  void* allocate_bytes(std::size_t bytes) override {
    auto memory = runtime_.allocate_bytes(bytes == 0 ? 1 : bytes);
    EXPECT_OK(memory.status());
    return memory.value_or(nullptr);
  }
  Runtime& runtime_;
  const DeviceContext handle_;
};

using PeTest = std::function<void(Pe&)>;

inline void on_job(const JobOptions& options, const PeTest& body) {
  DeviceJob job(options);
  std::barrier rendezvous(options.npes);
  std::vector<std::thread> threads;
  for (int pe = 0; pe < options.npes; ++pe)
    threads.emplace_back([&, pe] {
      enter_pe(pe);
      JobPe self(job, rendezvous, pe);
      body(self);
    });
  for (std::thread& thread : threads) thread.join();
  FaultRecord record;
  for (int pe = 0; pe < options.npes; ++pe)
    EXPECT_FALSE(job.take_fault(pe, &record)) << "PE " << pe << ": fault in " << record.where;
}

inline void on_runtimes(int npes, bool late, bool check, const PeTest& body) {
  Options options;
  options.heap_size = std::uint64_t{64} << 20;
  options.heap_chunk = std::uint64_t{4} << 20;
  options.check = check;
  options.ring_capacity = 16;
  if (late) options.fault = "seed=" + std::to_string(test_seed() & 0xffffffffu) + ",late=1";
  EXPECT_OK(run_local(
      npes,
      [&](Runtime& runtime) -> Status {
        ASSIGN_OR_RETURN(const DeviceContext handle, runtime.context().device());
        RuntimePe self(runtime, handle);
        body(self);
        RETURN_IF_ERROR(runtime.barrier());
        return runtime.health();
      },
      options));
}

inline void on_pes(Way way, int npes, const PeTest& body) {
  const bool check = test_seed() % 2 == 0;
  if (way == Way::kRuntime || way == Way::kLateRuntime)
    return on_runtimes(npes, way == Way::kLateRuntime, check, body);
  JobOptions options;
  options.npes = npes;
  options.mapped = way != Way::kRing;
  options.packs = way == Way::kPacked;
  options.heap_bytes = std::size_t{8} << 20;
  options.ring_capacity = std::uint64_t{1} << (1 + test_seed() % 6);
  options.check = check;
  options.seed = test_seed();
  on_job(options, body);
}

}  // namespace weft::test
