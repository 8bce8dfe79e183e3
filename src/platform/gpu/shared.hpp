// What the two kinds of symmetric memory of a GPU have in common: memory that is mapped where one
// likes (Chunk), and a part of one allocation (Part).
#pragma once

#include <weft/status.hpp>

#include "src/platform/cpu/owned.hpp"
#include "src/platform/platform.hpp"

namespace weft::gpu {

class Shared : public cpu::Owned {
 public:
  // The bytes with which GpuPlatform::open() works in another process; what was opened itself
  // cannot be shared on.
  virtual Result<Blob> share() = 0;
};

}  // namespace weft::gpu
