// Functions that CUDA's driver has and HIP's has not, or has otherwise: contexts, above all.
#include <cstdint>
#include <thread>
#include <vector>

#include "src/platform/cuda/abi.hpp"
#include "tests/support/fake_gpu/state.hpp"

namespace weft::cuda::abi {

// A definition that differs does not compile.
extern "C" {
#define WEFT_ROW(member, symbol, ...) \
  __attribute__((visibility("default"))) Error symbol(__VA_ARGS__);
WEFT_CUDA_DRIVER_FUNCTIONS(WEFT_ROW)
#undef WEFT_ROW
}

using fake_gpu::Call;

namespace {

// The thread's contexts, by GPU; the last one is current.
std::vector<int>& contexts() {
  thread_local std::vector<int> stack;
  return stack;
}

Context context_of(int device) {
  static char contexts[64];
  return contexts + device;
}

// The GPU whose primary context that is, retained; -1: none.
int device_of(Context context) {
  for (const auto& [device, count] : fake_gpu::state().retained) {
    if (count > 0 && context_of(device) == context) return device;
  }
  return -1;
}

void carry_out(const Step& step) {
  auto* const word = reinterpret_cast<std::uint64_t*>(address(step.word));
  if (step.type == StepType::kWrite64) {
    __atomic_store_n(word, step.value, __ATOMIC_RELEASE);
    return;
  }
  for (;; std::this_thread::yield()) {
    const std::uint64_t seen = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    const auto above = static_cast<std::int64_t>(seen - step.value);
    if (step.flags == kWaitEqual ? above == 0 : above >= 0) return;
  }
}

}  // namespace

extern "C" Error cuDevicePrimaryCtxRetain(Context* context, Device device) {
  Call call("cuDevicePrimaryCtxRetain");
  if (call.refused()) return call.error();
  if (!fake_gpu::is_device(device)) return Error::kInvalidDevice;
  ++call->retained[device];
  call->reset.erase(device);
  *context = context_of(device);
  return Error::kSuccess;
}

// The effect of cudaDeviceReset(): all that belongs to contexts is gone, memory that is mapped by
// handles is not. A test has one GPU a process.
extern "C" __attribute__((visibility("default"))) Error cuDevicePrimaryCtxReset_v2(Device device) {
  std::map<Stream, std::unique_ptr<fake_gpu::Queue>> gone;  // outside the lock
  Call call("cuDevicePrimaryCtxReset_v2");
  if (call.refused()) return call.error();
  for (const auto& [stream, queue] : call->streams) call->dead.insert(stream);
  gone.swap(call->streams);
  fake_gpu::drop_allocations();
  for (const auto& [memory, bytes] : call->host_blocks)
    if (!call->registered.contains(memory)) fake_gpu::free_host(memory);
  call->host_blocks.clear();
  call->registered.clear();
  call->reset.insert(device);
  return Error::kSuccess;
}

extern "C" Error cuCtxPushCurrent_v2(Context context) {
  Call call("cuCtxPushCurrent_v2");
  if (call.refused()) return call.error();
  const int device = device_of(context);
  if (device < 0) return Error::kInvalidContext;
  contexts().push_back(device);
  return Error::kSuccess;
}

extern "C" Error cuCtxPopCurrent_v2(Context* context) {
  Call call("cuCtxPopCurrent_v2");
  if (call.refused()) return call.error();
  if (contexts().empty()) return Error::kInvalidContext;
  if (context != nullptr) *context = context_of(contexts().back());
  contexts().pop_back();
  return Error::kSuccess;
}

extern "C" Error cuCtxSetCurrent(Context context) {
  Call call("cuCtxSetCurrent");
  if (call.refused()) return call.error();
  const int device = device_of(context);
  if (context != nullptr && device < 0) return Error::kInvalidContext;
  if (!contexts().empty()) contexts().pop_back();
  if (context != nullptr) contexts().push_back(device);
  return Error::kSuccess;
}

extern "C" Error cuCtxGetDevice(Device* device) {
  Call call("cuCtxGetDevice", Call::Needs::kCurrent);
  if (call.refused()) return call.error();
  *device = contexts().back();
  return Error::kSuccess;
}

// The driver's words for what tests look at; a number for the rest.
extern "C" Error cuGetErrorName(Error error, const char** name) {
  switch (error) {
    case Error::kInvalidValue: *name = "CUDA_ERROR_INVALID_VALUE"; return Error::kSuccess;
    case Error::kOutOfMemory: *name = "CUDA_ERROR_OUT_OF_MEMORY"; return Error::kSuccess;
    case Error::kNoDevice: *name = "CUDA_ERROR_NO_DEVICE"; return Error::kSuccess;
    case Error::kOperatingSystem: *name = "CUDA_ERROR_OPERATING_SYSTEM"; return Error::kSuccess;
    case Error::kNotPermitted: *name = "CUDA_ERROR_NOT_PERMITTED"; return Error::kSuccess;
    default: *name = nullptr; return Error::kInvalidValue;
  }
}

extern "C" Error cuGetErrorString(Error error, const char** text) {
  *text = error == Error::kNoDevice ? "no CUDA-capable device is detected" : nullptr;
  return *text == nullptr ? Error::kInvalidValue : Error::kSuccess;
}

extern "C" Error cuDeviceGetAttribute(int* value, Attribute attribute, Device device) {
  Call call("cuDeviceGetAttribute");
  if (call.refused()) return call.error();
  if (!fake_gpu::is_device(device)) return Error::kInvalidDevice;
  switch (attribute) {
    case Attribute::kComputeMajor: *value = 9; break;
    case Attribute::kComputeMinor: *value = 0; break;
    case Attribute::kRdmaOfVirtualMemory:
    case Attribute::kHostPointersOfRegistered:
    case Attribute::kStreamWords: *value = 1; break;
  }
  return Error::kSuccess;
}

extern "C" Error cuCtxEnablePeerAccess(Context peer, unsigned flags) {
  Call call("cuCtxEnablePeerAccess", Call::Needs::kCurrent);
  if (call.refused()) return call.error();
  if (flags != 0) return Error::kInvalidValue;
  return device_of(peer) < 0 ? Error::kInvalidContext : fake_gpu::reach(device_of(peer));
}

extern "C" Error cuMemHostRegister_v2(void* memory, std::size_t bytes, unsigned flags) {
  Call call("cuMemHostRegister_v2", Call::Needs::kCurrent);
  if (call.refused()) return call.error();
  if (bytes == 0 || flags != (kHostPortable | kHostDeviceMapped)) return Error::kInvalidValue;
  if (bytes > call->settings.bytes) return Error::kOutOfMemory;
  call->host_blocks[memory] = bytes;
  call->registered.insert(memory);
  return Error::kSuccess;
}

extern "C" Error cuMemHostUnregister(void* memory) {
  Call call("cuMemHostUnregister", Call::Needs::kCurrent);
  if (call.refused()) return call.error();
  if (call->registered.erase(memory) == 0) return Error::kInvalidValue;
  call->host_blocks.erase(memory);
  return Error::kSuccess;
}

extern "C" Error cuMemAlloc_v2(Pointer* memory, std::size_t bytes) {
  return fake_gpu::allocate(memory, bytes);
}

extern "C" __attribute__((visibility("default"))) Error cuMemGetHandleForAddressRange(
    void* file, Pointer base, std::size_t bytes, unsigned kind, unsigned long long flags) {
  if (kind != kDmabuf || flags != 0) return Error::kInvalidValue;
  return fake_gpu::export_dmabuf(__func__, base, bytes, static_cast<int*>(file), nullptr);
}

extern "C" Error cuMemcpyAsync(Pointer dst, Pointer src, std::size_t bytes, Stream stream) {
  return fake_gpu::copy(dst, src, bytes, stream);
}

extern "C" Error cuStreamBatchMemOp_v2(Stream stream, unsigned count, Step* steps, unsigned flags) {
  if (flags != 0) return Error::kInvalidValue;
  for (const Step& step : std::vector<Step>(steps, steps + count)) {
    const Error error = fake_gpu::queue("cuStreamBatchMemOp_v2", stream, [=] { carry_out(step); },
                                        {{step.word, 8}});
    if (error != Error::kSuccess) return error;
  }
  return Error::kSuccess;
}

}  // namespace weft::cuda::abi

namespace weft::fake_gpu {

int current() {
  const auto& stack = cuda::abi::contexts();
  return stack.empty() ? -1 : stack.back();
}
std::size_t depth() { return cuda::abi::contexts().size(); }
unsigned memory_type(bool on_gpu) { return on_gpu ? cuda::abi::kGpuMemory : 1; }
bool knows(gpu::abi::AllocationType type) { return type == gpu::abi::AllocationType::kPinned; }
int descriptor(void* shared) { return static_cast<int>(reinterpret_cast<std::uintptr_t>(shared)); }

}  // namespace weft::fake_gpu
