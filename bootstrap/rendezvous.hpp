// The rules of a rendezvous of PEs: who is here, which collective call is open, what ended the job.
//
// Pure state: no threads, no sockets, no clock. The local bootstrap holds one under a mutex, the
// rendezvous server of the tcp bootstrap holds one in its poll loop; so both speak with one voice.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <weft/status.hpp>

#include "bootstrap/bootstrap.hpp"

namespace weft {

class Rendezvous {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Blobs = std::shared_ptr<const std::vector<Blob>>;

  enum class Call : std::uint8_t { kAllgather = 1, kBarrier = 2, kLeave = 3 };

  struct Member {
    std::int64_t pid = 0;
    std::string host;
    bool operator==(const Member&) const = default;
  };

  // `timeout_s`: how long a PE may wait for the others, from the first one that waits.
  Rendezvous(int npes, double timeout_s);

  // A refusal (pe out of range, or there already) concerns only the caller.
  Status join(int pe, Member member, Time now);
  // `sequence` is the PE's own count of its calls, from 1. A call that does not fit fails the job.
  void enter(int pe, Call call, std::uint64_t sequence, Blob mine, Time now);
  // From here on the PE may go away. Others that need it again are told that it has left.
  void leave(int pe);

  // --- for PEs that carry their calls' bytes among themselves and speak up only when it lasts ---
  // The PE has been waiting in its call for a while.
  void wait(int pe, Call call, std::uint64_t sequence);
  // The PE's wait in that call has timed out: a PE that does not wait in it is late.
  void time_out(int pe, Call call, std::uint64_t sequence);
  // As leave(), after so many calls.
  void leave_after(int pe, std::uint64_t calls);
  // A PE that went away without leaving, or that will never come.
  void lose(int pe, std::string_view how);
  void abort(int pe, int code, std::string_view why);
  // Ends the job for a reason that no PE gave (the launcher's, for one).
  void fail(Status failure);

  // When expire() has something to do; Time::max() if nobody waits.
  Time deadline() const;
  void expire(Time now);

  int npes() const { return static_cast<int>(seats_.size()); }
  // The first thing that ended the job; ok while it lives.
  const Status& failure() const { return failure_; }
  // The code that abort() was given, if that ended the job.
  std::optional<int> abort_code() const { return abort_code_; }
  // The PE whose end or abort ended the job.
  std::optional<int> culprit() const { return culprit_; }
  bool everybody_here() const { return missing_ == 0; }
  bool anybody_came() const { return missing_ < npes(); }
  bool everybody_left() const { return left_ == npes(); }
  // Collective calls completed, and what the last one gathered.
  std::uint64_t completed() const { return completed_; }
  const Blobs& gathered() const { return gathered_; }
  // "PE 2 (pid 71 on host a)".
  std::string name(int pe) const;
  bool has_left(int pe) const { return seats_[static_cast<std::size_t>(pe)].state == State::kLeft; }
  bool is_here(int pe) const { return seats_[static_cast<std::size_t>(pe)].state == State::kHere; }
  // The failure of a PE whose wait in leave() times out.
  Status leave_timeout() const;

 private:
  enum class State : std::uint8_t { kMissing, kHere, kLeft, kLost };
  struct Seat {
    State state = State::kMissing;
    bool entered = false;     // in the open call
    std::uint64_t calls = 0;  // made by one that has left
    Member member;
    Blob mine;
  };

  std::vector<int> seats_where(const std::function<bool(const Seat&)>& wanted) const;
  bool take_entry(int pe, Call call);
  void complete_call();
  Status late() const;
  std::string where(const std::vector<int>& pes) const;
  void check_gone();

  std::vector<Seat> seats_;
  const double timeout_s_;
  int missing_;
  int left_ = 0;
  Time start_deadline_ = Time::max();
  Time call_deadline_ = Time::max();
  int entered_ = 0;
  Call call_ = Call::kBarrier;  // the open call, while entered_ > 0
  std::uint64_t completed_ = 0;
  Blobs gathered_;
  Status failure_;
  std::optional<int> abort_code_;
  std::optional<int> culprit_;
};

const char* to_string(Rendezvous::Call call);

}  // namespace weft
