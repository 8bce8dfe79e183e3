// Each three bytes are one call, made on the allocator and on the model: extend, allocate or free.
// Both must give the same offsets, sizes and totals.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "host/memory/offset_allocator.hpp"
#include "tests/unit/memory/allocator_model.hpp"

namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::OffsetAllocator allocator;
  weft::test::AllocatorModel model;
  for (; size >= 3; data += 3, size -= 3) {
    const unsigned value = data[1] | unsigned{data[2]} << 8;
    switch (data[0] % 4) {
      case 0:
        if (model.space() > 1u << 16) break;
        allocator.extend(std::uint64_t{value % 128} * 64);
        model.extend(value % 128);
        break;
      case 1:
      case 2: {
        const std::uint64_t align = std::uint64_t{1} << (data[0] / 4) % 14;
        const std::uint64_t missing = allocator.missing(value, align);
        const auto expected = model.allocate(value, align);
        require(allocator.allocate(value, align) == expected, "allocate differs");
        require(expected || missing > 0, "nothing is missing, yet there was no room");
        break;
      }
      default: {
        std::uint64_t offset = value;  // mostly no block's start
        if (data[0] >= 64 && !model.live().empty()) {
          const auto steps = static_cast<std::ptrdiff_t>(value % model.live().size());
          offset = std::next(model.live().begin(), steps)->first;
        }
        require(allocator.free(offset) == model.free(offset), "free differs");
      }
    }
    require(allocator.in_use() == model.in_use(), "in_use differs");
    require(allocator.live() == model.live().size(), "live differs");
    require(allocator.space() == model.space(), "space differs");
    const bool found = allocator.find(value, data[0]).has_value();
    require(found == model.find(value, data[0]).has_value(), "find differs");
  }
  return 0;
}
