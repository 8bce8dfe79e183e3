// The part of the CUDA driver API that Weft calls, as cuda.h lays it down for C: a driver of CUDA
// 11.7 and later is used without its headers. cuda_abi_test.cpp holds it against cuda.h.
#pragma once

#include <cstddef>

#include "src/platform/platform.hpp"

namespace weft::gpu::abi {

enum class Error : unsigned {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kDeinitialized = 4,
  kStubLibrary = 34,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidContext = 201,
  kPeerAccessUnsupported = 217,
  kOperatingSystem = 304,
  kInvalidHandle = 400,
  kIllegalAddress = 700,
  kLaunchTimeout = 702,
  kContextIsDestroyed = 709,
  kLaunchFailed = 719,
  kNotPermitted = 800,
  kNotSupported = 801,
  kSystemNotReady = 802,
  kDriverMismatch = 803,
};

enum class Attribute : unsigned {
  kComputeMajor = 75,
  kComputeMinor = 76,
  kVirtualMemory = 102,
  kFdHandles = 103,
  kRdmaOfVirtualMemory = 110,
  kStreamWords = 122,  // 64 bits wide
};

using Device = int;  // what cuDeviceGet() gives for an ordinal: the same number
using Context = void*;
using Pointer = unsigned long long;
using Handle = unsigned long long;  // of physical memory

enum class LocationType : unsigned { kDevice = 1 };
struct Location {
  LocationType type;
  int id;
};

enum class AllocationType : unsigned { kPinned = 1 };
enum class HandleType : unsigned { kNone = 0, kPosixFd = 1 };
struct AllocationProperties {
  AllocationType type;
  HandleType handle_types;
  Location location;
  void* windows_only;
  struct {
    unsigned char compression;
    unsigned char gpu_direct_rdma;
    unsigned short usage;
    unsigned char reserved[4];
  } flags;
};

enum class AccessFlags : unsigned { kNone = 0, kReadWrite = 3 };
struct Access {
  Location location;
  AccessFlags flags;
};

enum class Granularity : unsigned { kMinimum = 0 };
enum class CaptureStatus : unsigned { kNone = 0 };

enum class StepType : unsigned { kWait64 = 4, kWrite64 = 5 };
inline constexpr unsigned kWaitAtLeast = 0, kWaitEqual = 1;  // flags of kWait64
struct Step {
  StepType type;
  Pointer word;
  unsigned long long value;
  unsigned flags;
  unsigned long long reserved[2];
};

using Module = void*;
using Function = void*;

inline constexpr unsigned kHostPortable = 1, kHostDeviceMapped = 2;  // flags of mem_host_alloc
inline constexpr unsigned kNonBlocking = 1;                          // flag of stream_create

// ROW(member of Table, name in the library, parameters)
#define WEFT_CUDA_DRIVER_FUNCTIONS(ROW)                                                          \
  ROW(init, cuInit, unsigned flags)                                                              \
  ROW(error_name, cuGetErrorName, Error error, const char** name)                                \
  ROW(error_text, cuGetErrorString, Error error, const char** text)                              \
  ROW(device_count, cuDeviceGetCount, int* count)                                                \
  ROW(device_name, cuDeviceGetName, char* name, int bytes, Device device)                        \
  ROW(device_uuid, cuDeviceGetUuid_v2, Uuid* uuid, Device device)                                \
  ROW(device_bus, cuDeviceGetPCIBusId, char* bus, int bytes, Device device)                      \
  ROW(device_memory, cuDeviceTotalMem_v2, std::size_t* bytes, Device device)                     \
  ROW(device_attribute, cuDeviceGetAttribute, int* value, Attribute attribute, Device device)    \
  ROW(device_can_access, cuDeviceCanAccessPeer, int* can, Device device, Device peer)            \
  ROW(retain_primary, cuDevicePrimaryCtxRetain, Context* context, Device device)                 \
  ROW(context_push, cuCtxPushCurrent_v2, Context context)                                        \
  ROW(context_pop, cuCtxPopCurrent_v2, Context* context)                                         \
  ROW(context_set, cuCtxSetCurrent, Context context)                                             \
  ROW(context_device, cuCtxGetDevice, Device* device)                                            \
  ROW(memory_info, cuMemGetInfo_v2, std::size_t* free, std::size_t* total)                       \
  ROW(granularity, cuMemGetAllocationGranularity, std::size_t* bytes,                            \
      const AllocationProperties* properties, Granularity which)                                 \
  ROW(reserve, cuMemAddressReserve, Pointer* base, std::size_t bytes, std::size_t align,         \
      Pointer wish, unsigned long long flags)                                                    \
  ROW(free_reserved, cuMemAddressFree, Pointer base, std::size_t bytes)                          \
  ROW(create, cuMemCreate, Handle* handle, std::size_t bytes,                                    \
      const AllocationProperties* properties, unsigned long long flags)                          \
  ROW(release, cuMemRelease, Handle handle)                                                      \
  ROW(map, cuMemMap, Pointer base, std::size_t bytes, std::size_t offset, Handle handle,         \
      unsigned long long flags)                                                                  \
  ROW(unmap, cuMemUnmap, Pointer base, std::size_t bytes)                                        \
  ROW(set_access, cuMemSetAccess, Pointer base, std::size_t bytes, const Access* access,         \
      std::size_t count)                                                                         \
  ROW(export_handle, cuMemExportToShareableHandle, void* out, Handle handle, HandleType type,    \
      unsigned long long flags)                                                                  \
  ROW(import_handle, cuMemImportFromShareableHandle, Handle* handle, void* fd, HandleType type)  \
  ROW(host_alloc, cuMemHostAlloc, void** memory, std::size_t bytes, unsigned flags)              \
  ROW(host_free, cuMemFreeHost, void* memory)                                                    \
  ROW(stream_create, cuStreamCreate, Stream* stream, unsigned flags)                             \
  ROW(stream_destroy, cuStreamDestroy_v2, Stream stream)                                         \
  ROW(stream_synchronize, cuStreamSynchronize, Stream stream)                                    \
  ROW(copy, cuMemcpyAsync, Pointer dst, Pointer src, std::size_t bytes, Stream stream)           \
  ROW(set_bytes, cuMemsetD8Async, Pointer dst, unsigned char value, std::size_t count,           \
      Stream stream)                                                                             \
  ROW(stream_steps, cuStreamBatchMemOp_v2, Stream stream, unsigned count, Step* steps,           \
      unsigned flags)                                                                            \
  ROW(host_function, cuLaunchHostFunc, Stream stream, void (*function)(void*), void* argument)   \
  ROW(stream_capturing, cuStreamIsCapturing, Stream stream, CaptureStatus* status)               \
  ROW(module_load, cuModuleLoadData, Module* module, const void* image)                          \
  ROW(module_function, cuModuleGetFunction, Function* function, Module module, const char* name) \
  ROW(launch, cuLaunchKernel, Function function, unsigned grid_x, unsigned grid_y,               \
      unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,                     \
      unsigned shared_bytes, Stream stream, void** parameters, void** extra)

struct Table {
#define WEFT_ROW(member, symbol, ...) Error (*member)(__VA_ARGS__);
  WEFT_CUDA_DRIVER_FUNCTIONS(WEFT_ROW)
#undef WEFT_ROW
};

inline Pointer pointer(const void* address) { return reinterpret_cast<Pointer>(address); }

}  // namespace weft::gpu::abi
