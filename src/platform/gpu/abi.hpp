// The part of GPUs' drivers that Weft calls, laid down for C, so that a driver is used without its
// headers: CUDA's from 11.7 on, HIP's from ROCm 5.1 on. HIP mirrors CUDA so closely that numbers,
// structures and most functions are the same but for names. cuda_abi_test.cpp and hip_abi_test.cpp
// hold this against the headers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "src/platform/platform.hpp"

namespace weft::gpu::abi {

enum class Error : unsigned {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kDeinitialized = 4,
  kStubLibrary = 34,         // CUDA's alone
  kInsufficientDriver = 35,  // HIP's alone
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidContext = 201,
  kPeerAccessUnsupported = 217,
  kOperatingSystem = 304,
  kInvalidHandle = 400,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchTimeout = 702,
  kPeerAccessAlreadyEnabled = 704,
  kContextIsDestroyed = 709,
  kAssert = 710,
  kHardwareStackError = 714,
  kInvalidPc = 718,
  kLaunchFailed = 719,
  kNotPermitted = 800,  // from here on CUDA's alone, but for kNotSupported
  kNotSupported = 801,
  kSystemNotReady = 802,
  kDriverMismatch = 803,
  kCaptureUnsupported = 900,
};

// A kernel failed, and nothing of this process runs on the GPU any more, nor ever will.
inline bool ends_all(Error error) {
  return error == Error::kIllegalAddress || error == Error::kLaunchTimeout ||
         error == Error::kAssert ||
         (error >= Error::kHardwareStackError && error <= Error::kLaunchFailed);
}

using Device = int;  // the ordinal
using Pointer = unsigned long long;
using Handle = unsigned long long;        // of physical memory
using Token = std::array<std::byte, 64>;  // of memory, for other processes: by fabric and by IPC

enum class LocationType : unsigned { kDevice = 1 };
struct Location {
  LocationType type;
  int id;
};

enum class AllocationType : unsigned {
  kPinned = 1,
  kUncached = 0x40000000,  // HIP's alone
};
enum class HandleType : unsigned { kNone = 0, kPosixFd = 1, kFabric = 8 };
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
enum class PointerAttribute : unsigned {
  kMemoryType = 2,
  kBufferId = 7,  // of an allocation; no other of the process ever has the same
  kIsManaged = 8,
  kOrdinal = 9,
};
enum class CaptureStatus : unsigned { kNone = 0 };
// The work that captures of streams forbid a thread meanwhile. kRelaxed: none but work on those
// streams that cannot be captured.
enum class CaptureMode : unsigned { kGlobal = 0, kThreadLocal = 1, kRelaxed = 2 };

using Module = void*;
using Function = void*;  // a kernel

inline constexpr unsigned kHostPortable = 1, kHostDeviceMapped = 2;  // flags of host_alloc
inline Stream const kPerThreadStream = reinterpret_cast<Stream>(2);  // the calling thread's own
inline constexpr unsigned kNonBlocking = 1;                          // flag of stream_create
inline constexpr unsigned kEnablePeerAccess = 1;                     // flag of ipc_open

// The result of a call, and which one it was, for messages.
struct Outcome {
  Error error;
  const char* function;  // "cuMemMap"
};

template <class Signature>
struct Entry;
template <class... P>
struct Entry<Error(P...)> {
  Outcome operator()(P... parameters) const { return {address(parameters...), name}; }
  Error (*address)(P...) = nullptr;
  const char* name = nullptr;
};

// ROW(member of Table, name in CUDA, name in HIP, parameters): what the two have alike. The rest is
// in src/platform/cuda and src/platform/hip.
#define WEFT_GPU_DRIVER_FUNCTIONS(ROW)                                                             \
  ROW(init, cuInit, hipInit, unsigned flags)                                                       \
  ROW(device_count, cuDeviceGetCount, hipGetDeviceCount, int* count)                               \
  ROW(device_name, cuDeviceGetName, hipDeviceGetName, char* name, int bytes, Device device)        \
  ROW(device_uuid, cuDeviceGetUuid_v2, hipDeviceGetUuid, Uuid* uuid, Device device)                \
  ROW(device_bus, cuDeviceGetPCIBusId, hipDeviceGetPCIBusId, char* bus, int bytes, Device device)  \
  ROW(device_memory, cuDeviceTotalMem_v2, hipDeviceTotalMem, std::size_t* bytes, Device device)    \
  ROW(device_can_access, cuDeviceCanAccessPeer, hipDeviceCanAccessPeer, int* can, Device device,   \
      Device peer)                                                                                 \
  ROW(memory_info, cuMemGetInfo_v2, hipMemGetInfo, std::size_t* free, std::size_t* total)          \
  ROW(granularity, cuMemGetAllocationGranularity, hipMemGetAllocationGranularity,                  \
      std::size_t* bytes, const AllocationProperties* properties, Granularity which)               \
  ROW(reserve, cuMemAddressReserve, hipMemAddressReserve, Pointer* base, std::size_t bytes,        \
      std::size_t align, Pointer wish, unsigned long long flags)                                   \
  ROW(free_reserved, cuMemAddressFree, hipMemAddressFree, Pointer base, std::size_t bytes)         \
  ROW(create, cuMemCreate, hipMemCreate, Handle* handle, std::size_t bytes,                        \
      const AllocationProperties* properties, unsigned long long flags)                            \
  ROW(release, cuMemRelease, hipMemRelease, Handle handle)                                         \
  ROW(map, cuMemMap, hipMemMap, Pointer base, std::size_t bytes, std::size_t offset,               \
      Handle handle, unsigned long long flags)                                                     \
  ROW(unmap, cuMemUnmap, hipMemUnmap, Pointer base, std::size_t bytes)                             \
  ROW(set_access, cuMemSetAccess, hipMemSetAccess, Pointer base, std::size_t bytes,                \
      const Access* access, std::size_t count)                                                     \
  ROW(export_handle, cuMemExportToShareableHandle, hipMemExportToShareableHandle, void* out,       \
      Handle handle, HandleType type, unsigned long long flags)                                    \
  ROW(import_handle, cuMemImportFromShareableHandle, hipMemImportFromShareableHandle,              \
      Handle* handle, void* shared, HandleType type)                                               \
  ROW(retain, cuMemRetainAllocationHandle, hipMemRetainAllocationHandle, Handle* handle,           \
      void* address)                                                                               \
  ROW(properties, cuMemGetAllocationPropertiesFromHandle, hipMemGetAllocationPropertiesFromHandle, \
      AllocationProperties* properties, Handle handle)                                             \
  ROW(address_range, cuMemGetAddressRange_v2, hipMemGetAddressRange, Pointer* base,                \
      std::size_t* bytes, Pointer address)                                                         \
  ROW(pointer_attribute, cuPointerGetAttribute, hipPointerGetAttribute, void* value,               \
      PointerAttribute attribute, Pointer address)                                                 \
  ROW(free, cuMemFree_v2, hipFree, Pointer memory)                                                 \
  ROW(ipc_get, cuIpcGetMemHandle, hipIpcGetMemHandle, Token* token, Pointer memory)                \
  ROW(ipc_open, cuIpcOpenMemHandle_v2, hipIpcOpenMemHandle, Pointer* memory, Token token,          \
      unsigned flags)                                                                              \
  ROW(ipc_close, cuIpcCloseMemHandle, hipIpcCloseMemHandle, Pointer memory)                        \
  ROW(host_alloc, cuMemHostAlloc, hipHostMalloc, void** memory, std::size_t bytes, unsigned flags) \
  ROW(host_free, cuMemFreeHost, hipHostFree, void* memory)                                         \
  ROW(stream_create, cuStreamCreate, hipStreamCreateWithFlags, Stream* stream, unsigned flags)     \
  ROW(stream_destroy, cuStreamDestroy_v2, hipStreamDestroy, Stream stream)                         \
  ROW(stream_synchronize, cuStreamSynchronize, hipStreamSynchronize, Stream stream)                \
  ROW(stream_query, cuStreamQuery, hipStreamQuery, Stream stream)                                  \
  ROW(set_bytes, cuMemsetD8Async, hipMemsetD8Async, Pointer dst, unsigned char value,              \
      std::size_t count, Stream stream)                                                            \
  ROW(stream_capturing, cuStreamIsCapturing, hipStreamIsCapturing, Stream stream,                  \
      CaptureStatus* status)                                                                       \
  ROW(exchange_capture_mode, cuThreadExchangeStreamCaptureMode,                                    \
      hipThreadExchangeStreamCaptureMode, CaptureMode* mode)                                       \
  ROW(module_load, cuModuleLoadData, hipModuleLoadData, Module* module, const void* image)         \
  ROW(module_function, cuModuleGetFunction, hipModuleGetFunction, Function* function,              \
      Module module, const char* name)                                                             \
  ROW(launch, cuLaunchKernel, hipModuleLaunchKernel, Function function, unsigned grid_x,           \
      unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,      \
      unsigned shared_bytes, Stream stream, void** parameters, void** extra)

struct Table {
#define WEFT_ROW(member, cuda, hip, ...) Entry<Error(__VA_ARGS__)> member;
  WEFT_GPU_DRIVER_FUNCTIONS(WEFT_ROW)
#undef WEFT_ROW
};

inline Pointer pointer(const void* address) { return reinterpret_cast<Pointer>(address); }
inline std::byte* address(Pointer pointer) {
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(pointer));
}

}  // namespace weft::gpu::abi
