#include "host/context/waiter.hpp"

#include <sched.h>

#include <algorithm>

#include <fmt/format.h>

#include "src/base/log.hpp"
#include "src/base/status.hpp"

namespace weft {

// The clock is first looked at here: most waits are over before that, and a look costs as much as a
// message takes.
bool Waiter::step() {
  spins_ = 0;
  ++steps_;
  const bool driven = drive();
  if (driven && !job_.crowded && steps_ % kDrivenSteps != 0) {
    burst_ = kDrivenBurst;
    return true;
  }
  give_core_away();
  burst_ = burst(driven, kBurst);
  if (steps_ % 16 != 0) return true;
  if (!deadline_) deadline_.emplace(first_deadline());
  ended_ = job_.health();
  return ended_.is_ok() && !deadline_->expired();
}

void Waiter::give_core_away() {
  if (!job_.crowded) {
    sched_yield();
    return;
  }
  constexpr std::uint64_t kNobodyRan = 1000;  // ns; two switches of process take longer
  const std::uint64_t before = now_ns();
  sched_yield();
  const bool alone = now_ns() - before < kNobodyRan;
  const int so_far = job_.lone_yields.load(std::memory_order_relaxed);
  const int now = alone ? std::min(so_far + 1, kLoneYields) : 0;
  job_.lone_yields.store(now, std::memory_order_relaxed);
}

bool Waiter::drive() {
  const auto lock = alone();
  return queue_ != nullptr && queue_->move_on();
}

std::string Waiter::writer_of(std::uint64_t offset) const {
  if (job_.journal_offset == 0) return "; WEFT_CHECK=1 remembers who last wrote it";
  const std::string writer = job_.last_writer(offset);
  if (writer.empty()) return "; nobody is known to have written it";
  return fmt::format("; {} last wrote it", writer);
}

std::string Waiter::report(const WaitFacts& facts) const {
  std::string text = fmt::format("{} on PE {}", caller_or(facts.operation), job_.pe);
  if (facts.peer >= 0) text += fmt::format(", which waits for PE {}", facts.peer);
  if (facts.word == nullptr) {
    text += fmt::format(": {}", facts.seen);
  } else {
    const std::uint64_t offset = job_.heap_of(facts.word).try_offset(facts.word, 1);
    const bool mine = facts.holder < 0;
    text += fmt::format(": the word at {}heap offset {:#x} is {}, wanted {}",
                        mine ? "" : fmt::format("PE {}'s ", facts.holder), offset, facts.seen,
                        facts.wanted);
    if (mine) text += writer_of(offset);
  }
  return text;
}

double Waiter::first_deadline() const {
  const Options& options = job_.options;
  if (options.wait_action != "wait" || options.wait_limit == 0) return options.wait_timeout;
  if (options.wait_timeout == 0) return options.wait_limit;
  return std::min(options.wait_timeout, options.wait_limit);
}

// The next deadline is twice as far from the start, so that a wait of hours reports a few times.
bool Waiter::goes_on() {
  const double limit = job_.options.wait_limit, waited = deadline_->waited_seconds();
  if (job_.options.wait_action != "wait" || (limit != 0 && waited >= limit)) return false;
  deadline_->extend_to(limit == 0 ? 2 * waited : std::min(2 * waited, limit));
  return true;
}

Status Waiter::at_deadline(const WaitFacts& facts) {
  if (!ended_.is_ok())
    return Status::error(ended_.code(),
                         fmt::format("{} gave up: {}", report(facts), ended_.text()));
  const double waited = deadline_->waited_seconds();
  if (goes_on()) {
    LOG(kWarn, "wait", "{}, after {:.1f} s; it goes on waiting{}", report(facts), waited,
        job_.options.wait_limit == 0 ? " (WEFT_WAIT_LIMIT would end the job)" : "");
    return Status::ok();
  }
  const bool at_limit = job_.options.wait_action == "wait";
  std::string text = fmt::format(
      "{}, after {:.1f} s ({}={:g}; a longer one, or 0 for no limit, if the peers need more time)",
      report(facts), waited, at_limit ? "WEFT_WAIT_LIMIT" : "WEFT_WAIT_TIMEOUT",
      at_limit ? job_.options.wait_limit : job_.options.wait_timeout);
  if (at_limit || job_.options.wait_action == "abort") job_.bootstrap->abort(1, text);
  return Status::error(Code::kTimeout, std::move(text));
}

}  // namespace weft
