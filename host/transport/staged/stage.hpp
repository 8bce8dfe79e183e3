// Stage: memory of the host between two platforms that both reach, and a stream on either side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include <weft/result.hpp>

#include "host/kernel/kernels.hpp"
#include "src/platform/platform.hpp"

namespace weft {

// One operation at a time, complete on return. `here` is any memory that copies of my platform
// reach, private memory of the host included; `there` is what the other one has opened.
class Stage {
 public:
  static Result<std::unique_ptr<Stage>> create(Platform& mine, Platform& theirs);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  Status put(std::byte* there, const std::byte* here, std::size_t bytes);
  Status get(std::byte* here, const std::byte* there, std::size_t bytes);
  Status set(std::uint64_t* there, std::uint64_t value);
  // A kernel of the other platform; gives the old value.
  Result<std::uint64_t> amo(kernel::AmoKernel amo);

 private:
  // While one half is copied away, the other one is filled.
  static constexpr std::size_t kHalf = std::size_t{1} << 20;

  struct Side {
    Platform& platform;
    Stream stream = nullptr;
    Status queue(void* dst, const void* src, std::size_t bytes) const {
      return platform.copy(dst, src, bytes, stream);
    }
    Status synchronize() const { return platform.synchronize(stream); }
  };

  Stage(Platform& mine, Platform& theirs) : mine_{mine}, theirs_{theirs} {}
  Status relay(const Side& from, const std::byte* src, const Side& to, std::byte* dst,
               std::size_t bytes);
  Status settled(Status done) const;

  Side mine_, theirs_;
  std::mutex mutex_;  // guards what lies behind the next
  Memory buffer_;
};

}  // namespace weft
