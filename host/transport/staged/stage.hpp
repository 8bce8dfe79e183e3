// Stage: memory of the host between two platforms that both reach.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include <weft/result.hpp>

#include "host/transport/platform_copies.hpp"
#include "src/platform/platform.hpp"

namespace weft {

// One operation at a time, complete on return. `here` is any memory that copies of my platform
// reach, private memory of the host included; `there` is what the other one has opened.
class Stage {
 public:
  static Result<std::unique_ptr<Stage>> create(Platform& mine, Platform& theirs);
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  Status put(std::byte* there, const std::byte* here, std::size_t bytes);
  Status get(std::byte* here, const std::byte* there, std::size_t bytes);
  // By the other platform, as Side does them.
  Status notify(const Op& op, std::byte* word);
  Result<std::uint64_t> amo(const Op& op, std::byte* word);

 private:
  // While one half is copied away, the other one is filled.
  static constexpr std::size_t kHalf = std::size_t{1} << 20;

  Stage(Side mine, Side theirs, Memory buffer)
      : mine_(std::move(mine)), theirs_(std::move(theirs)), buffer_(std::move(buffer)) {}
  Status relay(const Side& from, const std::byte* src, const Side& to, std::byte* dst,
               std::size_t bytes);
  Status settled(Status done) const;

  std::mutex mutex_;  // guards what follows
  Side mine_, theirs_;
  Memory buffer_;
};

}  // namespace weft
