// Locks: a queue lock over the job (Mellor-Crummey and Scott), first come first served, in the one
// long that the program gives. All it asks of memory is that the long is 0 at first.
//
// The long's two halves are two 32-bit words. The tail, on the lock's home PE only: who came last,
// as PE + 1; 0 if the lock is free. The node, on every PE: whether this PE waits or holds, and who
// comes next, as PE + 1. A PE that waits, waits for a word of its own memory.
//
// All atomics fetch, though few results are used: one that does not may be done later than one
// that comes behind it.
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>

#include <fmt/format.h>

#include <weft/wait.hpp>

#include "host/api/shmem/state.hpp"
#include "src/base/clock.hpp"

namespace weft::shmem {
namespace {

constexpr std::uint32_t kWaits = 1u << 31;
constexpr std::uint32_t kHolds = 1u << 30;
constexpr std::uint32_t kNext = kHolds - 1;

// The locks of this PE's threads. They queue here first, as one PE has one node.
class Turns {
 public:
  // False: `seconds` have passed, and another thread still has it.
  bool take(const void* lock, double seconds) {
    std::unique_lock guard(mutex_);
    const auto mine = [&] { return taken_.insert(lock).second; };
    return free_.wait_for(guard, std::chrono::duration<double>(seconds), mine);
  }
  bool try_take(const void* lock) {
    const std::lock_guard guard(mutex_);
    return taken_.insert(lock).second;
  }
  void give(const void* lock) {
    const std::lock_guard guard(mutex_);
    taken_.erase(lock);
    free_.notify_all();
  }
  bool taken(const void* lock) {
    const std::lock_guard guard(mutex_);
    return taken_.count(lock) != 0;
  }

 private:
  std::mutex mutex_;
  std::condition_variable free_;
  std::unordered_set<const void*> taken_;  // guarded by mutex_
};
Turns& turns() {
  static Turns* const turns = new Turns;
  return *turns;
}

class Lock {
 public:
  // The home, the same on all PEs, spreads locks over them.
  Lock(Context& context, long* lock, std::uint64_t offset)
      : c_(context),
        tail_(reinterpret_cast<std::uint32_t*>(lock)),
        node_(tail_ + 1),
        me_(static_cast<std::uint32_t>(context.pe()) + 1),
        home_(
            static_cast<int>(offset / sizeof(long) % static_cast<std::uint64_t>(context.npes()))) {
    static_assert(sizeof(long) == 2 * sizeof(std::uint32_t));
  }

  Status set() {
    auto old = c_.atomic_swap(node_, kWaits, c_.pe());
    if (!old) return old.status();
    auto before = c_.atomic_swap(tail_, me_, home_);
    if (!before) return before.status();
    // Both bits; the next one may have told my node its mark already.
    if (*before == 0) return c_.atomic_fetch_xor(node_, kWaits | kHolds, c_.pe()).status();
    // My own node is ready, and the swap came after that; now the one before me may know.
    old = c_.atomic_fetch_or(node_, me_, pe_of(*before));
    if (!old) return old.status();
    // Acquires: pairs with the release of the holder's exclusive or in clear().
    return wait_until(c_, node_, Cmp::kLt, kWaits);
  }

  Result<bool> try_set() {
    auto old = c_.atomic_swap(node_, kHolds, c_.pe());
    if (!old) return old.status();
    auto before = c_.atomic_compare_swap(tail_, std::uint32_t{0}, me_, home_);
    if (!before) return before.status();
    if (*before == 0) return true;
    return false;  // nobody looks at my node before I am in the queue
  }

  Status clear() {
    Status status = c_.quiet();  // what I did under the lock is complete before others hold it
    auto node = c_.atomic_fetch(node_, c_.pe());
    if (!node) return node.status();
    if ((*node & kNext) == 0) {
      auto last = c_.atomic_compare_swap(tail_, me_, std::uint32_t{0}, home_);
      if (!last) return last.status();
      if (*last == me_) return Status::ok();
      // Somebody has swapped the tail and will tell my node so.
      status = wait_until(c_, node_, Cmp::kNe, kHolds);
      if (!status) return status;
      node = c_.atomic_fetch(node_, c_.pe());
      if (!node) return node.status();
    }
    // Both bits: the next one no longer waits, and holds.
    return c_.atomic_fetch_xor(node_, kWaits | kHolds, pe_of(*node & kNext)).status();
  }

