// Memory of a GPU: a file in memory whose name tells whose it is.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <array>
#include <cstdio>
#include <string>

#include "tests/support/fake_gpu/state.hpp"

namespace weft::fake_gpu {

Physical::~Physical() {
  if (is_created_here) state().used[device] -= bytes;
}

// As on a GPU, new memory holds whatever was there before.
UniqueFd dirty_file(int device, std::size_t bytes) {
  const std::string name = "fake-gpu-" + std::to_string(device);
  UniqueFd file(::memfd_create(name.c_str(), MFD_CLOEXEC));
  if (!file || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) return UniqueFd();
  const std::array<char, 8> dirt{'d', 'i', 'r', 't', 'y', '!', '!', '!'};
  for (std::size_t at = 0; at < bytes; at += kPage / 4) {
    if (::pwrite(file.get(), dirt.data(), dirt.size(), static_cast<off_t>(at)) < 0) {
      return UniqueFd();
    }
  }
  return file;
}

namespace {

// The block that holds `address`, of blocks by where they begin; null: none.
template <class Block>
const std::pair<const Pointer, Block>* block_at(const std::map<Pointer, Block>& blocks,
                                                Pointer address) {
  auto after = blocks.upper_bound(address);
  if (after == blocks.begin()) return nullptr;
  const auto& found = *--after;
  return address - found.first < found.second.bytes ? &found : nullptr;
}

}  // namespace

const std::pair<const Pointer, Mapping>* mapping_at(Pointer address) {
  return block_at(state().mappings, address);
}

const std::pair<const Pointer, Allocation>* allocation_at(Pointer address) {
  return block_at(state().allocations, address);
}

namespace {

gpu::abi::Handle hold(const std::shared_ptr<Physical>& memory) {
  State& all = state();
  if (memory->handle == 0 || !all.handles.contains(memory->handle))
    memory->handle = ++all.last_handle;
  all.handles[memory->handle] = memory;
  ++all.holders[memory->handle];
  return memory->handle;
}

}  // namespace

}  // namespace weft::fake_gpu

