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

// The GPU whose memory is mapped or allocated at an address; -1: there is none.
int device_at(Pointer address) {
  if (const auto* const mapped = fake_gpu::mapping_at(address))
    return mapped->second.physical->device;
  const auto* const allocated = fake_gpu::allocation_at(address);
  return allocated == nullptr ? -1 : allocated->second.device;
}

// Mapped memory has its address's id, whatever lies there.
std::uint64_t id_at(Pointer address) {
  if (const auto* const mapped = fake_gpu::mapping_at(address)) return mapped->first;
  const auto* const allocated = fake_gpu::allocation_at(address);
  return allocated == nullptr ? 0 : allocated->second.id;
}

bool is_pinned(const State& all, Pointer address) {
  for (const auto& [base, bytes] : all.host_blocks)
    if (address - pointer(base) < bytes) return true;
  return false;
}

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

extern "C" Error FAKE_NAME(cuMemGetAddressRange_v2, hipMemGetAddressRange)(Pointer* base,
                                                                           std::size_t* bytes,
                                                                           Pointer address) {
  Call call("cuMemGetAddressRange_v2");
  if (call.refused()) return call.error();
  if (const auto* const mapped = fake_gpu::mapping_at(address)) {
    *base = mapped->first;
    *bytes = mapped->second.bytes;
  } else if (const auto* const allocated = fake_gpu::allocation_at(address)) {
    *base = allocated->first;
    *bytes = allocated->second.bytes;
  } else {
    return Error::kInvalidValue;
  }
  return Error::kSuccess;
}

extern "C" Error FAKE_NAME(cuPointerGetAttribute,
                           hipPointerGetAttribute)(void* value, PointerAttribute attribute,
                                                   Pointer address) {
  Call call("cuPointerGetAttribute");
  if (call.refused()) return call.error();
  const int device = device_at(address);
  if (device < 0 && !is_pinned(*call.operator->(), address)) return Error::kInvalidValue;
  switch (attribute) {
    case PointerAttribute::kMemoryType:
      *static_cast<unsigned*>(value) =
          fake_gpu::memory_type(device >= 0 && !call->settings.managed);
      break;
    case PointerAttribute::kBufferId: *static_cast<std::uint64_t*>(value) = id_at(address); break;
    case PointerAttribute::kIsManaged: *static_cast<bool*>(value) = call->settings.managed; break;
    case PointerAttribute::kOrdinal: *static_cast<int*>(value) = device < 0 ? 0 : device; break;
  }
  return Error::kSuccess;
}

}  // namespace weft::gpu::abi
