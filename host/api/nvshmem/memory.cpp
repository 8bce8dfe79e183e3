// Symmetric memory of GPUs, with the barriers that NVSHMEM promises; and private memory that a
// program registers.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "host/api/nvshmem/state.hpp"

namespace weft::nvshmem {
namespace {

void* allocate(const char* routine, std::size_t size, std::size_t alignment) {
  const Call call(routine);
  if (!call || size == 0) return nullptr;
  auto memory = call.runtime_of().allocate_bytes(size, alignment, MemoryKind::kDevice);
  if (!memory || !call.runtime_of().barrier()) return nullptr;
  return *memory;
}

void* malloc(const char* routine, std::size_t size) { return allocate(routine, size, 0); }

void* align(const char* routine, std::size_t alignment, std::size_t size) {
  if (std::has_single_bit(alignment))
    return allocate(routine, size, std::max(alignment, sizeof(void*)));
  refuse(routine, Code::kInvalidArgument,
         fmt::format("argument alignment is {}; it is a power of two", alignment));
  return nullptr;
}

void* calloc(const char* routine, std::size_t count, std::size_t size) {
  const Call call(routine);
  if (!call || count == 0 || size == 0) return nullptr;
  return call.runtime_of().callocate_bytes(count, size, MemoryKind::kDevice).value_or(nullptr);
}

// Nobody's operations still go to the old block when it goes away.
void free(const char* routine, void* memory) {
  const Call call(routine);
  if (!call || memory == nullptr) return;
  settle(call.runtime_of().barrier());
  settle(call.runtime_of().free(memory));
}

void* ptr(const char* routine, const void* dest, int pe) {
  const Call call(routine);
  return call ? call->ptr(dest, pe) : nullptr;
}

// There are no multicast addresses, which is an answer that programs know.
void* mc_ptr(const char* routine, nvshmem_team_t, const void*) {
  static_cast<void>(runtime(routine));
  return nullptr;
}

// --- private memory ------------------------------------------------------------------------------

// Any memory of mine may be the private side of an operation. So that programs find out what they
// do wrong, what they register is remembered.
struct Registered {
  std::mutex mutex;
  std::map<std::uintptr_t, std::size_t> ranges;  // guarded by mutex; by start
};
Registered& registered() {
  static Registered* const registered = new Registered;
  return *registered;
}

int buffer_register(const char* routine, void* address, std::size_t length) {
  const Call call(routine);
  if (!call) return NVSHMEMX_ERROR_INTERNAL;
  if (address == nullptr || length == 0)
    return refuse(routine, Code::kInvalidArgument,
                  fmt::format("{} bytes at {} are no memory to register", length, address));
  if (call.runtime_of().offset_of(address))
    return refuse(routine, Code::kInvalidArgument,
                  fmt::format("argument addr is {}, which is symmetric memory; that needs no "
                              "registration",
                              address));
  const std::lock_guard lock(registered().mutex);
  std::size_t& bytes = registered().ranges[reinterpret_cast<std::uintptr_t>(address)];
  bytes = std::max(bytes, length);
  return NVSHMEMX_SUCCESS;
}

int buffer_unregister(const char* routine, void* address) {
  if (runtime(routine) == nullptr) return NVSHMEMX_ERROR_INTERNAL;
  const std::lock_guard lock(registered().mutex);
  if (registered().ranges.erase(reinterpret_cast<std::uintptr_t>(address)) != 0)
    return NVSHMEMX_SUCCESS;
  return refuse(
      routine, Code::kInvalidArgument,
      fmt::format("argument addr is {}, which is not the start of a registered buffer", address));
}

void buffer_unregister_all(const char* routine) {
  if (runtime(routine) == nullptr) return;
  forget_buffers();
}

// --- memory of the program's own that becomes symmetric ------------------------------------------

// Where it is, so the symmetric address is the given one.
void* buffer_register_symmetric(const char* routine, void* buffer, std::size_t size, int flags) {
  const Call call(routine);
  if (!call) return nullptr;
  if (flags != 0) {
    refuse(routine, Code::kInvalidArgument,
           fmt::format("argument flags is {}; there are none, pass 0", flags));
    return nullptr;
  }
  return call.runtime_of().adopt({{buffer, size, "the buffer"}}).is_ok() ? buffer : nullptr;
}

int buffer_unregister_symmetric(const char* routine, void* buffer, std::size_t size) {
  const Call call(routine);
  if (!call) return NVSHMEMX_ERROR_INTERNAL;
  return error_code(call.runtime_of().disown({{buffer, size, "the buffer"}}));
}

}  // namespace

void forget_buffers() {
  const std::lock_guard lock(registered().mutex);
  registered().ranges.clear();
}

}  // namespace weft::nvshmem

#define WEFT_NVSHMEM_GROUP "memory.def.h"
#define WEFT_NVSHMEM_HOST WEFT_NVSHMEM_DEFINE
#define WEFT_NVSHMEM_BOTH WEFT_NVSHMEM_DEFINE
#include <nvshmem/host/routines.def.h>
