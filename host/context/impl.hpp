// Context::Impl: what a context keeps, and the pieces of its calls that the hot path leaves out.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>

#include <weft/context.hpp>
#include <weft/dev/op.hpp>

#include "host/context/job.hpp"
#include "host/transport/apply.hpp"
#include "host/transport/lane_queue.hpp"

namespace weft {

// The hot path is: the DirectWay shows an address, store. All that needs more care makes
// nothing reachable, so that the same tests send a call to the slow path.
struct Context::Impl {
  Impl(std::shared_ptr<Job> job, int lane, bool checks);
  ~Impl();

  // Where `pe`'s heap can be touched without further ado; null: take the slow path.
  std::byte* direct(int target) const { return way.heap_of(target); }

  // Slow paths: every check, then the direct way or an Op.
  Status put(void* dst, const void* src, std::size_t bytes, int pe, Notify notify, Done done);
  Status get(void* dst, const void* src, std::size_t bytes, int pe, Done done);
  Status amo(OpKind kind, void* dst, std::size_t width, std::uint64_t value, std::uint64_t compare,
             void* result, int pe, Done done);
  // The same for symmetric GPU memory (gpu_transfer.cpp).
  Status put_on_gpu(void* dst, const void* src, std::size_t bytes, int pe, Notify notify);
  Status get_on_gpu(void* dst, const void* src, std::size_t bytes, int pe);
  // Bytes between my memory and what pe's GPU has at a symmetric address, complete on return.
  Status put_there(void* symmetric, const void* src, std::size_t bytes, int pe);
  Status get_there(void* dst, const void* symmetric, std::size_t bytes, int pe);
  // Has a transport of GPU memory execute `op`; complete on return.
  Status carry_out(const Op& op);
  // The old value's bits. The arguments have been checked.
  Result<std::uint64_t> amo_on_gpu(Amo amo, void* word, std::size_t width, std::uint64_t value,
                                   std::uint64_t compare, int pe);
  // The same, reported: where the hot path jumps when it cannot go on.
  static Raw to_raw(Status status);
  // Puts that the direct way takes, with a notify or into adopted memory; and those that it
  // refuses.
  [[gnu::noinline]] Raw put_further(void* dst, const void* src, std::size_t bytes, int pe,
                                    const Notify& notify, Done done, Caller caller);
  [[gnu::noinline, gnu::cold]] Raw report_put(void* dst, const void* src, std::size_t bytes, int pe,
                                              const Notify& notify, Done done, Caller caller);
  [[gnu::noinline, gnu::cold]] Raw report_get(void* dst, const void* src, std::size_t bytes, int pe,
                                              Done done, Caller caller);
  [[gnu::noinline, gnu::cold]] Raw report_amo(Amo amo, void* dst, std::size_t width,
                                              std::uint64_t value, std::uint64_t compare,
                                              void* result, int pe, Done done, Caller caller);
  // Null while the job goes on, as far as is known.
  [[gnu::noinline, gnu::cold]] Raw report_end(Caller caller);
  [[gnu::noinline, gnu::cold]] Status report_fence(Caller caller);
  [[gnu::noinline, gnu::cold]] Status report_quiet(Caller caller);
  Status fence(std::uint32_t pe);
  static constexpr int kAnyPe = -1;
  Status quiet(int pe);  // kAnyPe: of all

  // Ok while calls of this context can still succeed.
  Status usable();
  // The heap may have grown, or memory been adopted, since the direct way learnt of it.
  void refresh();
  // For a call that a program may make in a loop, as a wait: the job's health, now and then.
  Status still_there() {
    constexpr unsigned kPolls = 64;
    if (++polls % kPolls == 0) [[unlikely]]
      return look_at_health();
    return Status::ok();
  }
  [[gnu::noinline, gnu::cold]] Status look_at_health();
  // From here on every call returns `why`.
  void fail(const Status& why);
  // From here on every call comes to its slow path.
  void close_direct_way();
  // Atomics so wide are carried by a transport, to every PE.
  bool by_atomics(OpKind kind, std::size_t width) const {
    return job->routes.by_atomics(kind, width);
  }
  std::byte* mapped(int pe) const { return job->routes.peer[static_cast<std::size_t>(pe)]; }
  // The context goes away: completes what is outstanding. An operation that cannot complete is left
  // to the job.
  static void destroy(std::unique_ptr<Impl> impl);

  // Checked arguments of a put that are ready to be executed.
  struct Moved;
  Status check_moved(const char* routine, const Moved& moved, Op* op);
  Status check_put(void* dst, const void* src, std::size_t bytes, int pe, const Notify& notify,
                   Op* op);
  Status check_get(void* dst, const void* src, std::size_t bytes, int pe, Op* op);
  Status check_amo(OpKind kind, void* dst, std::size_t width, void* result, int pe, Op* op);
  // Posts, waiting while the transport is busy.
  Status post(const Op& op, LaneQueue::Ticket* ticket);
  // Waits for one op whose result the caller needs now.
  Status complete(LaneQueue::Ticket ticket, const char* operation, int pe);
  // Keeps the first failure of an operation for quiet().
  Status remember(Status failure);
  // If threads share the context, quiet() tells one of them of an operation's failure, and it may
  // be another one's operation. So `failures` counts them for those that are in collectives.
  Status latest_failure();
  Status note(int pe, std::uint64_t offset);
  void note_writer(std::byte* heap, std::uint64_t offset);
  Status post_note(std::uint32_t target, std::uint64_t offset);

  detail::Reachable reachable;
  detail::DirectWay way;
  const std::shared_ptr<Job> job;
  const Heap* const heap;
  const int pe, npes, lane;
  const bool checks;                  // WEFT_CHECK=1; the runtime's own context does without
  std::atomic<bool> posted{false};    // an Op, since the last quiet
  std::atomic<bool> unfenced{false};  // an Op, since the last fence
  // Ops that were posted, and how many of them when all since the last quiet were signals of syncs
  // that are over: those need no quiet. Atomic for threads that share the context.
  std::atomic<std::uint64_t> posts{0}, met{0};
  bool owes_quiet() const { return posted && posts != met; }
  // Where threads share the context, one at a time goes beyond the direct way.
  // In a child of fork() the lock may be a thread's of the parent.
  [[nodiscard]] std::unique_lock<std::mutex> turn() {
    return shared && !job->is_inherited() ? std::unique_lock(mutex)
                                          : std::unique_lock<std::mutex>();
  }
  bool shared = false;
  std::mutex mutex;  // guards all that changes, if shared
  // Where a transport brings the result of a blocking fetch.
  const std::shared_ptr<std::uint64_t> fetched = std::make_shared<std::uint64_t>();
  std::atomic<std::uint64_t> failures{0};
  unsigned polls = 0;           // tests that found nothing, and slow reads
  std::uint64_t looked_at = 0;  // ns, when the last one looked at the job's health
  Status failed;                // sticky
  Status first_error;           // of an operation, since the last quiet
  Status latest;                // of an operation
  LaneQueue queue;
};

inline bool is_fetching(Amo amo) { return amo >= Amo::kFetch; }

// The old value of an atomic for the caller: `old` holds its bits in the low bytes.
inline void store_result(void* result, std::uint64_t old, std::size_t width) {
  const auto narrow = static_cast<std::uint32_t>(old);
  if (width == sizeof(old))
    std::memcpy(result, &old, sizeof(old));
  else
    std::memcpy(result, &narrow, sizeof(narrow));
}

}  // namespace weft
