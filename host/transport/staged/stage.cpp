#include "host/transport/staged/stage.hpp"

#include <algorithm>
#include <utility>

#include "host/kernel/kernel_list.hpp"
#include "src/base/status.hpp"

namespace weft {

// All that a driver could be slow to give, or give only when no kernel runs, is taken now.
Result<std::unique_ptr<Stage>> Stage::create(Platform& mine, Platform& theirs) {
  std::unique_ptr<Stage> stage(new Stage(mine, theirs));
  ASSIGN_OR_RETURN(stage->buffer_, mine.host_visible(2 * kHalf));
  RETURN_IF_ERROR(kernel::prepare(theirs));
  for (Side* const side : {&stage->mine_, &stage->theirs_}) {
    ASSIGN_OR_RETURN(side->stream, side->platform.create_stream());
  }
  return stage;
}

Stage::~Stage() {
  for (const Side& side : {mine_, theirs_})
    if (side.stream != nullptr) side.platform.destroy_stream(side.stream).ignore();  // it is idle
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

Status Stage::set(std::uint64_t* there, std::uint64_t value) {
  const std::lock_guard lock(mutex_);
  auto* const word = reinterpret_cast<std::uint64_t*>(buffer_.base());
  *word = value;
  Status queued = theirs_.queue(there, word, sizeof(value));
  return settled(queued.is_ok() ? theirs_.synchronize() : std::move(queued));
}

Result<std::uint64_t> Stage::amo(kernel::AmoKernel amo) {
  const std::lock_guard lock(mutex_);
  amo.result = reinterpret_cast<std::uint64_t*>(buffer_.base());
  Status queued = kernel::launch(theirs_.platform, 1, 1, amo, theirs_.stream);
  RETURN_IF_ERROR(settled(queued.is_ok() ? theirs_.synchronize() : std::move(queued)));
  return *amo.result;
}

// After a failure nothing that was queued goes on in memory that the caller then uses otherwise.
Status Stage::settled(Status done) const {
  if (done.is_ok()) return done;
  mine_.synchronize().ignore();
  theirs_.synchronize().ignore();
  return done;
}

}  // namespace weft
