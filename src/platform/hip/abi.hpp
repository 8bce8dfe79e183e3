// The part of HIP's runtime, which is AMD's driver, that CUDA's driver has not, or has otherwise.
// Only what every ROCm from 5.1 on numbers and lays out alike: no attributes of devices, no
// properties.
#pragma once

#include "src/platform/gpu/abi.hpp"

namespace weft::hip::abi {

// All of what both have, and more.
using namespace gpu::abi;  // NOLINT(google-build-using-namespace)

enum class CopyKind : unsigned { kDefault = 4 };                        // by the addresses
inline constexpr unsigned kDeviceFinegrained = 1, kDeviceUncached = 3;  // flags of allocate
inline constexpr unsigned kHostCoherent = 0x40000000;                   // flag of host_alloc
// Versions: of ROCm 7.0, where the properties of created memory may say so, and of 7.1.
inline constexpr int kHasUncached = 70000000, kTakesFdByValue = 70100000;
// The version of ROCm 6.0: PointerAttribute::kMemoryType of a GPU's memory is 2, and was 1 before.
inline constexpr int kCountsTypesFromOne = 60000000;

// ROW(member of Table, name in the library, parameters)
#define WEFT_HIP_DRIVER_FUNCTIONS(ROW)                                                    \
  ROW(runtime_version, hipRuntimeGetVersion, int* version)                                \
  ROW(device_version, hipDeviceComputeCapability, int* major, int* minor, Device device)  \
  ROW(device_set, hipSetDevice, Device device)                                            \
  ROW(device_get, hipGetDevice, Device* device)                                           \
  ROW(device_reach, hipDeviceEnablePeerAccess, Device peer, unsigned flags)               \
  ROW(allocate, hipExtMallocWithFlags, void** memory, std::size_t bytes, unsigned flags)  \
  ROW(copy, hipMemcpyAsync, void* dst, const void* src, std::size_t bytes, CopyKind kind, \
      Stream stream)

struct Own {
#define WEFT_ROW(member, symbol, ...) Entry<Error(__VA_ARGS__)> member;
  WEFT_HIP_DRIVER_FUNCTIONS(WEFT_ROW)
#undef WEFT_ROW
  // hsa_amd_portable_export_dmabuf of the HSA runtime, on which HIP's stands; not every one has it.
  // It answers by numbers of its own, of which 0 is success.
  Entry<Error(const void* base, std::size_t bytes, int* file, std::uint64_t* offset)> export_dmabuf;
  const char* (*error_name)(Error error);  // hipGetErrorName
  const char* (*error_text)(Error error);  // hipGetErrorString
};

}  // namespace weft::hip::abi
