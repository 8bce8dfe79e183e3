#include "host/context/waiter.hpp"

#include <sched.h>

#include <fmt/format.h>

#include "src/base/status.hpp"

namespace weft {

// The clock is first looked at here: most waits are over before that, and a look costs as much as a
// message takes.
bool Waiter::step() {
  spins_ = 0;
  ++steps_;
  if (!deadline_) deadline_.emplace(job_.options.wait_timeout);
  burst_ = drive() || job_.crowded ? kShortBurst : kBurst;
  sched_yield();
  if (steps_ % 16 != 0) return true;
  ended_ = job_.health();
  return ended_.is_ok() && !deadline_->expired();
}

bool Waiter::drive() {
  const auto lock = alone();
  const bool driven = queue_ != nullptr && queue_->needs_progress();
  if (driven) queue_->progress();
  return driven;
}

std::string Waiter::report(const WaitFacts& facts) const {
  std::string text = fmt::format("{} on PE {}", facts.operation, job_.pe);
  if (facts.peer >= 0) text += fmt::format(", which waits for PE {}", facts.peer);
  if (facts.word == nullptr) {
    text += fmt::format(": {}", facts.seen);
  } else {
    const std::uint64_t offset = job_.heap->try_offset(facts.word, 1);
    const std::string writer = job_.last_writer(offset);
    text += fmt::format(": the word at heap offset {:#x} is {}, wanted {}{}", offset, facts.seen,
                        facts.wanted,
                        !writer.empty()            ? fmt::format("; {} last wrote it", writer)
                        : job_.journal_offset != 0 ? "; nobody is known to have written it"
                                                   : "; WEFT_CHECK=1 remembers who last wrote it");
  }
  return text;
}

Status Waiter::give_up(const WaitFacts& facts) {
  if (!ended_.is_ok())
    return Status::error(ended_.code(),
                         fmt::format("{} gave up: {}", report(facts), ended_.text()));
  std::string text = fmt::format(
      "{}, after {:.1f} s (WEFT_WAIT_TIMEOUT={:g}; a longer one, or 0 for no limit, if the peers "
      "need more time)",
      report(facts), deadline_->waited_seconds(), job_.options.wait_timeout);
  if (job_.options.wait_action == "abort") job_.bootstrap->abort(1, text);
  return Status::error(Code::kTimeout, std::move(text));
}

}  // namespace weft
