#include "host/context/check.hpp"

#include <fmt/format.h>

#include <weft/types.hpp>

#include "src/base/status.hpp"

namespace weft {

namespace {

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

// The same failure, with routine and argument in front.
Status located(std::string_view routine, std::string_view argument, const Status& status) {
  return Status::error(status.code(), fmt::format("{}: argument {}: {}", caller_or(routine),
                                                  caller_argument(argument), status.text()));
}

}  // namespace

Status check_pe(std::string_view routine, int pe, int npes) {
  if (pe >= 0 && pe < npes) return Status::ok();
  return Status::error(Code::kOutOfRange,
                       fmt::format("{}: argument pe is {}; this job has PEs 0 to {}",
                                   caller_or(routine), pe, npes - 1));
}

Status check_not_null(std::string_view routine, std::string_view argument, const void* address,
                      std::size_t bytes) {
  if (address != nullptr || bytes == 0) return Status::ok();
  return Status::error(
      Code::kInvalidArgument,
      fmt::format("{}: argument {} is null; null is allowed for 0 bytes only, not for {}",
                  caller_or(routine), caller_argument(argument), bytes));
}

Result<Offset> check_symmetric(const Heap& heap, std::string_view routine,
                               std::string_view argument, const void* address, std::size_t bytes,
                               bool live) {
  if (bytes == kTooManyBytes)
    return Status::error(
        Code::kOutOfRange,
        fmt::format(
            "{}: argument {} is so large that the bytes of its elements do not fit in {} bits",
            caller_or(routine), caller_argument("count"), 8 * sizeof(std::size_t)));
  RETURN_IF_ERROR(check_not_null(routine, argument, address, bytes));
  auto offset = heap.offset_of(address, bytes);
  if (!offset) return located(routine, argument, offset.status());
  if (live && bytes != 0) {
    Status status = heap.check_live(address, bytes);
    if (!status.is_ok()) return located(routine, argument, status);
  }
  return offset;
}

Status check_local(const Heap& heap, std::string_view routine, std::string_view argument,
                   const void* address, std::size_t bytes) {
  if (bytes == 0 || heap.try_offset(address, 1) == Heap::kNoOffset) return Status::ok();
  Status status = heap.check_live(address, bytes);
  return status.is_ok() ? status : located(routine, argument, status);
}

Status check_aligned(std::string_view routine, std::string_view argument, const void* address,
                     std::size_t width) {
  if (number(address) % width == 0) return Status::ok();
  return Status::error(
      Code::kInvalidArgument,
      fmt::format("{}: argument {} is {:#x}, which is not a multiple of the {} "
                  "bytes of the word",
                  caller_or(routine), caller_argument(argument), number(address), width));
}

Status check_overlap(std::string_view routine, const void* dst, const void* src,
                     std::size_t bytes) {
  const std::uintptr_t a = number(dst), b = number(src);
  if (a == b || (a < b ? b - a : a - b) >= bytes) return Status::ok();
  return Status::error(
      Code::kInvalidArgument,
      fmt::format("{}: the {} bytes at {} {:#x} and at {} {:#x} overlap, and the peer is this PE "
                  "itself; they must be the same or apart",
                  caller_or(routine), bytes, caller_argument("dst"), a, caller_argument("src"), b));
}

Result<std::size_t> check_extent(std::string_view routine, std::string_view argument,
                                 std::ptrdiff_t stride, std::size_t element, std::size_t count,
                                 std::size_t block) {
  if (stride < 1)
    return Status::error(Code::kInvalidArgument,
                         fmt::format("{}: argument {} is {}; strides are at least 1",
                                     caller_or(routine), caller_argument(argument), stride));
  if (count == 0 || block == 0) return std::size_t{0};
  std::size_t elements = 0, bytes = 0;
  const bool fits =
      !__builtin_mul_overflow(count - 1, static_cast<std::size_t>(stride), &elements) &&
      !__builtin_add_overflow(elements, block, &elements) &&
      !__builtin_mul_overflow(elements, element, &bytes);
  if (fits) return bytes;
  return Status::error(Code::kOutOfRange,
                       fmt::format("{}: {} elements of {} bytes, {} apart ({}), do not fit in {} "
                                   "bits",
                                   caller_or(routine), count, element, stride,
                                   caller_argument(argument), 8 * sizeof(std::size_t)));
}

}  // namespace weft
