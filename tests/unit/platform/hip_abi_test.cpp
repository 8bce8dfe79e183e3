// Our declarations of HIP's runtime API are those of hip_runtime_api.h. Compiled where there is
// one, of whatever ROCm; nothing to run.
#define __HIP_DISABLE_CPP_FUNCTIONS__  // templates that lead to functions of the same names
#include <hip/hip_runtime_api.h>

#include "src/platform/hip/abi.hpp"
#include "tests/unit/platform/abi_alike.hpp"

namespace weft::hip::abi {
namespace {

#define WEFT_ROW(member, cuda, hip, ...)                                       \
  static_assert(SameFunction<decltype(Table::member), decltype(::hip)>::value, \
                #hip " differs from hip_runtime_api.h");
WEFT_GPU_DRIVER_FUNCTIONS(WEFT_ROW)
#undef WEFT_ROW
#define WEFT_ROW(member, symbol, ...)                                           \
  static_assert(SameFunction<decltype(Own::member), decltype(::symbol)>::value, \
                #symbol " differs from hip_runtime_api.h");
WEFT_HIP_DRIVER_FUNCTIONS(WEFT_ROW)
#undef WEFT_ROW

static_assert(equal(Error::kSuccess, hipSuccess));
static_assert(equal(Error::kInvalidValue, hipErrorInvalidValue));
static_assert(equal(Error::kOutOfMemory, hipErrorOutOfMemory));
static_assert(equal(Error::kNotInitialized, hipErrorNotInitialized));
static_assert(equal(Error::kDeinitialized, hipErrorDeinitialized));
static_assert(equal(Error::kInsufficientDriver, hipErrorInsufficientDriver));
static_assert(equal(Error::kNoDevice, hipErrorNoDevice));
static_assert(equal(Error::kInvalidDevice, hipErrorInvalidDevice));
static_assert(equal(Error::kInvalidContext, hipErrorInvalidContext));
static_assert(equal(Error::kPeerAccessUnsupported, hipErrorPeerAccessUnsupported));
static_assert(equal(Error::kOperatingSystem, hipErrorOperatingSystem));
static_assert(equal(Error::kInvalidHandle, hipErrorInvalidHandle));
static_assert(equal(Error::kIllegalAddress, hipErrorIllegalAddress));
static_assert(equal(Error::kLaunchTimeout, hipErrorLaunchTimeOut));
static_assert(equal(Error::kPeerAccessAlreadyEnabled, hipErrorPeerAccessAlreadyEnabled));
static_assert(equal(Error::kContextIsDestroyed, hipErrorContextIsDestroyed));
static_assert(equal(Error::kLaunchFailed, hipErrorLaunchFailure));
static_assert(equal(Error::kNotSupported, hipErrorNotSupported));

static_assert(equal(LocationType::kDevice, hipMemLocationTypeDevice));
static_assert(equal(AllocationType::kPinned, hipMemAllocationTypePinned));
static_assert(equal(HandleType::kNone, hipMemHandleTypeNone));
static_assert(equal(HandleType::kPosixFd, hipMemHandleTypePosixFileDescriptor));
static_assert(equal(AccessFlags::kNone, hipMemAccessFlagsProtNone));
static_assert(equal(AccessFlags::kReadWrite, hipMemAccessFlagsProtReadWrite));
static_assert(equal(Granularity::kMinimum, hipMemAllocationGranularityMinimum));
static_assert(equal(CopyKind::kDefault, hipMemcpyDefault));
static_assert(equal(PointerAttribute::kMemoryType, HIP_POINTER_ATTRIBUTE_MEMORY_TYPE));
static_assert(equal(PointerAttribute::kIsManaged, HIP_POINTER_ATTRIBUTE_IS_MANAGED));
static_assert(equal(PointerAttribute::kOrdinal, HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL));
static_assert(HIP_VERSION >= kCountsTypesFromOne ? equal(2, hipMemoryTypeDevice)
                                                 : equal(1, hipMemoryTypeDevice));
static_assert(equal(CaptureStatus::kNone, hipStreamCaptureStatusNone));
static_assert(equal(kHostPortable, hipHostMallocPortable));
static_assert(equal(kHostDeviceMapped, hipHostMallocMapped));
static_assert(equal(kHostCoherent, hipHostMallocCoherent));
static_assert(equal(kNonBlocking, hipStreamNonBlocking));
static_assert(equal(kDeviceFinegrained, hipDeviceMallocFinegrained));
#ifdef hipDeviceMallocUncached
static_assert(equal(kDeviceUncached, hipDeviceMallocUncached));
#endif
#if HIP_VERSION >= 60000000  // before, the header said 0, and the function looked at nothing
static_assert(equal(kEnablePeerAccess, hipIpcMemLazyEnablePeerAccess));
#endif
#if HIP_VERSION >= 70200000
static_assert(equal(AllocationType::kUncached, hipMemAllocationTypeUncached));
#endif

static_assert(sizeof(Uuid) == sizeof(hipUUID) && sizeof(Token) == sizeof(hipIpcMemHandle_t));
static_assert(sizeof(Pointer) == sizeof(hipDeviceptr_t) && std::is_same_v<Device, hipDevice_t>);
static_assert(sizeof(Handle) == sizeof(hipMemGenericAllocationHandle_t));

WEFT_SAME_MEMBER(Location, type, hipMemLocation, type);
WEFT_SAME_MEMBER(Location, id, hipMemLocation, id);
WEFT_SAME_MEMBER(Access, location, hipMemAccessDesc, location);
WEFT_SAME_MEMBER(Access, flags, hipMemAccessDesc, flags);
#if HIP_VERSION >= 60000000  // before, it was laid out otherwise, and is not used
using Theirs = hipMemAllocationProp;
static_assert(sizeof(AllocationProperties) == sizeof(Theirs));
WEFT_SAME_MEMBER(AllocationProperties, type, Theirs, type);
WEFT_SAME_MEMBER(AllocationProperties, location, Theirs, location);
WEFT_SAME_MEMBER(AllocationProperties, windows_only, Theirs, win32HandleMetaData);
WEFT_SAME_MEMBER(AllocationProperties, flags.compression, Theirs, allocFlags.compressionType);
WEFT_SAME_MEMBER(AllocationProperties, flags.gpu_direct_rdma, Theirs,
                 allocFlags.gpuDirectRDMACapable);
WEFT_SAME_MEMBER(AllocationProperties, flags.usage, Theirs, allocFlags.usage);
#endif

}  // namespace
}  // namespace weft::hip::abi