namespace weft::gpu::abi {

using fake_gpu::Call;
using fake_gpu::is_device;
using fake_gpu::Physical;

namespace {

bool has_way(HandleType type) {
  const auto& ways = fake_gpu::state().settings.ways;
  return (type == HandleType::kPosixFd && ways.contains("fd")) ||
         (type == HandleType::kFabric && ways.contains("fabric"));
}

bool allows(const AllocationProperties& properties, HandleType type) {
  return (static_cast<unsigned>(properties.handle_types) & static_cast<unsigned>(type)) != 0;
}

Error check(const AllocationProperties& properties) {
  const bool is_valid = fake_gpu::knows(properties.type) &&
                        properties.location.type == LocationType::kDevice &&
                        properties.windows_only == nullptr && properties.flags.compression == 0 &&
                        properties.flags.usage == 0;
  if (!is_valid) return Error::kInvalidValue;
  const bool is_private = properties.handle_types == HandleType::kNone;
  return is_private || has_way(properties.handle_types) ? Error::kSuccess : Error::kNotSupported;
}

// The GPU that a file of create() belongs to; -1: it is none of those.
int device_of(int fd) {
  std::array<char, 64> target{};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  if (::readlink(link.c_str(), target.data(), target.size() - 1) < 0) return -1;
  int device = -1;
  std::sscanf(target.data(), "/memfd:fake-gpu-%d", &device);
  return device;
}

}  // namespace

extern "C" Error FAKE_NAME(cuMemGetInfo_v2, hipMemGetInfo)(std::size_t* free, std::size_t* total) {
  Call call("cuMemGetInfo_v2", Call::Needs::kCurrent);
  if (call.refused()) return call.error();
  *total = call->settings.bytes;
  *free = *total - call->used[fake_gpu::current()];
  return Error::kSuccess;
}

extern "C" Error FAKE_NAME(cuMemGetAllocationGranularity,
                           hipMemGetAllocationGranularity)(std::size_t* bytes,
                                                           const AllocationProperties* properties,
                                                           Granularity) {
  Call call("cuMemGetAllocationGranularity");
  if (call.refused()) return call.error();
  *bytes = fake_gpu::kPage;
  return check(*properties);
}

extern "C" Error FAKE_NAME(cuMemCreate, hipMemCreate)(Handle* handle, std::size_t bytes,
                                                      const AllocationProperties* properties,
                                                      unsigned long long flags) {
  Call call("cuMemCreate");
  if (call.refused()) return call.error();
  if (flags != 0 || bytes == 0 || bytes % fake_gpu::kPage != 0) return Error::kInvalidValue;
  if (const Error wrong = check(*properties); wrong != Error::kSuccess) return wrong;
  const int device = properties->location.id;
  if (!is_device(device)) return Error::kInvalidDevice;
  if (bytes > call->settings.bytes - call->used[device]) return Error::kOutOfMemory;
  UniqueFd file = fake_gpu::dirty_file(device, bytes);
  if (!file) return Error::kOperatingSystem;
  call->used[device] += bytes;
  *handle = fake_gpu::hold(
      std::shared_ptr<Physical>(new Physical{device, bytes, std::move(file), true, *properties}));
  return Error::kSuccess;
}

extern "C" Error FAKE_NAME(cuMemRelease, hipMemRelease)(Handle handle) {
  Call call("cuMemRelease");
  if (call.refused()) return call.error();
  const auto found = call->holders.find(handle);
  if (found == call->holders.end()) return Error::kInvalidValue;
  if (--found->second > 0) return Error::kSuccess;
  call->holders.erase(found);
  call->handles.erase(handle);
  return Error::kSuccess;
}

extern "C" Error FAKE_NAME(cuMemRetainAllocationHandle,
                           hipMemRetainAllocationHandle)(Handle* handle, void* address) {
  Call call("cuMemRetainAllocationHandle");
  if (call.refused()) return call.error();
  const auto* const mapped = fake_gpu::mapping_at(pointer(address));
  if (mapped == nullptr) return Error::kInvalidValue;
  *handle = fake_gpu::hold(mapped->second.physical);
  return Error::kSuccess;
}

extern "C" Error FAKE_NAME(cuMemGetAllocationPropertiesFromHandle,
                           hipMemGetAllocationPropertiesFromHandle)(
    AllocationProperties* properties, Handle handle) {
  Call call("cuMemGetAllocationPropertiesFromHandle");
  if (call.refused()) return call.error();
  const auto found = call->handles.find(handle);
  if (found == call->handles.end()) return Error::kInvalidValue;
  *properties = found->second->properties;
  return Error::kSuccess;
}

extern "C" Error FAKE_NAME(cuMemExportToShareableHandle,
                           hipMemExportToShareableHandle)(void* out, Handle handle, HandleType type,
                                                          unsigned long long flags) {
  Call call("cuMemExportToShareableHandle");
  if (call.refused()) return call.error();
  const auto found = call->handles.find(handle);
  if (flags != 0 || !has_way(type) || found == call->handles.end() ||
      !allows(found->second->properties, type)) {
    return Error::kInvalidValue;
  }
  if (type == HandleType::kFabric) {
    const Physical& memory = *found->second;
    *static_cast<Token*>(out) =
        fake_gpu::token_of(memory.device, memory.file.get(), memory.bytes, 0);
    return Error::kSuccess;
  }
  const int copy = ::dup(found->second->file.get());
  if (copy < 0) return Error::kOperatingSystem;
  *static_cast<int*>(out) = copy;
  return Error::kSuccess;
}

extern "C" Error FAKE_NAME(cuMemImportFromShareableHandle,
                           hipMemImportFromShareableHandle)(Handle* handle, void* shared,
                                                            HandleType type) {
  Call call("cuMemImportFromShareableHandle");
  if (call.refused()) return call.error();
  if (!has_way(type)) return Error::kInvalidValue;
  int device = -1;
  std::size_t bytes = 0;
  UniqueFd file;
  if (type == HandleType::kFabric) {
    file = fake_gpu::open_token(*static_cast<const Token*>(shared), &device, &bytes);
    if (!file) return Error::kInvalidValue;
  } else {
    const int theirs = fake_gpu::descriptor(shared);
    device = device_of(theirs);
    if (device < 0) return Error::kInvalidValue;
    file.reset(::fcntl(theirs, F_DUPFD_CLOEXEC, 0));
    struct stat facts {};
    if (!file || ::fstat(file.get(), &facts) != 0) return Error::kOperatingSystem;
    bytes = static_cast<std::size_t>(facts.st_size);
  }
  if (!is_device(device)) return Error::kInvalidDevice;
  *handle = fake_gpu::hold(
      std::shared_ptr<Physical>(new Physical{device, bytes, std::move(file), false}));
  call->handles[*handle]->properties.location = {LocationType::kDevice, device};
  return Error::kSuccess;
}

}  // namespace weft::gpu::abi
