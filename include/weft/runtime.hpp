// Runtime: one PE's membership of a job. An object: several may live in one process (PEs may be
// threads), and a new one may be made after the last one is gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <weft/context.hpp>
#include <weft/options.hpp>
#include <weft/result.hpp>
#include <weft/target.hpp>
#include <weft/team.hpp>

namespace weft {

// Where PEs meet: made once by any process, carried to every PE as text by whatever means the user
// has. The process that made it serves the rendezvous point until the UniqueId object and every
// copy of it are gone and the job has ended.
class WEFT_API UniqueId {
 public:
  // Listens on options.bind_address:bind_port at once, so that no PE can come too early.
  static Result<UniqueId> create(int npes, const Options& options = {});
  // For a job whose size is not known yet: the first PE that comes says it.
  static Result<UniqueId> create(const Options& options = {});
  static Result<UniqueId> parse(std::string_view text);
  std::string text() const;

 private:
  static Result<UniqueId> serve(std::optional<int> npes, const Options& options);
  std::string text_;
  std::shared_ptr<void> server_;  // held by the process that made it
};

// The kinds of symmetric memory. Kernels on a GPU take kDevice: memory of the PE's GPU, which every
// other PE's kernels load, store and update as well. Host threads do not load and store there;
// their puts, gets, atomics, waits and collectives take it, and cost a copy or a kernel each.
// Without GPUs, where kernels run on host threads, both are the same memory.
enum class MemoryKind { kHost, kDevice };

// Memory that a PE has already, for Runtime::adopt.
struct OwnMemory {
  void* address = nullptr;  // of whole pages; of memory of the PE's GPU, a multiple of 16
  std::size_t bytes = 0;    // whole pages, or any of a GPU; the same on every PE
  std::string name;         // what it is, for messages; the same on every PE
};

class WEFT_API Runtime {
 public:
  // Finds its launcher (docs/guide/launchers.md): weft-run, mpirun, mpiexec, srun, MPI, variables
  // set by hand. None: a job of one PE; one that cannot be used: an error. Collective over the job.
  static Result<Runtime> create();
  static Result<Runtime> create(const Options& options);
  // Meets the others at `id`.
  static Result<Runtime> create(const UniqueId& id, int pe, int npes, const Options& options = {});

  Runtime(Runtime&&) noexcept;
  Runtime& operator=(Runtime&&) noexcept;
  // Collective: waits (with a deadline) until what OnStream queued on host threads has run and all
  // PEs are here, so that nobody's heap goes away under a peer's put. A runtime whose job has
  // failed does not wait, nor does one in a child of fork().
  ~Runtime();

  int pe() const;
  int npes() const;
  const Options& options() const;
  // The GPU of this PE, as CUDA counts in this process: that which is current in the thread that
  // creates the runtime (cudaSetDevice), else WEFT_GPU, else one after the other on each host, and
  // then it is made current. -1: none, kernels run on host threads; or none yet, since a program
  // that has not used a GPU so far gets one at its first allocate_device() or adopt().
  int gpu() const;

  // --- symmetric heap: collective over the job, same arguments and order everywhere ----------
  // Same offset on every PE. No communication while the heap's present chunks have room; so it is
  // no barrier: synchronise before a peer touches new memory, and before freeing used memory.
  // 0 bytes gives null. Memory is not initialised. align: a power of two; 0 takes 64.
  Result<void*> allocate_bytes(std::size_t bytes, std::size_t align = 0,
                               MemoryKind kind = MemoryKind::kHost);
  template <class T>
  Result<T*> allocate(std::size_t count, std::size_t align = alignof(T),
                      MemoryKind kind = MemoryKind::kHost) {
    auto memory = allocate_bytes(bytes_of<T>(count), align < 64 ? 64 : align, kind);
    if (!memory) return memory.status();
    return static_cast<T*>(*memory);
  }
  // The same for kernels.
  template <class T>
  Result<T*> allocate_device(std::size_t count, std::size_t align = alignof(T)) {
    return allocate<T>(count, align, MemoryKind::kDevice);
  }
  // Zeroed on every PE when it returns on any (it ends with a barrier).
  Result<void*> callocate_bytes(std::size_t count, std::size_t size,
                                MemoryKind kind = MemoryKind::kHost);
  template <class T>
  Result<T*> callocate(std::size_t count, MemoryKind kind = MemoryKind::kHost) {
    auto memory = callocate_bytes(count, sizeof(T), kind);
    if (!memory) return memory.status();
    return static_cast<T*>(*memory);
  }
  template <class T>
  Result<T*> callocate_device(std::size_t count) {
    return callocate<T>(count, MemoryKind::kDevice);
  }
  // Keeps min(old, new) bytes; a failure leaves the old block as it was. Ends with a barrier.
  Result<void*> reallocate_bytes(void* memory, std::size_t bytes);
  // null is fine; anything but a live allocation is an error. Not a barrier.
  Status free(void* memory);
  // Where [address, address + bytes) lies in symmetric memory of its kind: the same number on every
  // PE. None if it is not all symmetric memory of mine.
  std::optional<std::uint64_t> offset_of(const void* address, std::size_t bytes = 1) const;

