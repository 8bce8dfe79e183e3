// Address space of GPUs, and which memory lies behind it.
#include <sys/mman.h>

#include <algorithm>
#include <iterator>

#include "tests/support/fake_gpu/state.hpp"

namespace weft::gpu::abi {

using fake_gpu::Call;
using fake_gpu::kPage;
using fake_gpu::Mapping;
using fake_gpu::State;

namespace {

bool map_nothing(Pointer base, std::size_t bytes) {
  return ::mmap(address(base), bytes, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
}

bool is_reserved(const State& all, Pointer base, std::size_t bytes) {
  auto found = all.reservations.upper_bound(base);
  if (found == all.reservations.begin()) return false;
  const auto& [start, size] = *--found;
  return base + bytes <= start + size;
}

bool is_mapped(const State& all, Pointer base, std::size_t bytes) {
  const auto after = all.mappings.lower_bound(base + bytes);
  if (after == all.mappings.begin()) return false;
  const auto& [start, mapping] = *std::prev(after);
  return start + mapping.bytes > base;
}

}  // namespace

extern "C" Error FAKE_NAME(cuMemAddressReserve,
                           hipMemAddressReserve)(Pointer* base, std::size_t bytes,
                                                 std::size_t align, Pointer wish,
                                                 unsigned long long flags) {
  Call call("cuMemAddressReserve");
  if (call.refused()) return call.error();
  if (flags != 0 || wish != 0 || bytes == 0 || bytes % kPage != 0 || (align & (align - 1)) != 0) {
    return Error::kInvalidValue;
  }
  align = std::max(align, kPage);
  void* const found =
      ::mmap(nullptr, bytes + align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (found == MAP_FAILED) return Error::kOutOfMemory;
  const Pointer start = pointer(found);
  const Pointer lead = -start % align;
  if (lead != 0) ::munmap(found, lead);
  if (lead != align) ::munmap(address(start + lead + bytes), align - lead);
  *base = start + lead;
  call->reservations[*base] = bytes;
  return Error::kSuccess;
}

extern "C" Error FAKE_NAME(cuMemAddressFree, hipMemAddressFree)(Pointer base, std::size_t bytes) {
  Call call("cuMemAddressFree");
  if (call.refused()) return call.error();
  const auto found = call->reservations.find(base);
  if (found == call->reservations.end() || found->second != bytes ||
      is_mapped(*call.operator->(), base, bytes)) {
    return Error::kInvalidValue;
  }
  ::munmap(address(base), bytes);
  call->reservations.erase(found);
  return Error::kSuccess;
}

extern "C" Error FAKE_NAME(cuMemMap, hipMemMap)(Pointer base, std::size_t bytes, std::size_t offset,
                                                Handle handle, unsigned long long flags) {
  Call call("cuMemMap");
  if (call.refused()) return call.error();
  const auto found = call->handles.find(handle);
  const State& all = *call.operator->();
  if (flags != 0 || offset != 0 || found == call->handles.end() || bytes != found->second->bytes ||
      base % kPage != 0 || !is_reserved(all, base, bytes) || is_mapped(all, base, bytes)) {
    return Error::kInvalidValue;
  }
  if (::mmap(address(base), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, found->second->file.get(),
             0) == MAP_FAILED) {
    return Error::kOperatingSystem;
  }
  call->mappings[base] = Mapping{bytes, found->second, {}};
  return Error::kSuccess;
}

extern "C" Error FAKE_NAME(cuMemUnmap, hipMemUnmap)(Pointer base, std::size_t bytes) {
  Call call("cuMemUnmap");
  if (call.refused()) return call.error();
  const auto found = call->mappings.find(base);
  if (found == call->mappings.end() || found->second.bytes != bytes) return Error::kInvalidValue;
  if (!map_nothing(base, bytes)) return Error::kOperatingSystem;
  call->mappings.erase(found);
  return Error::kSuccess;
}

extern "C" Error FAKE_NAME(cuMemSetAccess, hipMemSetAccess)(Pointer base, std::size_t bytes,
                                                            const Access* access,
                                                            std::size_t count) {
  Call call("cuMemSetAccess");
  if (call.refused()) return call.error();
  const auto found = call->mappings.find(base);
  if (found == call->mappings.end() || found->second.bytes != bytes) return Error::kInvalidValue;
  Mapping& mapping = found->second;
  for (const Access* one = access; one != access + count; ++one) {
    const int device = one->location.id;
    if (one->location.type != LocationType::kDevice || !fake_gpu::is_device(device) ||
        !fake_gpu::reaches(device, mapping.physical->device)) {
      return Error::kInvalidDevice;
    }
    if (one->flags == AccessFlags::kReadWrite) {
      mapping.access.insert(device);
    } else {
      mapping.access.erase(device);
    }
  }
  const int protection = mapping.access.empty() ? PROT_NONE : PROT_READ | PROT_WRITE;
  return ::mprotect(address(base), bytes, protection) == 0 ? Error::kSuccess
                                                           : Error::kOperatingSystem;
}

}  // namespace weft::gpu::abi
