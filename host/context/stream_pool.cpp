#include "host/context/stream_pool.hpp"

#include "src/base/status.hpp"

namespace weft {

StreamPool::~StreamPool() {
  for (Stream stream : free_) platform_.destroy_stream(stream).ignore();  // each is idle
}

// Outside the lock: a driver may take its time.
Result<Stream> StreamPool::make() {
  ASSIGN_OR_RETURN(const Stream stream, platform_.create_stream());
  const std::lock_guard lock(mutex_);
  free_.reserve(++made_);  // give_back() needs no memory
  return stream;
}

Status StreamPool::prepare(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(const Stream stream, make());
    give_back(stream);
  }
  return Status::ok();
}

Result<StreamPool::Lease> StreamPool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      const Stream stream = free_.back();
      free_.pop_back();
      return Lease(*this, stream);
    }
  }
  ASSIGN_OR_RETURN(const Stream stream, make());
  return Lease(*this, stream);
}

void StreamPool::give_back(Stream stream) noexcept {
  const std::lock_guard lock(mutex_);
  free_.push_back(stream);
}

}  // namespace weft
