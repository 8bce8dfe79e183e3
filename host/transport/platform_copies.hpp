// Side: the memory of a platform as host threads work on it, by copies and kernels on a stream of
// its own.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/dev/op.hpp>
#include <weft/result.hpp>

#include "src/platform/platform.hpp"

namespace weft {

// One thing at a time. Addresses are what copies, or kernels, of that platform reach.
class Side {
 public:
  // Takes now all that a driver could be slow to give, or give only when no kernel runs.
  static Result<Side> create(Platform& platform);
  Side(Side&& other) noexcept;
  Side& operator=(Side&&) = delete;
  ~Side();

  Status queue(void* dst, const void* src, std::size_t bytes) const {
    return platform_->copy(dst, src, bytes, stream_);
  }
  Status synchronize() const { return platform_->synchronize(stream_); }
  // From here on complete on return. After a failure nothing that was queued goes on in memory that
  // the caller then uses otherwise.
  Status copy(void* dst, const void* src, std::size_t bytes) const;
  // The word appears whole, behind all that was complete before.
  Status set(std::byte* word, std::uint64_t value) const;
  // An atomic, by a kernel; gives the old value.
  Result<std::uint64_t> amo(const Op& op, std::byte* word) const;
  // The far-side action of a put.
  Status notify(const Op& op, std::byte* word) const;

 private:
  explicit Side(Platform& platform) : platform_(&platform) {}
  Status settled(Status queued) const;
  std::uint64_t* value() const { return reinterpret_cast<std::uint64_t*>(word_.base()); }

  Platform* platform_;
  Stream stream_ = nullptr;
  Memory word_;  // a value on its way
};

}  // namespace weft
