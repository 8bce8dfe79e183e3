#include "host/context/stream_waits.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "src/base/status.hpp"

namespace weft {

Result<std::unique_ptr<StreamWaits>> StreamWaits::create(Platform& platform,
                                                         std::uint64_t deadline_ns, ReadWord read,
                                                         WriteWord write) {
  ASSIGN_OR_RETURN(Memory marks, platform.host_visible(kMost * sizeof(std::uint64_t)));
  return std::unique_ptr<StreamWaits>(
      new StreamWaits(platform, std::move(marks), deadline_ns, std::move(read), std::move(write)));
}

// Acquire: the stream is done with the mark before another wait takes it.
std::size_t StreamWaits::find_free() {
  for (std::size_t i = 0; i < used_; ++i) {
    const Entry& entry = entries_[i];
    const bool ended = __atomic_load_n(mark(i), __ATOMIC_ACQUIRE) == kEnded;
    if (!entry.taken || (ended && !entry.captured)) return i;
  }
  return used_;
}

Result<bool> StreamWaits::queue(const Wait& wait, Stream stream) {
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(const bool captured, platform_.is_capturing(stream));
  const std::size_t i = find_free();
  if (i == kMost) return false;
  if (i == used_) ++used_;
  entries_[i] = {wait, true, captured};
  __atomic_store_n(mark(i), captured ? kEnded : kQueued, __ATOMIC_RELEASE);
  const WordStep steps[] = {{WordStep::Kind::kStore, mark(i), kBegun},
                            wait.step,
                            {WordStep::Kind::kStore, mark(i), kEnded}};
  const Status queued = platform_.word_steps(steps, stream);
  if (!queued.is_ok()) {
    entries_[i].taken = false;
    return queued;
  }
  return true;
}

Status StreamWaits::look(std::uint64_t now_ns) {
  const std::lock_guard lock(mutex_);
  if (deadline_ns_ == 0) return Status::ok();
  for (std::size_t i = 0; i < used_; ++i) {
    Entry& entry = entries_[i];
    if (!entry.taken) continue;
    if (__atomic_load_n(mark(i), __ATOMIC_ACQUIRE) != kBegun) {
      entry.since_ns = 0;
      entry.reported = false;  // a replay of a captured one is another wait
    } else if (entry.since_ns == 0) {
      entry.since_ns = now_ns;
    } else if (!entry.reported && now_ns - entry.since_ns > deadline_ns_) {
      entry.reported = true;
      return Status::error(Code::kTimeout, describe(entry, now_ns));
    }
  }
  return Status::ok();
}

// A value that satisfies the wait is the one that it names, whichever comparison it is.
Status StreamWaits::end_waits(const Status& end) {
  const std::lock_guard lock(mutex_);
  Status first;
  for (std::size_t i = 0; i < used_; ++i) {
    Entry& entry = entries_[i];
    // Acquire: pairs with the stream's store of the mark.
    if (!entry.taken || __atomic_load_n(mark(i), __ATOMIC_ACQUIRE) != kBegun) continue;
    const std::string text = word_text(entry);
    const WordStep& step = entry.wait.step;
    RETURN_IF_ERROR(write_(step.word, step.value));
    if (first.is_ok())
      first = Status::error(end.code(),
                            fmt::format("a stream gave up waiting for {}: {}", text, end.text()));
  }
  return first;
}

bool StreamWaits::any_left() {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < used_; ++i)
    if (entries_[i].taken && __atomic_load_n(mark(i), __ATOMIC_ACQUIRE) != kEnded) return true;
  return false;
}

std::string StreamWaits::word_text(const Entry& entry) const {
  const WordStep& step = entry.wait.step;
  const Result<std::uint64_t> seen = read_(step.word);
  return fmt::format(
      "the word at offset {:#x} of the symmetric heap of GPU memory: seen {}, wanted {} {}",
      entry.wait.offset, seen ? fmt::format("{}", *seen) : "nothing, since it cannot be read",
      step.kind == WordStep::Kind::kWaitEqual ? "==" : ">=", step.value);
}

std::string StreamWaits::describe(const Entry& entry, std::uint64_t now_ns) const {
  return fmt::format(
      "a stream has waited {:.1f} s for {}. It goes on waiting. Did the PE that sets it fail, or "
      "was the put or signal never queued? WEFT_WAIT_TIMEOUT sets the deadline",
      1e-9 * static_cast<double>(now_ns - entry.since_ns), word_text(entry));
}

}  // namespace weft
