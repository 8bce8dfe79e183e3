// Our declarations of the CUDA driver API are cuda.h's. Compiled where there is one; nothing to
// run.
#include <cuda.h>

#include "src/platform/cuda/abi.hpp"
#include "tests/unit/platform/abi_alike.hpp"

namespace weft::cuda::abi {
namespace {

// cuda.h's own #defines lead from a name to its latest version, which the ones here end in.
#define WEFT_ROW(member, cuda, hip, ...)                                        \
  static_assert(SameFunction<decltype(Table::member), decltype(::cuda)>::value, \
                #cuda " differs from cuda.h");
WEFT_GPU_DRIVER_FUNCTIONS(WEFT_ROW)
#undef WEFT_ROW
#define WEFT_ROW(member, symbol, ...)                                           \
  static_assert(SameFunction<decltype(Own::member), decltype(::symbol)>::value, \
                #symbol " differs from cuda.h");
WEFT_CUDA_DRIVER_FUNCTIONS(WEFT_ROW)
#undef WEFT_ROW

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
static_assert(equal(Error::kNotReady, CUDA_ERROR_NOT_READY));
static_assert(equal(Error::kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS));
static_assert(equal(Error::kLaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT));
static_assert(equal(Error::kPeerAccessAlreadyEnabled, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED));
static_assert(equal(Error::kContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED));
static_assert(equal(Error::kAssert, CUDA_ERROR_ASSERT));
static_assert(equal(Error::kHardwareStackError, CUDA_ERROR_HARDWARE_STACK_ERROR));
static_assert(equal(Error::kInvalidPc, CUDA_ERROR_INVALID_PC));
static_assert(equal(Error::kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED));
static_assert(equal(Error::kNotPermitted, CUDA_ERROR_NOT_PERMITTED));
static_assert(equal(Error::kNotSupported, CUDA_ERROR_NOT_SUPPORTED));
static_assert(equal(Error::kSystemNotReady, CUDA_ERROR_SYSTEM_NOT_READY));
static_assert(equal(Error::kDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH));
static_assert(equal(Error::kCaptureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED));

static_assert(equal(Attribute::kComputeMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
static_assert(equal(Attribute::kComputeMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
static_assert(equal(Attribute::kHostPointersOfRegistered,
                    CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM));
static_assert(equal(Attribute::kRdmaOfVirtualMemory,
                    CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED));
static_assert(equal(Attribute::kStreamWords, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS));
static_assert(equal(PointerAttribute::kMemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE));
static_assert(equal(PointerAttribute::kBufferId, CU_POINTER_ATTRIBUTE_BUFFER_ID));
static_assert(equal(PointerAttribute::kIsManaged, CU_POINTER_ATTRIBUTE_IS_MANAGED));
static_assert(equal(PointerAttribute::kOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL));
static_assert(equal(kGpuMemory, CU_MEMORYTYPE_DEVICE));
static_assert(equal(CaptureStatus::kNone, CU_STREAM_CAPTURE_STATUS_NONE));
static_assert(equal(CaptureMode::kGlobal, CU_STREAM_CAPTURE_MODE_GLOBAL));
static_assert(equal(CaptureMode::kThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
static_assert(equal(CaptureMode::kRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED));
static_assert(equal(StepType::kWait64, CU_STREAM_MEM_OP_WAIT_VALUE_64));
static_assert(equal(StepType::kWrite64, CU_STREAM_MEM_OP_WRITE_VALUE_64));
static_assert(equal(kWaitAtLeast, CU_STREAM_WAIT_VALUE_GEQ));
static_assert(equal(kWaitEqual, CU_STREAM_WAIT_VALUE_EQ));

static_assert(equal(LocationType::kDevice, CU_MEM_LOCATION_TYPE_DEVICE));
static_assert(equal(AllocationType::kPinned, CU_MEM_ALLOCATION_TYPE_PINNED));
static_assert(equal(HandleType::kNone, CU_MEM_HANDLE_TYPE_NONE));
static_assert(equal(HandleType::kPosixFd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
#if CUDA_VERSION >= 12040
static_assert(equal(HandleType::kFabric, CU_MEM_HANDLE_TYPE_FABRIC));
static_assert(sizeof(Token) == sizeof(CUmemFabricHandle));
#endif
static_assert(equal(AccessFlags::kNone, CU_MEM_ACCESS_FLAGS_PROT_NONE));
static_assert(equal(AccessFlags::kReadWrite, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
static_assert(equal(Granularity::kMinimum, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
static_assert(equal(kHostPortable, CU_MEMHOSTALLOC_PORTABLE));
static_assert(equal(kHostDeviceMapped, CU_MEMHOSTALLOC_DEVICEMAP));
static_assert(equal(kNonBlocking, CU_STREAM_NON_BLOCKING));
static_assert(equal(kEnablePeerAccess, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));

static_assert(sizeof(Uuid) == sizeof(CUuuid) && sizeof(Token) == sizeof(CUipcMemHandle));
static_assert(std::is_same_v<Device, CUdevice> && std::is_same_v<Pointer, CUdeviceptr>);
static_assert(std::is_same_v<Handle, CUmemGenericAllocationHandle>);

static_assert(sizeof(Step) == sizeof(CUstreamBatchMemOpParams));
WEFT_SAME_MEMBER(Step, type, CUstreamBatchMemOpParams, waitValue.operation);
WEFT_SAME_MEMBER(Step, word, CUstreamBatchMemOpParams, waitValue.address);
WEFT_SAME_MEMBER(Step, value, CUstreamBatchMemOpParams, waitValue.value64);
WEFT_SAME_MEMBER(Step, flags, CUstreamBatchMemOpParams, waitValue.flags);
WEFT_SAME_MEMBER(Location, type, CUmemLocation, type);
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
}  // namespace weft::cuda::abi
