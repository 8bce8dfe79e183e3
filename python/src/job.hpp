// Job: this PE's runtime as Python has it, and the symmetric memory that Python allocated there.
//
// Memory is numbered: all PEs allocate and free in the same order, so a block has the same number
// everywhere. Memory that a PE has dropped is freed once all have, at the next collective call.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include <weft/reduce_op.hpp>
#include <weft/runtime.hpp>

#include "python/src/gpu.hpp"

namespace weft::python {

class Job;

// Symmetric memory of one allocation. It lives as long as a tensor or an array of another library
// has it; and it stays mapped that long, whatever becomes of the job.
class Block {
 public:
  Block(std::shared_ptr<Job> job, std::byte* address, std::size_t bytes, int gpu, int number);
  ~Block();  // this PE has dropped it, as the job learns
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  Job& job() const { return *job_; }
  std::byte* address() const { return address_; }
  std::size_t bytes() const { return bytes_; }
  int gpu() const { return gpu_; }  // where it lies; -1: host memory
  int number() const { return number_; }
  bool is_freed() const { return freed_; }
  int exports() const { return exports_; }

  // Arrays of other libraries that have it.
  void add_export() { ++exports_; }
  void end_export() { --exports_; }

 private:
  friend class Job;
  const std::shared_ptr<Job> job_;
  const std::shared_ptr<const void> memory_;  // what keeps it mapped
  std::byte* const address_;
  const std::size_t bytes_;
  const int gpu_;
  const int number_;
  std::atomic<int> exports_{0};
  std::atomic<bool> freed_{false};
};

// An operator of the job, made on all PEs alike. As a Block it is gone once all PEs have dropped
// it.
class JobObject {
 public:
  JobObject(std::shared_ptr<Job> job, void* object, int number);
  ~JobObject();
  JobObject(const JobObject&) = delete;
  JobObject& operator=(const JobObject&) = delete;
  // As long as the job goes on, whose it is.
  void* get() const { return object_; }

 private:
  const std::shared_ptr<Job> job_;
  void* const object_;
  const int number_;
};

class Job : public std::enable_shared_from_this<Job> {
 public:
  static Result<std::shared_ptr<Job>> start(Result<Runtime> runtime,
                                            std::optional<UniqueId> rendezvous = {});

  // The runtime for one call: it does not end meanwhile.
  class Use {
   public:
    Use(Runtime& runtime, std::shared_lock<std::shared_mutex> lock)
        : runtime_(&runtime), lock_(std::move(lock)) {}
    Runtime& operator*() const { return *runtime_; }
    Runtime* operator->() const { return runtime_; }

   private:
    Runtime* runtime_;
    std::shared_lock<std::shared_mutex> lock_;
  };
  // Or why there is none.
  Result<Use> use();
  bool has_ended() const { return ended_; }
  // The GPU that its kernels run on, and their arrays lie on; null: it runs on host threads.
  const Gpu* gpu() const { return gpu_ ? &*gpu_ : nullptr; }
  int gpu_number() const { return gpu_ ? gpu_->ordinal() : -1; }

  // Collective, as the next ones: zeroed or not, and there on all PEs when it returns on any.
  Result<std::shared_ptr<Block>> allocate(std::size_t bytes, bool zeroed, MemoryKind kind);
  // Collective: what make(runtime) makes, which goes before the runtime does.
  template <class Make>
  Result<std::shared_ptr<JobObject>> add_object(Make make) {
    const std::lock_guard alone(calls_);
    if (Status ready = begin_to_add(); !ready) return ready;
    const Gpu::Current current(gpu());
    auto made = make(*runtime_);
    if (!made) return made.status();
    void* const object = made->get();
    return std::make_shared<JobObject>(shared_from_this(), object,
                                       add_entry({nullptr, std::move(*made)}));
  }
  // Collective: the memory at `address` (of its GPU, or -1) becomes symmetric where it is, and
  // `owner` keeps it until it is no longer that: once all PEs have dropped the block.
  Result<std::shared_ptr<Block>> adopt(std::byte* address, std::size_t bytes, int gpu,
                                       std::shared_ptr<void> owner);
  // Collective: symmetric memory that somebody else allocated here and at the same offset on all
  // PEs, or who has another one. It is no block that is freed.
  Status check_offsets(const std::byte* address, std::size_t bytes);
  // A team of these PEs, which alone call, when none of them is in another call of this.
  Result<Team> team_of_members(const std::vector<int>& pes);
  // Refused on all PEs if an array on any still has it, or if they mean different blocks.
  Status free(Block& block);
  // Waits for all PEs, and ends the runtime. A second one does nothing.
  Status finalize();
  // Ends the whole job, at once and for all.
  void abort(int code, const std::string& why);

 private:
  friend class Block;
  friend class JobObject;
  // By its number: memory that was allocated or adopted, or an object. Adopted memory has its owner
  // for object; of a host's, that stays as long as the runtime.
  struct Entry {
    void* memory = nullptr;
    std::shared_ptr<void> object;
    std::optional<OwnMemory> adopted = {};
    bool owner_stays = false;
  };

  explicit Job(Runtime runtime, std::optional<UniqueId> rendezvous);
  Status prepare();
  void drop(int number);
  Status begin_to_add();
  int add_entry(Entry entry);
  Status rest();
  Status free_dropped();
  Status free_number(int number);
  // out[i] = the op of all PEs' in[i], of `count` words; and all PEs' operations so far are
  // complete.
  Status agree(const std::uint64_t* in, std::uint64_t* out, std::size_t count, ReduceOp op);

  std::shared_mutex in_use_;  // shared by calls, and taken alone by the end
  std::optional<Runtime> runtime_;
  std::optional<UniqueId> rendezvous_;  // served for as long as the job is
  std::optional<Gpu> gpu_;
  Team own_;                                 // for the calls here, whatever users do on theirs
  std::uint64_t* words_ = nullptr;           // symmetric: what agree() reads and writes
  std::uint64_t* meeting_words_ = nullptr;   // symmetric: where the members of a team meet
  std::mutex calls_;                         // one collective call of this class at a time
  std::vector<Entry> entries_;               // by number; neither: free
  std::vector<std::shared_ptr<void>> kept_;  // owners of host memory, until the runtime has gone
  std::atomic<bool> ended_{false};
  std::mutex dropped_mutex_;
  std::set<int> dropped_;  // numbers that this PE has dropped; guarded by dropped_mutex_
};

}  // namespace weft::python
