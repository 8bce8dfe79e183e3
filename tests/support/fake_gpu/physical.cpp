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

}  // namespace weft::fake_gpu

namespace weft::gpu::abi {

using fake_gpu::Call;
using fake_gpu::is_device;
using fake_gpu::Physical;

namespace {

bool is_valid(const AllocationProperties& properties) {
  const bool exportable = properties.handle_types == HandleType::kPosixFd ||
                          properties.handle_types == HandleType::kNone;
  return properties.type == AllocationType::kPinned && exportable &&
         properties.location.type == LocationType::kDevice && properties.windows_only == nullptr &&
         properties.flags.compression == 0 && properties.flags.usage == 0;
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

extern "C" Error cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  Call call("cuMemGetInfo_v2", Call::Needs::kContext);
  if (call.refused()) return call.error();
  *total = call->settings.bytes;
  *free = *total - call->used[fake_gpu::contexts().back()];
  return Error::kSuccess;
}

extern "C" Error cuMemGetAllocationGranularity(std::size_t* bytes,
                                               const AllocationProperties* properties,
                                               Granularity) {
  Call call("cuMemGetAllocationGranularity");
  if (call.refused()) return call.error();
  if (!is_valid(*properties)) return Error::kInvalidValue;
  *bytes = fake_gpu::kPage;
  return Error::kSuccess;
}

extern "C" Error cuMemCreate(Handle* handle, std::size_t bytes,
                             const AllocationProperties* properties, unsigned long long flags) {
  Call call("cuMemCreate");
  if (call.refused()) return call.error();
  if (flags != 0 || bytes == 0 || bytes % fake_gpu::kPage != 0 || !is_valid(*properties)) {
    return Error::kInvalidValue;
  }
  const int device = properties->location.id;
  if (!is_device(device)) return Error::kInvalidDevice;
  if (bytes > call->settings.bytes - call->used[device]) return Error::kOutOfMemory;
  const std::string name = "fake-gpu-" + std::to_string(device);
  UniqueFd file(::memfd_create(name.c_str(), MFD_CLOEXEC));
  if (!file || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) {
    return Error::kOperatingSystem;
  }
  // As on a GPU, new memory holds whatever was there before.
  const std::array<char, 8> dirt{'d', 'i', 'r', 't', 'y', '!', '!', '!'};
  for (std::size_t at = 0; at < bytes; at += fake_gpu::kPage / 4) {
    if (::pwrite(file.get(), dirt.data(), dirt.size(), static_cast<off_t>(at)) < 0) {
      return Error::kOperatingSystem;
    }
  }
  call->used[device] += bytes;
  *handle = ++call->last_handle;
  call->handles[*handle].reset(new Physical{device, bytes, std::move(file), true});
  return Error::kSuccess;
}

extern "C" Error cuMemRelease(Handle handle) {
  Call call("cuMemRelease");
  if (call.refused()) return call.error();
  return call->handles.erase(handle) == 1 ? Error::kSuccess : Error::kInvalidValue;
}

extern "C" Error cuMemExportToShareableHandle(void* out, Handle handle, HandleType type,
                                              unsigned long long flags) {
  Call call("cuMemExportToShareableHandle");
  if (call.refused()) return call.error();
  const auto found = call->handles.find(handle);
  if (flags != 0 || type != HandleType::kPosixFd || found == call->handles.end()) {
    return Error::kInvalidValue;
  }
  const int copy = ::dup(found->second->file.get());
  if (copy < 0) return Error::kOperatingSystem;
  *static_cast<int*>(out) = copy;
  return Error::kSuccess;
}

extern "C" Error cuMemImportFromShareableHandle(Handle* handle, void* fd, HandleType type) {
  Call call("cuMemImportFromShareableHandle");
  if (call.refused()) return call.error();
  const int theirs = static_cast<int>(reinterpret_cast<std::uintptr_t>(fd));
  const int device = device_of(theirs);
  if (type != HandleType::kPosixFd || device < 0) return Error::kInvalidValue;
  if (!is_device(device)) return Error::kInvalidDevice;
  UniqueFd file(::fcntl(theirs, F_DUPFD_CLOEXEC, 0));
  struct stat facts {};
  if (!file || ::fstat(file.get(), &facts) != 0) return Error::kOperatingSystem;
  *handle = ++call->last_handle;
  call->handles[*handle].reset(
      new Physical{device, static_cast<std::size_t>(facts.st_size), std::move(file), false});
  return Error::kSuccess;
}

}  // namespace weft::gpu::abi
