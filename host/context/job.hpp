// Job: one PE's share of a job, as everything above the transports sees it. Built by host/runtime;
// contexts, waits and collectives look here.
#pragma once

#include <array>
#include <atomic>
#include <bitset>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <weft/context.hpp>
#include <weft/dev/state.hpp>
#include <weft/options.hpp>
#include <weft/runtime.hpp>
#include <weft/result.hpp>

#include "bootstrap/bootstrap.hpp"
#include "host/context/gpu_space.hpp"
#include "host/context/queued_grids.hpp"
#include "host/context/stream_waits.hpp"
#include "host/memory/heap.hpp"
#include "host/proxy/proxy.hpp"
#include "host/topology/facts.hpp"
#include "host/transport/routes.hpp"
#include "src/base/process.hpp"
#include "src/platform/platform.hpp"

namespace weft {

// Members go from the last to the first, so who uses stands below what it uses.
class Job {
 public:
  Job();
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  // This process is a child of fork(), and the job its parent's: every call says so.
  bool is_inherited() const { return process_.is_inherited(); }

  int pe = 0;
  int npes = 1;
  Options options;
  Runtime* runtime = nullptr;  // follows the Runtime object when that moves
  Platform* platform = nullptr;
  std::unique_ptr<Bootstrap> bootstrap;
  std::unique_ptr<Heap> heap;
  std::vector<Facts> facts;  // of all PEs, once they have met
  Routes routes;
  TeamBlocks teams;
  GpuSlot gpu;                                // null: there is host memory only
  std::unique_ptr<StreamWaits> stream_waits;  // with a GPU, once there was a device()
  Status no_gpu;                              // why, if there are GPUs
  std::uint64_t journal_offset = 0;           // of dev/journal.hpp's table; 0: WEFT_CHECK is off
  std::vector<int> host_of;  // each PE's first neighbour; empty: collectives do not look at hosts
  const std::shared_ptr<QueuedGrids> queued = std::make_shared<QueuedGrids>();
  std::weak_ptr<void> remains;  // DeferredReclamation: heaps of PEs that are gone
  bool crowded = false;  // more PEs on this host than cores: who waits must give its core away
  std::atomic<int> lone_yields{0};  // in a row, at which nobody took the core; counted if crowded

  // Once the routes are there: transports that move nothing by themselves get a proxy thread.
  Status start_progress();
  // The end of the job as far as this PE knows, sticky: kPeerLost or kAborted. Asks the bootstrap.
  Status health();
  // The same without asking: cheap.
  bool has_ended() const { return ended_.load(std::memory_order_acquire); }
  // The runtime is gone: the others are told, and health() answers so from now on.
  void close();

  // A kernel gets this, on the GPU if there is one. The state is made at the first call.
  Result<DeviceContext> device(int lane);
  // A job that has started without a GPU takes one: as long as the result lives no other thread has
  // what device() gives. Nobody must have had it before.
  std::unique_lock<std::mutex> hold_device() { return std::unique_lock(gpu_mutex_); }
  bool has_given_device();
  // Makes what device() needs, for the GPU if there is one; before anybody has what that gave.
  Status prepare_for_kernels();
  // The job does without a GPU after all; before anybody has what device() gave.
  void drop_gpu();
  // The same in memory that the kernel reads.
  Result<const DeviceContext*> device_pointer(int lane);
  // Whether `address` lies in symmetric GPU memory, or in what may become that.
  bool is_on_gpu(const void* address) const;
  // The heap that has that memory, or would if it were symmetric.
  Heap& heap_of(const void* address) const { return is_on_gpu(address) ? gpu->heap() : *heap; }
  // Kernels that start from now on know of what the heap has adopted.
  void show_adopted();
  // The first failure of a kernel, if there was a device() at all.
  Status device_health();
  void stop_proxy();

  // Live contexts, one per lane.
  Result<int> take_lane();
  void give_lane(int lane);
  void enter(Context::Impl* context, int lane, LaneQueue* queue);
  void leave(int lane, LaneQueue* queue);
  // Contexts that the user still has; there should be none when the runtime goes.
  std::vector<Context::Impl*> contexts();
  // Keeps something that transports may still write to until they are gone.
  void defer_reclamation(std::shared_ptr<void> remains);

  // "PE 3": who last wrote the word at `offset` of my heap; "" if nobody knows.
  std::string last_writer(std::uint64_t offset) const;

 private:
  static void lock_for_fork();
  static void unlock_after_fork();
  static void leave_to_parent();
  Status why_not_in_child() const;
  Status make_proxy();
  Status look_further(std::uint64_t now_ns);
  void end_waits();
  void end_stream_waits();
  bool has_lost_gpu() const;
  bool waits_on() const { return options.wait_action == "wait"; }
  Status make_device_state();
  std::uint64_t deadline_ns() const;
  std::uint64_t stream_deadline_ns() const;
  DeviceState common_state() const;
  Result<DeviceContext> cpu_handle(int lane);
  Result<DeviceContext> gpu_handle(int lane);

  const OwnerProcess process_;
  std::atomic<bool> ended_{false};
  std::mutex mutex_;  // guards the four below
  Status end_;
  std::bitset<kMaxLanes> lanes_;
  std::array<Context::Impl*, kMaxLanes> contexts_{};
  std::vector<std::shared_ptr<void>> deferred_;

  // Kernels have of this job: nothing yet, a state, or one that says that the job has ended.
  enum class Shown { kNothing, kState, kEnd };
  std::atomic<Shown> shown_to_kernels_{Shown::kNothing};
  std::uint64_t looked_ns_ = 0;  // at the job's health; of the proxy's thread

  std::mutex gpu_mutex_;     // held while device() is called, or a GPU is taken
  std::mutex device_mutex_;  // guards the seven below
  Memory device_memory_;
  DeviceState* device_state_ = nullptr;           // of kernels on the CPU target
  bool gpu_state_ = false;                        // gpu->publish() has been called
  std::bitset<kMaxLanes> gpu_rings_;              // which gpu->publish_ring() has been called for
  std::bitset<kMaxLanes> shown_;                  // whose device_pointer() is filled
  std::array<DeviceContext, kMaxLanes> handles_;  // where kernels on the CPU target find it
  std::unique_ptr<Proxy> proxy_;
};

}  // namespace weft
