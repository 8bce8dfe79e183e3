// Our declarations of the CUDA driver API are cuda.h's. Compiled where there is one; nothing to
// run.
#include <cuda.h>

#include <cstddef>
#include <type_traits>

#include "src/platform/gpu/abi.hpp"

namespace weft::gpu::abi {
namespace {

// Whether two types are passed alike in C: numbers and enumerations of one size, pointers to such,
// structures of one size, and any pointer where we have void*.
template <class Ours, class Theirs>
constexpr bool alike() {
  if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    using To = std::remove_pointer_t<Ours>;
    using Their = std::remove_pointer_t<Theirs>;
    if constexpr (std::is_void_v<To>) {
      return std::is_const_v<To> == std::is_const_v<Their>;
    } else if constexpr (std::is_void_v<Their>) {
      return false;
    } else {
      return std::is_const_v<To> == std::is_const_v<Their> &&
             alike<std::remove_const_t<To>, std::remove_const_t<Their>>();
    }
  } else if constexpr (std::is_class_v<Ours> &&
                       (std::is_class_v<Theirs> || std::is_union_v<Theirs>)) {
    return sizeof(Ours) == sizeof(Theirs) && alignof(Ours) <= alignof(Theirs);
  } else if constexpr (std::is_enum_v<Ours>) {
    return std::is_enum_v<Theirs> && sizeof(Ours) == sizeof(Theirs);
  } else {
    return std::is_same_v<Ours, Theirs>;
  }
}

template <class Ours, class Theirs>
struct SameFunction : std::false_type {};
template <class R, class... P, class S, class... Q>
requires(sizeof...(P) == sizeof...(Q)) struct SameFunction<R (*)(P...), S(Q...)>
    : std::bool_constant<alike<R, S>() && (alike<P, Q>() && ...)> {
};

// cuda.h's own #defines lead from a name to its latest version, which the ones here end in.
#define WEFT_ROW(member, symbol, ...)                                             \
  static_assert(SameFunction<decltype(Table::member), decltype(::symbol)>::value, \
                #symbol " differs from cuda.h");
WEFT_CUDA_DRIVER_FUNCTIONS(WEFT_ROW)
#undef WEFT_ROW

template <class Ours, class Theirs>
constexpr bool equal(Ours ours, Theirs theirs) {
  return static_cast<long long>(ours) == static_cast<long long>(theirs);
}

static_assert(equal(Error::kSuccess, CUDA_SUCCESS));
static_assert(equal(Error::kInvalidValue, CUDA_ERROR_INVALID_VALUE));
static_assert(equal(Error::kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY));
static_assert(equal(Error::kNotInitialized, CUDA_ERROR_NOT_INITIALIZED));
static_assert(equal(Error::kDeinitialized, CUDA_ERROR_DEINITIALIZED));
static_assert(equal(Error::kStubLibrary, CUDA_ERROR_STUB_LIBRARY));
static_assert(equal(Error::kNoDevice, CUDA_ERROR_NO_DEVICE));
static_assert(equal(Error::kInvalidDevice, CUDA_ERROR_INVALID_DEVICE));
static_assert(equal(Error::kInvalidContext, CUDA_ERROR_INVALID_CONTEXT));
static_assert(equal(Error::kPeerAccessUnsupported, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED));
static_assert(equal(Error::kOperatingSystem, CUDA_ERROR_OPERATING_SYSTEM));
static_assert(equal(Error::kInvalidHandle, CUDA_ERROR_INVALID_HANDLE));
static_assert(equal(Error::kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS));
static_assert(equal(Error::kLaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT));
static_assert(equal(Error::kContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED));
static_assert(equal(Error::kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED));
static_assert(equal(Error::kNotPermitted, CUDA_ERROR_NOT_PERMITTED));
static_assert(equal(Error::kNotSupported, CUDA_ERROR_NOT_SUPPORTED));
static_assert(equal(Error::kSystemNotReady, CUDA_ERROR_SYSTEM_NOT_READY));
static_assert(equal(Error::kDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH));

static_assert(equal(Attribute::kComputeMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
static_assert(equal(Attribute::kComputeMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
static_assert(equal(Attribute::kVirtualMemory,
                    CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED));
static_assert(equal(Attribute::kFdHandles,
                    CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED));
static_assert(equal(Attribute::kRdmaOfVirtualMemory,
                    CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED));
static_assert(equal(Attribute::kStreamWords, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS));
static_assert(equal(CaptureStatus::kNone, CU_STREAM_CAPTURE_STATUS_NONE));
static_assert(equal(StepType::kWait64, CU_STREAM_MEM_OP_WAIT_VALUE_64));
static_assert(equal(StepType::kWrite64, CU_STREAM_MEM_OP_WRITE_VALUE_64));
static_assert(equal(kWaitAtLeast, CU_STREAM_WAIT_VALUE_GEQ));
static_assert(equal(kWaitEqual, CU_STREAM_WAIT_VALUE_EQ));

static_assert(equal(LocationType::kDevice, CU_MEM_LOCATION_TYPE_DEVICE));
static_assert(equal(AllocationType::kPinned, CU_MEM_ALLOCATION_TYPE_PINNED));
static_assert(equal(HandleType::kNone, CU_MEM_HANDLE_TYPE_NONE));
static_assert(equal(HandleType::kPosixFd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
static_assert(equal(AccessFlags::kNone, CU_MEM_ACCESS_FLAGS_PROT_NONE));
static_assert(equal(AccessFlags::kReadWrite, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
static_assert(equal(Granularity::kMinimum, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
static_assert(equal(kHostPortable, CU_MEMHOSTALLOC_PORTABLE));
static_assert(equal(kHostDeviceMapped, CU_MEMHOSTALLOC_DEVICEMAP));
static_assert(equal(kNonBlocking, CU_STREAM_NON_BLOCKING));

static_assert(sizeof(Uuid) == sizeof(CUuuid));
static_assert(std::is_same_v<Device, CUdevice> && std::is_same_v<Pointer, CUdeviceptr>);
static_assert(std::is_same_v<Handle, CUmemGenericAllocationHandle>);

static_assert(sizeof(Step) == sizeof(CUstreamBatchMemOpParams));

#define WEFT_SAME_MEMBER(Ours, ours, Theirs, theirs)                \
  static_assert(offsetof(Ours, ours) == offsetof(Theirs, theirs) && \
                sizeof(Ours{}.ours) == sizeof(Theirs{}.theirs))
WEFT_SAME_MEMBER(Location, type, CUmemLocation, type);
WEFT_SAME_MEMBER(Step, type, CUstreamBatchMemOpParams, waitValue.operation);
WEFT_SAME_MEMBER(Step, word, CUstreamBatchMemOpParams, waitValue.address);
WEFT_SAME_MEMBER(Step, value, CUstreamBatchMemOpParams, waitValue.value64);
WEFT_SAME_MEMBER(Step, flags, CUstreamBatchMemOpParams, waitValue.flags);
WEFT_SAME_MEMBER(Location, id, CUmemLocation, id);
WEFT_SAME_MEMBER(Access, location, CUmemAccessDesc, location);
WEFT_SAME_MEMBER(Access, flags, CUmemAccessDesc, flags);
using Theirs = CUmemAllocationProp;
WEFT_SAME_MEMBER(AllocationProperties, type, Theirs, type);
WEFT_SAME_MEMBER(AllocationProperties, handle_types, Theirs, requestedHandleTypes);
WEFT_SAME_MEMBER(AllocationProperties, location, Theirs, location);
WEFT_SAME_MEMBER(AllocationProperties, windows_only, Theirs, win32HandleMetaData);
WEFT_SAME_MEMBER(AllocationProperties, flags, Theirs, allocFlags);
WEFT_SAME_MEMBER(AllocationProperties, flags.compression, Theirs, allocFlags.compressionType);
WEFT_SAME_MEMBER(AllocationProperties, flags.gpu_direct_rdma, Theirs,
                 allocFlags.gpuDirectRDMACapable);
WEFT_SAME_MEMBER(AllocationProperties, flags.usage, Theirs, allocFlags.usage);
WEFT_SAME_MEMBER(AllocationProperties, flags.reserved, Theirs, allocFlags.reserved);

}  // namespace
}  // namespace weft::gpu::abi
