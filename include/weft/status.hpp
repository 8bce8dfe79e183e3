// Status: how every call of Weft tells success from failure; weft/result.hpp for those that bring a
// value.
//
// A Status is one pointer and costs nothing when all is well. A failed one carries a code (for
// programs), a text (for people: what went wrong, where, and how to mend it) and the place in
// Weft that knew. No call of Weft throws, exits or aborts.
#pragma once

#include <utility>  // and no std::exchange or swap: nvcc instantiates them in each of its readings

// std::string, declared: kernels, which return no text, compile faster. GCC's library has a header
// for that; <iosfwd> brings wchar.h along.
#if __has_include(<bits/stringfwd.h>)
#include <bits/stringfwd.h>
#else
#include <iosfwd>
#endif

#include <weft/target.hpp>

namespace weft {

// Grouped by what is lost: the argument, the operation, the peer, the job.
enum class Code : unsigned char {
  kOk = 0,
  // The call was wrong; nothing was done.
  kInvalidArgument,
  kOutOfRange,    // pe, offset or size outside what exists
  kNotSymmetric,  // an address that is not in the symmetric heap, or differs between PEs
  kUnsupported,   // this build, machine or transport cannot do it
  // The operation failed; the context goes on.
  kBusy,  // try again after progress; the only code that a caller is expected to handle
  kOutOfMemory,
  kTimeout,
  kIo,
  // A peer is gone.
  kPeerLost,
  // The job is gone.
  kVersionMismatch,
  kAborted,
  kInternal,  // a bug in Weft
};

WEFT_API const char* to_string(Code code);

class Status;
namespace detail {
WEFT_API Status report_failure(Status status);
// In static storage of the thread, found without a call.
WEFT_API extern __thread const char* caller_name [[gnu::tls_model("initial-exec")]];
}  // namespace detail

class WEFT_NODISCARD WEFT_API Status {
 public:
  Status() noexcept = default;  // success
  Status(const Status& other) noexcept;
  Status(Status&& other) noexcept : rep_(other.rep_) { other.rep_ = nullptr; }
  Status& operator=(Status other) noexcept {
    Rep* const mine = rep_;
    rep_ = other.rep_;
    other.rep_ = mine;
    return *this;
  }
  ~Status() {
    if (rep_ != nullptr) release();
  }

  static Status ok() noexcept { return {}; }
  static Status error(Code code, std::string text, const char* file = __builtin_FILE(),
                      int line = __builtin_LINE());
  static Status busy() noexcept;  // allocates nothing

  bool is_ok() const noexcept { return rep_ == nullptr; }
  explicit operator bool() const noexcept { return is_ok(); }
  bool is(Code code) const noexcept { return this->code() == code; }
  Code code() const noexcept;
  const char* text() const noexcept;  // "" when ok
  std::string to_string() const;      // "timeout: PE 3 ... (heap.cpp:120)", "ok"

  // Says that a failure is of no interest here, and why that is right, in a comment beside it.
  void ignore() const noexcept {}

 private:
  friend Status detail::report_failure(Status status);
  friend class Context;  // returns one in a register
  struct Rep;
  explicit Status(Rep* rep) noexcept : rep_(rep) {}
  void release() noexcept;
  Rep* rep_ = nullptr;
};

// Logs a failure, once however often it is reported, keeps its text for last_error(), and returns
// it. Weft's own calls have reported theirs; this is for interfaces built on them.
inline Status report(Status status) {
  return status.is_ok() ? status : detail::report_failure(std::move(status));
}

// The text of the last failure that a call on this thread reported; "" if none did.
WEFT_API const char* last_error() noexcept;

// While it lives, failures of Weft's calls on this thread name `routine`, which the user called,
// instead of Weft's own routine, and its arguments as OpenSHMEM and NVSHMEM do (dest, source, ...).
// The text must live as long.
class CallerName {
 public:
  explicit CallerName(const char* routine) noexcept : before_(exchange(routine)) {}
  ~CallerName() { detail::caller_name = before_; }
  CallerName(const CallerName&) = delete;
  CallerName& operator=(const CallerName&) = delete;

  // The name so far; null for none.
  static const char* exchange(const char* routine) noexcept {
    const char* const before = detail::caller_name;
    detail::caller_name = routine;
    return before;
  }

 private:
  const char* before_;
};

}  // namespace weft
