// AddressSanitizer's view of the heap: memory that is not allocated must not be touched by this
// process. Costs nothing, and does nothing, in other builds.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define WEFT_HEAP_POISON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEFT_HEAP_POISON 1
#endif
#endif

#ifdef WEFT_HEAP_POISON
#include <sanitizer/asan_interface.h>
#endif

namespace weft {

#ifdef WEFT_HEAP_POISON
inline void poison(const std::byte* memory, std::size_t bytes) {
  __asan_poison_memory_region(memory, bytes);
}
inline void unpoison(const std::byte* memory, std::size_t bytes) {
  __asan_unpoison_memory_region(memory, bytes);
}
#else
inline void poison(const std::byte*, std::size_t) {}
inline void unpoison(const std::byte*, std::size_t) {}
#endif

}  // namespace weft