 private:
  static int pe_of(std::uint32_t mark) { return static_cast<int>(mark) - 1; }

  Context& c_;
  std::uint32_t* const tail_;
  std::uint32_t* const node_;
  const std::uint32_t me_;
  const int home_;
};

// None, and reported, if `lock` is none or the library is not there.
std::optional<Lock> admit_lock(const char* routine, long* lock) {
  Context* const context = admit(routine, SHMEM_CTX_DEFAULT);
  if (context == nullptr) return {};
  const auto offset = runtime(routine)->offset_of(lock, sizeof(long));
  if (offset && *offset % sizeof(long) == 0) return Lock(*context, lock, *offset);
  refuse_address(routine, "lock", lock, Code::kNotSymmetric, "is not a long in symmetric memory");
  return {};
}

void refuse(const char* routine, const long* lock, const char* why) {
  refuse_address(routine, "lock", lock, Code::kInvalidArgument, why);
}

// Until no other thread of this PE has the lock. As every wait, it reports after WEFT_WAIT_TIMEOUT,
// and then at growing intervals, and ends when the job does.
Status take_turn(const char* routine, Runtime& rt, long* lock) {
  constexpr double kLook = 0.1;  // s, at the job's health
  const Options& options = rt.options();
  const Deadline limit(options.wait_limit);
  Deadline report_at(options.wait_timeout);
  while (!turns().take(lock, kLook)) {
    Status health = rt.health();
    if (!health) return health;
    if (!limit.expired() && !report_at.expired()) continue;
    const double waited = report_at.waited_seconds();
    const std::string text = fmt::format(
        "{}: argument lock is {}, which another thread of this PE has held for {:.1f} s", routine,
        fmt::ptr(lock), waited);
    if (limit.expired() || options.wait_action == "abort")
      return Status::error(Code::kTimeout, text);
    report(Status::error(Code::kTimeout, text + "; this one goes on waiting")).ignore();
    report_at.extend_to(2 * waited);
  }
  return Status::ok();
}

void set_lock(const char* routine, long* lock) {
  std::optional<Lock> mine = admit_lock(routine, lock);
  if (!mine) return;
  const CallerName name(routine);
  if (thread_level() < SHMEM_THREAD_MULTIPLE) {
    if (!turns().try_take(lock))
      return refuse(routine, lock, "this PE holds already; it would wait for itself");
  } else {
    settle(take_turn(routine, *runtime(routine), lock));
  }
  settle(mine->set());
}

// A loop of tests ends with the job. Not each looks, since that takes longer than a try.
Status still_there(Runtime& rt) {
  constexpr unsigned kTests = 64;
  static thread_local unsigned tests = 0;
  return ++tests % kTests == 0 ? rt.health() : Status::ok();
}

int test_lock(const char* routine, long* lock) {
  std::optional<Lock> mine = admit_lock(routine, lock);
  if (!mine || !turns().try_take(lock)) return 1;
  const CallerName name(routine);
  const Result<bool> set = mine->try_set();
  if (!set) settle(set.status());
  if (set.value_or(false)) return 0;
  turns().give(lock);
  settle(still_there(*runtime(routine)));
  return 1;
}

void clear_lock(const char* routine, long* lock) {
  std::optional<Lock> mine = admit_lock(routine, lock);
  if (!mine) return;
  if (!turns().taken(lock)) return refuse(routine, lock, "this PE does not hold");
  const CallerName name(routine);
  settle(mine->clear());
  turns().give(lock);
}

}  // namespace
}  // namespace weft::shmem

#define WEFT_SHMEM_GROUP "lock.def.h"
#define WEFT_SHMEM_ROUTINE WEFT_SHMEM_DEFINE
#include <shmem/families.def.h>
