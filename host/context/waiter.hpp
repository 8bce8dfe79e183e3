// Waiter: the one way to wait. Spins, soon gives the core away, drives what must be driven, notices
// that the job has ended, and knows when to time out and what to report then.
//
//   Waiter waiter(job, &queue);
//   while (!ready())
//     if (!waiter.again()) RETURN_IF_ERROR(waiter.at_deadline({.operation = "barrier", ...}));
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include <weft/status.hpp>

#include "host/context/job.hpp"
#include "host/transport/lane_queue.hpp"
#include "src/base/clock.hpp"

namespace weft {

// The facts that a report of a wait names. Made only when the wait has failed.
struct WaitFacts {
  const char* operation = "wait";  // "wait_until", "quiet", "barrier"
  int peer = -1;                   // who should have acted; -1: not known
  const void* word = nullptr;      // in my heap; null: the wait is not for one word
  int holder = -1;                 // whose copy of the word is waited for; -1: mine
  std::string seen{};              // "3"; or what is missing, if there is no word
  std::string wanted{};            // ">= 4"
};

class Waiter {
 public:
  // `queue` (may be null) is moved on while something in it needs that, under `mutex` (may be
  // null). A crowded host, and a transport that must be driven, cannot wait long for the first
  // step.
  explicit Waiter(Job& job, LaneQueue* queue = nullptr, std::mutex* mutex = nullptr)
      : job_(job), queue_(queue), mutex_(mutex), burst_(burst(drives(), kFirstBurst)) {}

  // Between two looks. False: the job has ended or the deadline has passed, see at_deadline().
  bool again() {
    if (++spins_ >= burst_) [[unlikely]]
      return step();
    relax();
    return true;
  }

  // kPeerLost or kAborted if the job has ended. Else what WEFT_WAIT_ACTION says: kTimeout with the
  // report (abort: the job is told to end, too); or wait: the report is logged, and ok means that
  // the wait goes on, until WEFT_WAIT_LIMIT ends the job.
  Status at_deadline(const WaitFacts& facts);

 private:
  static void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#endif
  }
  bool step();
  std::unique_lock<std::mutex> alone() const {
    return mutex_ == nullptr ? std::unique_lock<std::mutex>() : std::unique_lock(*mutex_);
  }
  bool drives() const {
    const auto lock = alone();
    return queue_ != nullptr && queue_->wants_progress();
  }
  bool drive();  // true if the queue needs that
  int burst(bool driven, int otherwise) const {
    // relaxed: a hint, about nothing but this core.
    const bool awaited =
        job_.crowded && job_.lone_yields.load(std::memory_order_relaxed) < kLoneYields;
    if (awaited) return kCrowdedBurst;
    if (driven) return kDrivenBurst;
    return job_.crowded ? kAloneBurst : otherwise;
  }
  void give_core_away();
  std::string writer_of(std::uint64_t offset) const;
  std::string report(const WaitFacts& facts) const;
  double first_deadline() const;
  bool goes_on();

  static constexpr int kFirstBurst = 2048;  // some tens of microseconds
  static constexpr int kBurst = 512;
  // A transport that must be driven is looked at each time, and between yields, which take longer
  // than a look, so often that nothing else is done.
  static constexpr int kDrivenBurst = 1;
  static constexpr int kDrivenSteps = 512;
  // On a crowded host each pause delays those who wait for this core, and could bring what is
  // missing. But a yield takes longer than a message, and is for nothing while the others sleep.
  static constexpr int kCrowdedBurst = 2;
  static constexpr int kLoneYields = 16;
  static constexpr int kAloneBurst = 64;

  Job& job_;
  LaneQueue* queue_;
  std::mutex* mutex_;
  int burst_;
  int spins_ = 0;
  int steps_ = 0;
  std::optional<Deadline> deadline_;
  Status ended_;
};

// Waits until `ready()`; `facts()` makes the WaitFacts of the report.
template <class Ready, class Facts>
Status wait_for(Job& job, LaneQueue* queue, Ready&& ready, Facts&& facts,
                std::mutex* mutex = nullptr) {
  Waiter waiter(job, queue, mutex);
  while (!ready())
    if (!waiter.again()) [[unlikely]] {
      if (ready()) return Status::ok();
      Status over = waiter.at_deadline(facts());
      if (!over.is_ok()) return over;
    }
  return Status::ok();
}

}  // namespace weft
