// GridFold: a fold that a grid shares out, as the kernels of large reductions and scans have it.
#pragma once

#include <cstddef>

#include <weft/device/kernel.hpp>

#include "host/kernel/any_fold.hpp"

namespace weft::kernel {

struct GridFold {
  static constexpr unsigned kMostThreads = 512;
  DeviceContext handle;
  Team team;
  std::byte* words;  // of between_barriers()
  AnyFold fold;
  std::byte* dst;
  const std::byte* src;
  std::size_t count;  // elements of dst
};

}  // namespace weft::kernel
