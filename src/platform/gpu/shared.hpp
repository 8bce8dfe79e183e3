// The common part of the two kinds of symmetric memory of a GPU: memory that is mapped where one
// likes (Chunk, in a Reservation), and a part of one allocation (Part, in a Block).
#pragma once

#include <memory>

#include <fmt/format.h>

#include <weft/result.hpp>

#include "src/base/status.hpp"
#include "src/platform/cpu/owned.hpp"
#include "src/platform/gpu/device.hpp"
#include "src/platform/platform.hpp"
#include "src/platform/reserved.hpp"

namespace weft::gpu {

class Shared : public cpu::Owned {
 public:
  // The bytes with which GpuPlatform::open() works in another process; what was opened itself
  // cannot be shared on.
  virtual Result<Blob> share() = 0;
};

// The live Reservation or Block, of whichever GPU, that `part` lies in.
template <class Reserved>
Result<std::shared_ptr<Reserved>> containing(Range part) {
  if (auto reserved = ReservationRegistry<Reserved>::get().containing(part)) return reserved;
  return Status::error(Code::kInvalidArgument,
                       fmt::format("{} bytes at {} do not lie in reserved GPU address space",
                                   part.bytes, fmt::ptr(part.base)));
}

// The one for memory of that GPU: an error, too, if it is another's or `where` is not whole pages.
template <class Reserved>
Result<std::shared_ptr<Reserved>> place_of(const Device& device, Range where) {
  const std::size_t unit = device.granularity();
  if (where.bytes == 0 || abi::pointer(where.base) % unit != 0 || where.bytes % unit != 0) {
    return Status::error(Code::kInvalidArgument,
                         fmt::format("{} bytes at {} are not whole pages of {} bytes, as {} has "
                                     "them",
                                     where.bytes, fmt::ptr(where.base), unit, device.describe()));
  }
  ASSIGN_OR_RETURN(auto reserved, containing<Reserved>(where));
  if (&reserved->device() == &device) return reserved;
  return Status::error(
      Code::kInvalidArgument,
      fmt::format("{} bytes at {} were reserved for {}, not for {}", where.bytes,
                  fmt::ptr(where.base), reserved->device().describe(), device.describe()));
}

}  // namespace weft::gpu
