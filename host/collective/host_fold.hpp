// The Fold of dev/collective_reduce.hpp on the host: element type and operator are values, and come
// down to a pointer to a loop over elements. So each algorithm exists once.
#pragma once

#include <cstddef>
#include <cstring>

#include <weft/collective.hpp>
#include <weft/reduce_op.hpp>
#include <weft/result.hpp>

namespace weft {

std::size_t size_of(Element element);
std::size_t align_of(Element element);
const char* to_string(Element element);
const char* to_string(ReduceOp op);

class HostFold {
 public:
  // kInvalidArgument for an operator that the type does not have, or values out of the enums.
  static Result<HostFold> make(Element element, ReduceOp op);

  std::size_t element = 0;
  std::size_t align = 0;  // of dst and src

  // Block by block, so that sums stay in the nearest cache; dst is written last, which makes it
  // right for dst to be one of the sources.
  template <class Scope, class Source>
  void fold(const Scope&, std::byte* dst, const Source& source, int n, std::size_t count) const {
    alignas(64) std::byte sums[kBlockBytes];
    const std::size_t bytes = count * element;
    for (std::size_t at = 0; at < bytes; at += kBlockBytes) {
      const std::size_t now = bytes - at < kBlockBytes ? bytes - at : kBlockBytes;
      const std::byte* sum = source(0) + at;
      for (int rank = 1; rank < n; ++rank) {
        std::byte* const out = rank == n - 1 ? dst + at : sums;
        combine_(out, sum, source(rank) + at, now / element);
        sum = sums;
      }
      if (n == 1 && sum != dst + at) std::memcpy(dst + at, sum, now);
    }
  }
  template <class Scope>
  void fill(const Scope&, std::byte* dst, std::size_t count) const {
    fill_(dst, count);
  }

  // out[i] = a[i] op b[i]; out may be a or b.
  using Combine = void (*)(void* out, const void* a, const void* b, std::size_t count);
  using Fill = void (*)(void* out, std::size_t count);

 private:
  static constexpr std::size_t kBlockBytes = 4096;

  Combine combine_ = nullptr;
  Fill fill_ = nullptr;
};

}  // namespace weft
