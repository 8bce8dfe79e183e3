#include "host/memory/heap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "host/memory/poison.hpp"
#include "src/base/round_up.hpp"
#include "src/base/status.hpp"

namespace weft {
namespace {

MemoryHints hints_of(const Options& options) {
  MemoryHints hints;
  hints.huge_pages_wanted = options.huge_pages != "off";
  hints.huge_pages_needed = options.huge_pages == "on";
  hints.numa_local = options.numa == "local";
  return hints;
}

bool overlap(const AdoptedRange& piece, Range own) {
  return piece.bytes != 0 && piece.base < own.base + own.bytes &&
         own.base < piece.base + piece.bytes;
}

}  // namespace

HeapShape host_heap(const Options& options) {
  HeapShape shape;
  shape.bytes = options.heap_size;
  shape.chunk_bytes = options.heap_chunk;
  shape.adopt_bytes = options.adopt_size;
  shape.size_option = options.source("WEFT_HEAP_SIZE");
  shape.hints = hints_of(options);
  return shape;
}

HeapShape gpu_heap(const Options& options) {
  HeapShape shape;
  shape.bytes = options.gpu_heap_size;
  shape.chunk_bytes = options.gpu_heap_chunk;
  shape.name = "symmetric heap of GPU memory";
  shape.size_option = options.source("WEFT_GPU_HEAP_SIZE");
  return shape;
}

std::size_t Heap::space_of(const Platform& platform, const HeapShape& shape) {
  return round_up(shape.bytes, platform.granularity()) +
         round_up(shape.adopt_bytes, platform.granularity());
}

Result<std::unique_ptr<Heap>> Heap::create(Platform& platform, const HeapShape& shape) {
  ASSIGN_OR_RETURN(Memory reservation, platform.reserve(space_of(platform, shape)));
  return create_in(std::move(reservation), platform, shape);
}

std::unique_ptr<Heap> Heap::create_in(Memory part, Platform& platform, const HeapShape& shape) {
  const std::size_t bytes = round_up(shape.bytes, platform.granularity());
  return std::unique_ptr<Heap>(new Heap(platform, shape, std::move(part), bytes));
}

Heap::Heap(Platform& platform, const HeapShape& shape, Memory reservation, std::size_t bytes)
    : platform_(platform),
      shape_(shape),
      reservation_(std::move(reservation)),
      range_{reservation_.base(), bytes},
      adopted_end_(bytes) {}

Heap::~Heap() { show(range_.base, committed()); }

// AddressSanitizer keeps no book of memory that only kernels touch.
void Heap::hide(const std::byte* memory, std::size_t bytes) const {
  if (platform_.is_host_accessible()) poison(memory, bytes);
}
void Heap::show(const std::byte* memory, std::size_t bytes) const {
  if (platform_.is_host_accessible()) unpoison(memory, bytes);
}

Result<void*> Heap::allocate(std::size_t bytes, std::size_t align) {
  if (align == 0) align = OffsetAllocator::kGranule;
  if (!std::has_single_bit(align) || align > kMaxAlign) {
    return Status::error(Code::kInvalidArgument,
                         fmt::format("an alignment of {}: it must be a power of two and at most {}",
                                     align, kMaxAlign));
  }
  if (bytes == 0) return nullptr;
  const std::lock_guard in_order(order_);
  const auto try_allocate = [&] {
    const std::lock_guard lock(mutex_);
    return allocator_.allocate(bytes, align);
  };
  auto offset = try_allocate();
  if (!offset) {
    RETURN_IF_ERROR(grow(bytes, align));
    offset = try_allocate();
  }
  if (!offset) return Status::error(Code::kInternal, "the heap grew and still has no room");
  std::byte* const memory = range_.base + *offset;
  show(memory, bytes);
  const std::size_t rest = round_up(bytes, OffsetAllocator::kGranule) - bytes;
  hide(memory + bytes, rest);
  return memory;
}

// Only under order_, so nobody else changes the allocator meanwhile.
Status Heap::grow(std::size_t bytes, std::size_t align) {
  const std::size_t missing = allocator_.missing(bytes, align);
  RETURN_IF_ERROR(check_can_hold(bytes, missing));
  const std::size_t offset = committed();
  const std::size_t room = range_.bytes - offset;
  const std::size_t want = std::max(shape_.chunk_bytes, missing);
  const Range where{range_.base + offset,
                    std::min(room, round_up(std::min(want, room), platform_.granularity()))};

  MemoryHints hints = shape_.hints;
  hints.needed_bytes = std::min(missing, where.bytes);
  Result<Memory> chunk = platform_.commit(where, hints);
  if (announce_) RETURN_IF_ERROR(announce_(offset, chunk));
  if (!chunk.is_ok()) return chunk.status();

  chunks_.push_back(std::move(chunk).value());
  const std::lock_guard lock(mutex_);
  allocator_.extend(where.bytes);
  // relaxed: see try_offset().
  committed_.store(offset + where.bytes, std::memory_order_relaxed);
  return Status::ok();
}

Status Heap::check_can_hold(std::size_t bytes, std::size_t missing) const {
  if (missing <= range_.bytes - committed()) return Status::ok();
  return Status::error(
      Code::kOutOfMemory,
      fmt::format("the {0} is full: {1} bytes asked for; {2} in use, {3} committed, {4} the "
                  "largest free range, {5} at most ({6}). Free something, or set a larger {6} (the "
                  "same on every PE): it costs nothing until it is touched",
                  shape_.name, bytes, in_use(), committed(), allocator_.largest_free(),
                  range_.bytes, shape_.size_option));
}

// --- adopted memory ------------------------------------------------------------------------------

Status Heap::check_room_for(Range own, std::uint64_t offset) const {
  const std::size_t room = space().bytes - offset;
  if (own.bytes <= room) return Status::ok();
  return Status::error(
      Code::kOutOfMemory,
      fmt::format("{} bytes at {} cannot be adopted: {} of {} are left (WEFT_ADOPT_SIZE). Set a "
                  "larger WEFT_ADOPT_SIZE (the same on every PE); it is address space, not "
                  "memory",
                  own.bytes, fmt::ptr(own.base), room, space().bytes - range_.bytes));
}

// An address has one offset.
Status Heap::check_apart(Range own) const {
  for (const AdoptedRange& piece : adopted()) {
    if (!overlap(piece, own)) continue;
    return Status::error(
        Code::kInvalidArgument,
        fmt::format(
            "{} bytes at {} cannot be adopted: they overlap {} bytes at {} that are adopted "
            "already; give those up first, or adopt all that you need at once",
            own.bytes, fmt::ptr(own.base), piece.bytes, fmt::ptr(piece.base)));
  }
  return Status::ok();
}

std::vector<std::uint64_t> Heap::freed_pieces(Range own) const {
  std::vector<std::uint64_t> offsets;
  for (const AdoptedRange& piece : adopted())
    if (overlap(piece, own) && !platform_.is_current(memory_of(piece)))
      offsets.push_back(piece.offset);
  return offsets;
}

Status Heap::check_current(const void* address, std::size_t bytes) const {
  const AdoptedRange* const piece = piece_of(address, bytes);
  if (piece == nullptr || platform_.is_current(memory_of(*piece))) return Status::ok();
  return Status::error(
      Code::kInvalidArgument,
      fmt::format(
          "{} bytes at {} lie in {} bytes at {} that were adopted and freed since, so peers "
          "have the old memory; disown() before memory is freed, and adopt what comes to "
          "its addresses",
          bytes, address, piece->bytes, fmt::ptr(piece->base)));
}

std::size_t Heap::free_slot() const {
  const auto own = adopted();
  const auto unused = std::find_if(own.begin(), own.end(),
                                   [](const AdoptedRange& piece) { return piece.bytes == 0; });
  return static_cast<std::size_t>(unused - own.begin());
}

Result<Memory> Heap::take_over(Range own, std::uint64_t offset) {
  if (free_slot() == kMaxAdopted)
    return Status::error(Code::kOutOfRange,
                         fmt::format("{} bytes at {} cannot be adopted: {} pieces of memory are "
                                     "already, as many as there can be",
                                     own.bytes, fmt::ptr(own.base), kMaxAdopted));
  RETURN_IF_ERROR(check_apart(own));
  if (!platform_.adopts_where_told()) return platform_.adopt(own, {});
  RETURN_IF_ERROR(check_room_for(own, offset));
  return platform_.adopt(own, {space().base + offset, own.bytes});
}

Status Heap::adopt(Range own, std::byte* const* peer) {
  const std::lock_guard in_order(order_);
  const std::uint64_t offset = round_up(adopted_end_, OffsetAllocator::kGranule);
  Result<Memory> chunk = take_over(own, offset);
  if (announce_) RETURN_IF_ERROR(announce_(offset, chunk));
  if (!chunk.is_ok()) return chunk.status();
  adopted_end_ = offset + own.bytes;
  const std::size_t slot = free_slot();
  adopted_memory_[slot] = std::move(chunk).value();
  AdoptedRange& piece = adopted_[slot];
  piece.offset = offset;
  piece.peer = peer;
  __atomic_store_n(&piece.base, own.base, __ATOMIC_RELAXED);
  __atomic_store_n(&piece.bytes, own.bytes, __ATOMIC_RELAXED);
  if (slot == adopted().size())
    adopted_count_.store(slot + 1, std::memory_order_release);  // pairs with adopted()
  return Status::ok();
}

void Heap::disown(const AdoptedRange& piece) {
  const std::lock_guard in_order(order_);
  const auto slot = static_cast<std::size_t>(&piece - adopted_.data());
  static const auto* const nowhere = reinterpret_cast<const std::byte*>(~std::uintptr_t{0});
  __atomic_store_n(&adopted_[slot].bytes, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&adopted_[slot].base, nowhere, __ATOMIC_RELAXED);
  adopted_memory_[slot] = Memory();
}

// --- giving back ---------------------------------------------------------------------------------

Status Heap::free(void* memory) {
  if (memory == nullptr) return Status::ok();
  const std::lock_guard in_order(order_);
  const std::lock_guard lock(mutex_);
  const std::uint64_t offset = try_offset(memory, 0);
  const auto bytes = offset == kNoOffset ? std::nullopt : allocator_.free(offset);
  if (!bytes) return not_an_allocation(memory);
  hide(range_.base + offset, *bytes);
  return Status::ok();
}

Result<std::size_t> Heap::size_of(const void* memory) const {
  const std::lock_guard lock(mutex_);
  const std::uint64_t offset = try_offset(memory, 0);
  const auto bytes = offset == kNoOffset ? std::nullopt : allocator_.size_of(offset);
  if (!bytes) return not_an_allocation(memory);
  return *bytes;
}

// Says what `memory` is instead of the start of a live allocation.
Status Heap::not_an_allocation(const void* memory) const {
  const std::uint64_t offset = try_offset(memory, 0);
  if (offset == kNoOffset || offset >= range_.bytes) {
    return Status::error(Code::kNotSymmetric,
                         fmt::format("{} is not in the {}, which has {} bytes at {}", memory,
                                     shape_.name, committed(), fmt::ptr(range_.base)));
  }
  if (const auto block = allocator_.find(offset, 1)) {
    return Status::error(
        Code::kInvalidArgument,
        fmt::format("{} (heap offset {:#x}) lies {} bytes inside an allocation of {} bytes; give "
                    "the address that allocate() returned, {}",
                    memory, offset, offset - block->offset, block->bytes,
                    fmt::ptr(range_.base + block->offset)));
  }
  return Status::error(
      Code::kInvalidArgument,
      fmt::format("{} (heap offset {:#x}) is not allocated; was it freed before?", memory, offset));
}

Result<Offset> Heap::offset_of(const void* address, std::size_t bytes) const {
  const std::uint64_t offset = try_offset(address, bytes);
  if (offset != kNoOffset) return Offset{offset};
  const std::uint64_t start = try_offset(address, 0);
  if (address != nullptr && start != kNoOffset && start > range_.bytes) {
    return Status::error(Code::kOutOfRange,
                         fmt::format("{} bytes at {} run past the end of the adopted memory that "
                                     "they start in",
                                     bytes, address));
  }
  if (address != nullptr && start != kNoOffset) {
    return Status::error(
        Code::kOutOfRange,
        fmt::format("{} bytes at {} (heap offset {:#x}) run past the end of the "
                    "{}, which has {} bytes at {}",
                    bytes, address, start, shape_.name, committed(), fmt::ptr(range_.base)));
  }
  if (neighbour_ != nullptr && neighbour_->may_hold(address)) {
    return Status::error(
        Code::kNotSymmetric,
        fmt::format("{} bytes at {} lie in the {}, which this does not take; give memory of "
                    "Runtime::allocate(), or do it in a kernel",
                    bytes, address, neighbour_->shape_.name));
  }
  return Status::error(
      Code::kNotSymmetric,
      fmt::format("{} bytes at {} are not in the {}, which has {} bytes at {}{}; take memory from "
                  "Runtime::allocate() or shmem_malloc()",
                  bytes, address, shape_.name, committed(), fmt::ptr(range_.base),
                  adopted().empty() ? ""
                  : platform_.adopts_where_told()
                      ? ", nor in adopted static data, which thread-local, constant "
                        "and local variables are no part of"
                      : ", nor in adopted memory"));
}

Status Heap::check_live(const void* address, std::size_t bytes) const {
  ASSIGN_OR_RETURN(const Offset in_heap, offset_of(address, bytes));
  const std::uint64_t offset = to_u64(in_heap);
  if (offset >= range_.bytes) return check_current(address, bytes);
  const std::lock_guard lock(mutex_);
  if (allocator_.find(offset, bytes)) return Status::ok();
  const auto block = allocator_.at_or_before(offset);
  if (block && offset - block->offset < block->bytes) {
    return Status::error(
        Code::kInvalidArgument,
        fmt::format(
            "{} bytes at {} (heap offset {:#x}) run {} bytes past the end of the allocation "
            "they start in, {} bytes at heap offset {:#x}",
            bytes, address, offset, offset + bytes - block->offset - block->bytes, block->bytes,
            block->offset));
  }
  return Status::error(Code::kInvalidArgument,
                       fmt::format("{} bytes at {} (heap offset {:#x}) are heap memory that is not "
                                   "allocated; was it freed?",
                                   bytes, address, offset));
}

bool Heap::may_hold(const void* address) const {
  const auto offset =
      reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(range_.base);
  return offset < range_.bytes || try_offset(address, 0) != kNoOffset;
}

std::size_t Heap::in_use() const {
  const std::lock_guard lock(mutex_);
  return allocator_.in_use();
}

}  // namespace weft
