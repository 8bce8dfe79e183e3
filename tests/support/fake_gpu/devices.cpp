// The driver itself, and what it says of its GPUs.
#include <unistd.h>

#include <cstdio>

#include "tests/support/fake_gpu/state.hpp"

namespace weft::gpu::abi {

using fake_gpu::Call;
using fake_gpu::is_device;

extern "C" Error cuInit(unsigned flags) {
  Call call("cuInit", Call::Needs::kNothing);
  if (call.refused()) return call.error();
  if (flags != 0) return Error::kInvalidValue;
  if (call->process != 0 && call->process != ::getpid()) return Error::kNotInitialized;
  if (call->settings.devices == 0) return Error::kNoDevice;
  call->process = ::getpid();
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

extern "C" Error cuDeviceGetCount(int* count) {
  Call call("cuDeviceGetCount");
  if (call.refused()) return call.error();
  *count = call->settings.devices;
  return Error::kSuccess;
}

extern "C" Error cuDeviceGetName(char* name, int bytes, Device device) {
  Call call("cuDeviceGetName");
  if (call.refused()) return call.error();
  if (!is_device(device)) return Error::kInvalidDevice;
  std::snprintf(name, static_cast<std::size_t>(bytes), "Fake GPU %d", device);
  return Error::kSuccess;
}

extern "C" Error cuDeviceGetUuid_v2(Uuid* uuid, Device device) {
  Call call("cuDeviceGetUuid_v2");
  if (call.refused()) return call.error();
  if (!is_device(device)) return Error::kInvalidDevice;
  uuid->fill(static_cast<std::byte>(0xf0 + device));
  return Error::kSuccess;
}

extern "C" Error cuDeviceGetPCIBusId(char* bus, int bytes, Device device) {
  Call call("cuDeviceGetPCIBusId");
  if (call.refused()) return call.error();
  if (!is_device(device)) return Error::kInvalidDevice;
  std::snprintf(bus, static_cast<std::size_t>(bytes), "0000:%02x:00.0", 0x1b + device);
  return Error::kSuccess;
}

extern "C" Error cuDeviceTotalMem_v2(std::size_t* bytes, Device device) {
  Call call("cuDeviceTotalMem_v2");
  if (call.refused()) return call.error();
  if (!is_device(device)) return Error::kInvalidDevice;
  *bytes = call->settings.bytes;
  return Error::kSuccess;
}

extern "C" Error cuDeviceGetAttribute(int* value, Attribute attribute, Device device) {
  Call call("cuDeviceGetAttribute");
  if (call.refused()) return call.error();
  if (!is_device(device)) return Error::kInvalidDevice;
  if (call->settings.no_attribute.contains(static_cast<unsigned>(attribute))) {
    *value = 0;
  } else if (attribute == Attribute::kComputeMajor) {
    *value = 9;
  } else {
    *value = attribute == Attribute::kComputeMinor ? 0 : 1;
  }
  return Error::kSuccess;
}

extern "C" Error cuDeviceCanAccessPeer(int* can, Device device, Device peer) {
  Call call("cuDeviceCanAccessPeer");
  if (call.refused()) return call.error();
  if (!is_device(device) || !is_device(peer)) return Error::kInvalidDevice;
  *can = device != peer && fake_gpu::reaches(device, peer) ? 1 : 0;
  return Error::kSuccess;
}

}  // namespace weft::gpu::abi
