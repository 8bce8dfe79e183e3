// The part of CUDA's driver that HIP's has not, or has otherwise.
#pragma once

#include "src/platform/gpu/abi.hpp"

namespace weft::cuda::abi {

// All of what both have, and more.
using namespace gpu::abi;  // NOLINT(google-build-using-namespace)

enum class Attribute : unsigned {
  kComputeMajor = 75,
  kComputeMinor = 76,
  kHostPointersOfRegistered = 91,
  kRdmaOfVirtualMemory = 110,
  kStreamWords = 122,  // 64 bits wide
};
using Context = void*;
inline constexpr unsigned kGpuMemory = 2;  // PointerAttribute::kMemoryType

enum class StepType : unsigned { kWait64 = 4, kWrite64 = 5 };
inline constexpr unsigned kWaitAtLeast = 0, kWaitEqual = 1;  // flags of kWait64
struct Step {
  StepType type;
  Pointer word;
  unsigned long long value;
  unsigned flags;
  unsigned long long reserved[2];
};

// ROW(member of Table, name in the library, parameters)
#define WEFT_CUDA_DRIVER_FUNCTIONS(ROW)                                                       \
  ROW(error_name, cuGetErrorName, Error error, const char** name)                             \
  ROW(error_text, cuGetErrorString, Error error, const char** text)                           \
  ROW(device_attribute, cuDeviceGetAttribute, int* value, Attribute attribute, Device device) \
  ROW(retain_primary, cuDevicePrimaryCtxRetain, Context* context, Device device)              \
  ROW(context_push, cuCtxPushCurrent_v2, Context context)                                     \
  ROW(context_pop, cuCtxPopCurrent_v2, Context* context)                                      \
  ROW(context_set, cuCtxSetCurrent, Context context)                                          \
  ROW(context_device, cuCtxGetDevice, Device* device)                                         \
  ROW(context_reach, cuCtxEnablePeerAccess, Context peer, unsigned flags)                     \
  ROW(allocate, cuMemAlloc_v2, Pointer* memory, std::size_t bytes)                            \
  ROW(host_register, cuMemHostRegister_v2, void* memory, std::size_t bytes, unsigned flags)   \
  ROW(host_unregister, cuMemHostUnregister, void* memory)                                     \
  ROW(copy, cuMemcpyAsync, Pointer dst, Pointer src, std::size_t bytes, Stream stream)        \
  ROW(stream_steps, cuStreamBatchMemOp_v2, Stream stream, unsigned count, Step* steps,        \
      unsigned flags)

inline constexpr unsigned kDmabuf = 1;  // a kind of handle of an address range

struct Own {
#define WEFT_ROW(member, symbol, ...) Entry<Error(__VA_ARGS__)> member;
  WEFT_CUDA_DRIVER_FUNCTIONS(WEFT_ROW)
#undef WEFT_ROW
  // Not of every driver: cuMemGetHandleForAddressRange.
  Entry<Error(void* file, Pointer base, std::size_t bytes, unsigned kind, unsigned long long flags)>
      range_handle;
};

}  // namespace weft::cuda::abi
