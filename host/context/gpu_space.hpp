// GpuSpace: symmetric memory on GPUs, beside the host's. A heap of its own, which peers map by
// routes of their own; kernels load and store it, host threads copy. Memory that is not mapped,
// since its GPU is out of reach, is left to the transport: kernels ask by a ring, host threads
// post.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <weft/dev/state.hpp>
#include <weft/options.hpp>
#include <weft/result.hpp>

#include "bootstrap/bootstrap.hpp"
#include "host/context/stream_pool.hpp"
#include "host/memory/heap.hpp"
#include "host/transport/routes.hpp"
#include "src/platform/platform.hpp"

namespace weft {

namespace kernel {
struct AmoKernel;
}

class GpuSpace {
 public:
  // Address space on GPU `ordinal`, whose platform it is; no memory yet.
  static Result<std::unique_ptr<GpuSpace>> create(Platform& platform, int ordinal, int pe, int npes,
                                                  const Options& options);
  ~GpuSpace();
  GpuSpace(const GpuSpace&) = delete;
  GpuSpace& operator=(const GpuSpace&) = delete;

  // Collective: a way to every PE's GPU. From then on the heap grows, each time collectively;
  // `before_growth` is called first.
  Status connect(Bootstrap& bootstrap, const std::vector<Facts>& facts,
                 std::function<Status()> before_growth);
  // Collective in effect: what kernels need of the runtime, first in the heap.
  Status lay_out();
  // Some PE does not map all, so that packed messages cannot be stored; before any kernel.
  void pack_nothing() { teams_.packed_bytes = 0; }

  Platform& platform() const { return platform_; }
  int ordinal() const { return ordinal_; }
  Heap& heap() const { return *heap_; }
  const Routes& routes() const { return routes_; }
  // The most PEs of the job that share one GPU: on all PEs the same.
  int sharers() const { return sharers_; }
  // Whether copies and kernels of mine reach every PE's; else there is a ring, and the host posts.
  bool maps_all() const { return routes_.map_all(); }
  // Where the list of a team's members goes: host threads and kernels read it there.
  std::int32_t* team_list(int id) const;
  // The words of the barriers in a team's grids (host/kernel/block_barrier.hpp).
  std::byte* grid_words(int id) const;
  // Makes my words of the team as good as new.
  Status reset_team(int id);

  // Shows kernels `state`, of which this fills what it knows, as the GPU sees it.
  Status publish(DeviceState state);
  // The same once the job has ended: waits of kernels, those that run too, end at their next look.
  Status end_waits();
  // Adds the ring of a lane to it; before kernels of that lane start.
  Status publish_ring(int lane, const RingView& ring);
  // The heap, and how peers' heaps are found: this does not depend on the context.
  DeviceContext handle() const;
  // GPU memory that the program has already becomes symmetric where it is, for kernels, too.
  // Collective in effect; so are the next three.
  Status adopt(Range own);
  // The same piece once more, of heap().adopted(): disown() is called as often.
  void adopt_again(const AdoptedRange& piece);
  Status disown(const AdoptedRange& piece);
  // The piece at that offset, however often it was adopted.
  Status retire(std::uint64_t offset);
  // Puts what a lane's kernels are given where they can read it, and tells where.
  Status show(const DeviceContext& handle);
  const DeviceContext* shown(int lane) const;

  // Between memory of any kind; complete on return.
  Status copy(void* dst, const void* src, std::size_t bytes) const;
  Status zero(Range mine) const;
  // For what waits for peers.
  StreamPool& streams() { return streams_; }
  // A kernel's atomic, whose old value it gives; complete on return.
  Result<std::uint64_t> amo(const kernel::AmoKernel& amo) const;
  // Where pe's copy of a symmetric address lies, for copies and kernels of mine; null: out of
  // their reach.
  std::byte* there(const void* symmetric, int pe) const;

 private:
  GpuSpace(Platform& platform, int ordinal, int pe, int npes, const Options& options);
  // A piece of adopted memory, as far as the heap does not know it.
  struct Piece {
    std::vector<std::byte*>
        places;             // where each PE's lies, for copies and kernels of mine; or null
    void* table = nullptr;  // the same where kernels read it
    int holders = 0;
  };

  Status reserve();
  Status count_sharers(Bootstrap& bootstrap);
  HeapShape shape_of_heap() const;
  Status grow(Bootstrap& bootstrap, std::uint64_t offset, const Result<Memory>& chunk);
  // The index of one of heap_->adopted().
  std::size_t index_of(const AdoptedRange& range) const {
    return static_cast<std::size_t>(&range - heap_->adopted().data());
  }
  Status show_adopted(const AdoptedRange& range) const;
  Result<Memory> memory_for(std::size_t bytes) const;

  Platform& platform_;
  const int ordinal_, pe_, npes_;
  Options options_;  // as the transports take them
  // Shared by all threads, so nothing on it may wait for a peer: the proxy's copies are among what
  // the peer may be waiting for.
  Stream stream_ = nullptr;
  StreamPool streams_;
  Memory places_;  // of all PEs' heaps, at equal distances; nothing: each lies where it fits
  std::unique_ptr<Heap> heap_;
  Routes routes_;
  int sharers_ = 1;
  TeamBlocks teams_;
  std::byte* grid_words_ = nullptr;  // of all teams, in the heap
  Memory lists_;
  std::array<Piece, Heap::kMaxAdopted> pieces_;  // beside heap_->adopted()
  std::vector<std::byte*> places_of_adopted_;    // of the piece that is being adopted
  // In the heap: a DeviceState, a DeviceContext for each lane, what is adopted, the table of peers.
  std::byte* module_state_ = nullptr;
  std::array<Memory, kMaxLanes> results_busy_;  // of the rings
  mutable std::mutex answer_mutex_;             // guards the word behind the next
  Memory answer_;
};

// The GpuSpace of a job, which may come to have one while other threads look.
class GpuSlot {
 public:
  // Acquire: pairs with the release in set.
  GpuSpace* get() const { return space_.load(std::memory_order_acquire); }
  GpuSpace* operator->() const { return get(); }
  GpuSpace& operator*() const { return *get(); }
  bool operator==(std::nullptr_t) const { return get() == nullptr; }
  void set(std::unique_ptr<GpuSpace> space) {
    space_.store(space.get(), std::memory_order_release);
    owner_ = std::move(space);
  }

 private:
  std::unique_ptr<GpuSpace> owner_;
  std::atomic<GpuSpace*> space_{nullptr};
};

}  // namespace weft
