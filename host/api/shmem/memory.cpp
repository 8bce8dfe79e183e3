// Symmetric memory: the runtime's, with the barriers that OpenSHMEM promises (1.5, 9.3). A call
// that does nothing (size 0, null) is no barrier.
#include <algorithm>
#include <bit>
#include <cstddef>

#include <fmt/format.h>

#include "host/api/shmem/state.hpp"

namespace weft::shmem {
namespace {

void* allocate(const char* routine, std::size_t size, std::size_t alignment) {
  Runtime* const rt = runtime(routine);
  if (rt == nullptr || size == 0) return nullptr;
  const CallerName name(routine);
  auto memory = rt->allocate_bytes(size, alignment);
  if (!memory || !rt->barrier()) return nullptr;
  return *memory;
}

void* malloc(const char* routine, std::size_t size) { return allocate(routine, size, 0); }

// All symmetric memory is as good for atomics and signals as it can be.
void* malloc_with_hints(const char* routine, std::size_t size, long hints) {
  constexpr long kKnown = SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE;
  if ((hints & ~kKnown) != 0 && runtime(routine) != nullptr && checks())
    report(Status::error(Code::kInvalidArgument,
                         fmt::format("{}: argument hints is {:#x}; hints are "
                                     "SHMEM_MALLOC_ATOMICS_REMOTE and SHMEM_MALLOC_SIGNAL_REMOTE",
                                     routine, hints)))
        .ignore();
  return allocate(routine, size, 0);
}

void* align(const char* routine, std::size_t alignment, std::size_t size) {
  if (std::has_single_bit(alignment))
    return allocate(routine, size, std::max(alignment, sizeof(void*)));
  report(Status::error(
             Code::kInvalidArgument,
             fmt::format("{}: argument alignment is {}; it is a power of two", routine, alignment)))
      .ignore();
  return nullptr;
}

void* calloc(const char* routine, std::size_t count, std::size_t size) {
  Runtime* const rt = runtime(routine);
  if (rt == nullptr || count == 0 || size == 0) return nullptr;
  const CallerName name(routine);
  auto memory = rt->callocate_bytes(count, size);
  if (!memory || !rt->barrier()) return nullptr;
  return *memory;
}

// Nobody's operations still go to the old block when it goes away.
void free(const char* routine, void* memory) {
  Runtime* const rt = runtime(routine);
  if (rt == nullptr || memory == nullptr) return;
  const CallerName name(routine);
  settle(rt->barrier());
  settle(rt->free(memory));
}

void* realloc(const char* routine, void* memory, std::size_t size) {
  Runtime* const rt = runtime(routine);
  if (rt == nullptr) return nullptr;
  if (memory == nullptr) return allocate(routine, size, 0);
  if (size == 0) {
    free(routine, memory);
    return nullptr;
  }
  const CallerName name(routine);
  if (!rt->barrier()) return nullptr;
  return rt->reallocate_bytes(memory, size).value_or(nullptr);
}

}  // namespace
}  // namespace weft::shmem

#define WEFT_SHMEM_GROUP "memory.def.h"
#define WEFT_SHMEM_ROUTINE WEFT_SHMEM_DEFINE
#include <shmem/families.def.h>
