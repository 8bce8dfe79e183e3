#include "host/transport/staged/stage.hpp"

#include <algorithm>
#include <utility>

#include "src/base/status.hpp"

namespace weft {

Result<std::unique_ptr<Stage>> Stage::create(Platform& mine, Platform& theirs) {
  ASSIGN_OR_RETURN(Memory buffer, mine.host_visible(2 * kHalf));
  ASSIGN_OR_RETURN(Side here, Side::create(mine));
  ASSIGN_OR_RETURN(Side there, Side::create(theirs));
  return std::unique_ptr<Stage>(new Stage(std::move(here), std::move(there), std::move(buffer)));
}

Status Stage::put(std::byte* there, const std::byte* here, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  return settled(relay(mine_, here, theirs_, there, bytes));
}

Status Stage::get(std::byte* here, const std::byte* there, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  return settled(relay(theirs_, there, mine_, here, bytes));
}

// Two copies by two streams, rather than one between the GPUs: drivers stage those by themselves
// only between memory of some kinds, and not where one side is the host's.
Status Stage::relay(const Side& from, const std::byte* src, const Side& to, std::byte* dst,
                    std::size_t bytes) {
  std::byte* half = buffer_.base();
  std::byte* other = half + kHalf;
  for (std::size_t at = 0; at < bytes; at += kHalf, std::swap(half, other)) {
    const std::size_t now = std::min(kHalf, bytes - at);
    RETURN_IF_ERROR(from.queue(half, src + at, now));
    RETURN_IF_ERROR(from.synchronize());
    RETURN_IF_ERROR(to.synchronize());  // the other half is free
    RETURN_IF_ERROR(to.queue(dst + at, half, now));
  }
  return bytes == 0 ? Status::ok() : to.synchronize();
}

Status Stage::notify(const Op& op, std::byte* word) {
  const std::lock_guard lock(mutex_);
  return theirs_.notify(op, word);
}

Result<std::uint64_t> Stage::amo(const Op& op, std::byte* word) {
  const std::lock_guard lock(mutex_);
  return theirs_.amo(op, word);
}

// After a failure nothing that was queued goes on in memory that the caller then uses otherwise.
Status Stage::settled(Status done) const {
  if (done.is_ok()) return done;
  mine_.synchronize().ignore();
  theirs_.synchronize().ignore();
  return done;
}

}  // namespace weft
