#include "src/platform/cpu/reservation.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "src/base/log.hpp"
#include "src/base/status.hpp"
#include "src/platform/cpu/available_memory.hpp"

namespace weft::cpu {
namespace {

using Registry = ReservationRegistry<Reservation>;

// mmap at a multiple of kReserveAlign: a huge page, so that the kernel can use such.
std::byte* reserve_aligned(std::size_t bytes) {
  void* const found = ::mmap(nullptr, bytes + kReserveAlign, PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (found == MAP_FAILED) return nullptr;
  auto* const start = static_cast<std::byte*>(found);
  const std::size_t lead = -reinterpret_cast<std::uintptr_t>(start) % kReserveAlign;
  if (lead != 0) ::munmap(start, lead);
  if (lead != kReserveAlign) ::munmap(start + lead + bytes, kReserveAlign - lead);
  return start + lead;
}

}  // namespace

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

Result<std::shared_ptr<Reservation>> Reservation::create(std::size_t bytes) {
  if (bytes == 0 || bytes > SIZE_MAX / 2) {
    return Status::error(Code::kInvalidArgument,
                         fmt::format("cannot reserve {} bytes of address space", bytes));
  }
  bytes = (bytes + page_bytes() - 1) / page_bytes() * page_bytes();
  std::byte* const base = reserve_aligned(bytes);
  if (base == nullptr) {
    return Status::error(
        Code::kOutOfMemory,
        fmt::format("the system refused {} of address space: {}. It is address space, not memory: "
                    "raise its limit (ulimit -v) or lower WEFT_HEAP_SIZE",
                    show_bytes(bytes), std::strerror(errno)));
  }
  auto reservation = std::make_shared<Reservation>(Range{base, bytes});
  Registry::get().add(reservation);
  return reservation;
}

Result<std::shared_ptr<Reservation>> Reservation::containing(Range part) {
  const auto address = reinterpret_cast<std::uintptr_t>(part.base);
  if (part.bytes == 0 || address % page_bytes() != 0 || part.bytes % page_bytes() != 0) {
    return Status::error(Code::kInvalidArgument,
                         fmt::format("{} bytes at {} are not whole pages of {} bytes", part.bytes,
                                     fmt::ptr(part.base), page_bytes()));
  }
  if (auto reservation = Registry::get().containing(part)) return reservation;
  return Status::error(Code::kInvalidArgument,
                       fmt::format("{} bytes at {} do not lie in reserved address space",
                                   part.bytes, fmt::ptr(part.base)));
}

Reservation::~Reservation() {
  Registry::get().remove(*this);
  ::munmap(range_.base, range_.bytes);
}

Status Reservation::map(Range part, int fd, std::size_t offset) {
  const std::lock_guard lock(mutex_);
  RETURN_IF_ERROR(mapped_.check_free(part));
  void* const got = ::mmap(part.base, part.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                           fd, static_cast<off_t>(offset));
  if (got == MAP_FAILED) {
    return Status::error(
        Code::kOutOfMemory,
        fmt::format("the system refused to map {} at {}: {}. Limits that may be "
                    "met: address space (ulimit -v), mappings per process "
                    "(vm.max_map_count; a larger WEFT_HEAP_CHUNK needs fewer)",
                    show_bytes(part.bytes), fmt::ptr(part.base), std::strerror(errno)));
  }
  mapped_.add(part);
  return Status::ok();
}

void Reservation::unmap(Range part) {
  const std::lock_guard lock(mutex_);
  mapped_.remove(part);
  void* const got = ::mmap(part.base, part.bytes, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (got == MAP_FAILED) {
    LOG(kWarn, "platform", "could not give back {} bytes at {}: {}", part.bytes,
        fmt::ptr(part.base), std::strerror(errno));
  }
}

}  // namespace weft::cpu