  // Memory that I have already (static data, what mmap gave, a framework's tensor on the PE's GPU)
  // becomes symmetric where it is: every operation takes its addresses as it takes those of the
  // heap of its kind, and piece i of a PE stands for piece i of the others, wherever it lies there.
  // Contents stay. Collective, with as many pieces of the same sizes, names and kinds everywhere,
  // which is checked; ends with a barrier. A piece that lies within one adopted before is
  // symmetric already, if it does so on all PEs.
  //
  // Host memory: other threads of this process must not store to the pieces during the call. Until
  // the runtime goes, the pages belong to an object in memory that peers map; afterwards they are
  // ordinary private pages again, with their contents. A child of fork() gets a copy of its own.
  // All pieces together: at most WEFT_ADOPT_SIZE bytes. Adopted memory stays so as long as the
  // runtime lives; so no part may be unmapped before.
  //
  // GPU memory (docs/guide/gpu.md says which): peers map the allocations that it lies in, whole.
  // It must not be freed before disown(), or before the runtime goes. If it was, and a piece of a
  // later call lies at its addresses, it is given up on all PEs, however often it was adopted.
  Status adopt(const std::vector<OwnMemory>& pieces);
  // The opposite, collective and checked alike, once for each adopt(): from then on nobody has the
  // GPU memory mapped, and it may be freed. First complete what is under way to it. For host
  // memory only the check is made.
  Status disown(const std::vector<OwnMemory>& pieces);
  // While somebody has this, symmetric memory stays mapped in this process, after the runtime has
  // gone, too: for objects of other languages that still point into it.
  std::shared_ptr<const void> hold_memory() const;

  // --- teams ----------------------------------------------------------------------------------
  const Team& world() const;
  const Team& node() const;    // PEs of this host
  const Team& shared() const;  // PEs whose heap this PE can load and store directly
  // Collective over `parent`; non-members get a Team with rank -1. stride may be negative.
  Result<Team> split_strided(const Team& parent, int start, int stride, int size);
  // x varies fastest: rank = y * xrange + x. The last row may be short.
  struct Split2d {
    Team x, y;
  };
  Result<Split2d> split_2d(const Team& parent, int xrange);
  // `ranks` of the parent, in the order that the new team's ranks shall have; same list on all.
  Result<Team> team_from_list(const Team& parent, const std::vector<int>& ranks);
  // The same without a parent: only the PEs of `pes` call, all with the same list of PE numbers.
  // `words`: kTeamWords symmetric words, zero on all of `pes`, and zero again on return; until then
  // no other call may use them.
  static constexpr std::size_t kTeamWords = 16;
  Result<Team> team_of(const std::vector<int>& pes, std::uint64_t* words);
  // Collective over the team; the predefined ones stay.
  Status destroy(Team& team);

  // --- contexts -------------------------------------------------------------------------------
  Context& context();  // the default one
  Result<Context> create_context();

  // --- the rest -------------------------------------------------------------------------------
  // Collective over the job: all PEs are here, and what their default contexts had under way is
  // complete. Not a collective of world(): one of those may be on its way on a stream.
  Status barrier();
  // The first failure that this PE knows of: a wait that timed out in a kernel, a dead peer.
  Status health();
  // This process is a child, made by fork(), of the one that created the runtime: the parent is the
  // PE, every call here fails and says so, and the end of the child concerns nobody.
  bool is_inherited() const;
  // Ends the whole job: every PE's calls fail with kAborted, and weft-run exits with `code`
  // (0 too: a program that found its answer may end everybody).
  void abort(int code, std::string_view why);
  // A description of this job for people: transports, reach, heap, teams.
  std::string describe() const;

  struct Impl;
  Impl& impl() const { return *impl_; }

 private:
  explicit Runtime(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Runs `body` on `npes` threads of this process, each with a Runtime of its own: a job without
// processes, for tests, debuggers and laptops. The first failure of a PE, else ok.
WEFT_API Status run_local(int npes, const std::function<Status(Runtime&)>& body,
                          const Options& options = {});

}  // namespace weft
