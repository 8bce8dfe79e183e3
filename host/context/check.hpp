// Checks of arguments: what is cheap is always checked, the rest with WEFT_CHECK=1. A failure names
// the routine, the argument, its value and what is allowed.
#pragma once

#include <cstddef>
#include <string_view>

#include <weft/signal.hpp>
#include <weft/result.hpp>

#include "host/memory/heap.hpp"

namespace weft {

Status check_pe(std::string_view routine, int pe, int npes);
Status check_not_null(std::string_view routine, std::string_view argument, const void* address,
                      std::size_t bytes);
// [address, address + bytes) must be in my heap; with `live`, inside one live allocation.
Result<Offset> check_symmetric(const Heap& heap, std::string_view routine,
                               std::string_view argument, const void* address, std::size_t bytes,
                               bool live);
// Memory of mine that need not be symmetric: if it is, it must be live.
Status check_local(const Heap& heap, std::string_view routine, std::string_view argument,
                   const void* address, std::size_t bytes);
Status check_aligned(std::string_view routine, std::string_view argument, const void* address,
                     std::size_t width);
Status check_overlap(std::string_view routine, const void* dst, const void* src, std::size_t bytes);
// Bytes from the first to the last of `count` blocks of `block` elements, `stride` elements apart.
Result<std::size_t> check_extent(std::string_view routine, std::string_view argument,
                                 std::ptrdiff_t stride, std::size_t element, std::size_t count,
                                 std::size_t block = 1);

}  // namespace weft
