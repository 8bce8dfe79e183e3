// Functions that HIP's runtime has and CUDA's driver has not, or has otherwise.
#include "src/platform/hip/abi.hpp"
#include "tests/support/fake_gpu/state.hpp"

namespace weft::hip::abi {

// A definition that differs does not compile.
extern "C" {
#define WEFT_ROW(member, symbol, ...) \
  __attribute__((visibility("default"))) Error symbol(__VA_ARGS__);
WEFT_HIP_DRIVER_FUNCTIONS(WEFT_ROW)
#undef WEFT_ROW
__attribute__((visibility("default"))) const char* hipGetErrorName(Error error);
__attribute__((visibility("default"))) const char* hipGetErrorString(Error error);
}

using fake_gpu::Call;

namespace {

// GPU 0 is current in a thread that has not chosen.
int& current_device() {
  thread_local int device = 0;
  return device;
}

}  // namespace

// The runtime's words for what tests look at; nothing for the rest.
extern "C" const char* hipGetErrorName(Error error) {
  switch (error) {
    case Error::kInvalidValue: return "hipErrorInvalidValue";
    case Error::kOutOfMemory: return "hipErrorOutOfMemory";
    case Error::kNoDevice: return "hipErrorNoDevice";
    case Error::kOperatingSystem: return "hipErrorOperatingSystem";
    default: return nullptr;
  }
}

extern "C" __attribute__((visibility("default"))) Error hsa_amd_portable_export_dmabuf(
    const void* base, std::size_t bytes, int* file, std::uint64_t* offset) {
  return fake_gpu::export_dmabuf("cuMemGetHandleForAddressRange", pointer(base), bytes, file,
                                 offset);
}

extern "C" const char* hipGetErrorString(Error error) {
  return error == Error::kNoDevice ? "no ROCm-capable device is detected" : nullptr;
}

extern "C" Error hipRuntimeGetVersion(int* version) {
  Call call("hipRuntimeGetVersion", Call::Needs::kNothing);
  if (call.refused()) return call.error();
  *version = call->settings.version;
  return Error::kSuccess;
}

extern "C" Error hipDeviceComputeCapability(int* major, int* minor, Device device) {
  Call call("hipDeviceComputeCapability");
  if (call.refused()) return call.error();
  if (!fake_gpu::is_device(device)) return Error::kInvalidDevice;
  *major = 9;
  *minor = 0;
  return Error::kSuccess;
}

extern "C" Error hipSetDevice(Device device) {
  Call call("hipSetDevice");
  if (call.refused()) return call.error();
  if (!fake_gpu::is_device(device)) return Error::kInvalidDevice;
  current_device() = device;
  return Error::kSuccess;
}

extern "C" Error hipGetDevice(Device* device) {
  Call call("hipGetDevice");
  if (call.refused()) return call.error();
  *device = current_device();
  return Error::kSuccess;
}

extern "C" Error hipDeviceEnablePeerAccess(Device peer, unsigned flags) {
  Call call("hipDeviceEnablePeerAccess");
  if (call.refused()) return call.error();
  if (flags != 0) return Error::kInvalidValue;
  return fake_gpu::is_device(peer) ? fake_gpu::reach(peer) : Error::kInvalidDevice;
}

// Uncached memory is newer than fine-grained; of coarse-grained, Weft has no use.
extern "C" Error hipExtMallocWithFlags(void** memory, std::size_t bytes, unsigned flags) {
  const bool uncached = flags == kDeviceUncached && fake_gpu::state().settings.version >= 60000000;
  if (!uncached && flags != kDeviceFinegrained) return Error::kInvalidValue;
  Pointer found = 0;
  const Error error = fake_gpu::allocate(&found, bytes);
  *memory = address(found);
  return error;
}

extern "C" Error hipMemcpyAsync(void* dst, const void* src, std::size_t bytes, CopyKind kind,
                                Stream stream) {
  if (kind != CopyKind::kDefault) return Error::kInvalidValue;
  return fake_gpu::copy(pointer(dst), pointer(src), bytes, stream);
}

}  // namespace weft::hip::abi

namespace weft::fake_gpu {

int current() { return hip::abi::current_device(); }
std::size_t depth() { return 0; }  // nothing is ever pushed
unsigned memory_type(bool on_gpu) {
  const bool from_one = state().settings.version >= hip::abi::kCountsTypesFromOne;
  return (on_gpu ? 1 : 0) + (from_one ? 1 : 0);
}
bool knows(gpu::abi::AllocationType type) {
  return type == gpu::abi::AllocationType::kPinned ||
         (type == gpu::abi::AllocationType::kUncached &&
          state().settings.version >= hip::abi::kHasUncached);
}
int descriptor(void* shared) {
  return state().settings.version >= hip::abi::kTakesFdByValue
             ? static_cast<int>(reinterpret_cast<std::uintptr_t>(shared))
             : *static_cast<const int*>(shared);
}

}  // namespace weft::fake_gpu
