// StreamPool: streams for work that waits for peers. Each call in progress has one of its own:
// behind another call's work it would wait for that call's peers, too, and two PEs that make their
// calls in different orders would wait for each other.
#pragma once

#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include <weft/result.hpp>

#include "src/platform/platform.hpp"

namespace weft {

class StreamPool {
 public:
  // A stream for one call, which must be idle again when this goes away.
  class Lease {
   public:
    Lease(Lease&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)), stream_(other.stream_) {}
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (pool_ != nullptr) pool_->give_back(stream_);
    }
    Stream stream() const { return stream_; }

   private:
    friend class StreamPool;
    Lease(StreamPool& pool, Stream stream) : pool_(&pool), stream_(stream) {}
    StreamPool* pool_;
    Stream stream_;
  };

  explicit StreamPool(Platform& platform) : platform_(platform) {}
  ~StreamPool();
  StreamPool(const StreamPool&) = delete;
  StreamPool& operator=(const StreamPool&) = delete;

  // Makes streams in advance. A driver may hold back the first kernel of a new stream until those
  // that run have ended, and they may be waiting for the call that asks for the stream.
  Status prepare(std::size_t count);
  // The stream that was given back last, or a new one if all are in use.
  Result<Lease> take();

 private:
  Result<Stream> make();
  void give_back(Stream stream) noexcept;

  Platform& platform_;
  std::mutex mutex_;  // guards the two below
  std::vector<Stream> free_;
  std::size_t made_ = 0;
};

}  // namespace weft
