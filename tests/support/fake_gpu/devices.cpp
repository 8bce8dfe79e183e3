// The driver itself, and what it says of its GPUs.
#include <unistd.h>

#include <cstdio>

#include "tests/support/fake_gpu/state.hpp"

namespace weft::gpu::abi {

using fake_gpu::Call;
using fake_gpu::is_device;

extern "C" Error FAKE_NAME(cuInit, hipInit)(unsigned flags) {
  Call call("cuInit", Call::Needs::kNothing);
  if (call.refused()) return call.error();
  if (flags != 0) return Error::kInvalidValue;
  if (call->process != 0 && call->process != ::getpid()) return Error::kNotInitialized;
  if (call->settings.devices == 0) return Error::kNoDevice;
  call->process = ::getpid();
  return Error::kSuccess;
}

extern "C" Error FAKE_NAME(cuDeviceGetCount, hipGetDeviceCount)(int* count) {
  Call call("cuDeviceGetCount");
  if (call.refused()) return call.error();
  *count = call->settings.devices;
  return Error::kSuccess;
}

extern "C" Error FAKE_NAME(cuDeviceGetName, hipDeviceGetName)(char* name, int bytes,
                                                              Device device) {
  Call call("cuDeviceGetName");
  if (call.refused()) return call.error();
  if (!is_device(device)) return Error::kInvalidDevice;
  std::snprintf(name, static_cast<std::size_t>(bytes), "Fake GPU %d", device);
  return Error::kSuccess;
}

extern "C" Error FAKE_NAME(cuDeviceGetUuid_v2, hipDeviceGetUuid)(Uuid* uuid, Device device) {
  Call call("cuDeviceGetUuid_v2");
  if (call.refused()) return call.error();
  if (!is_device(device)) return Error::kInvalidDevice;
  uuid->fill(static_cast<std::byte>(0xf0 + device));
  return Error::kSuccess;
}

extern "C" Error FAKE_NAME(cuDeviceGetPCIBusId, hipDeviceGetPCIBusId)(char* bus, int bytes,
                                                                      Device device) {
  Call call("cuDeviceGetPCIBusId");
  if (call.refused()) return call.error();
  if (!is_device(device)) return Error::kInvalidDevice;
  std::snprintf(bus, static_cast<std::size_t>(bytes), "0000:%02x:00.0", 0x1b + device);
  return Error::kSuccess;
}

extern "C" Error FAKE_NAME(cuDeviceTotalMem_v2, hipDeviceTotalMem)(std::size_t* bytes,
                                                                   Device device) {
  Call call("cuDeviceTotalMem_v2");
  if (call.refused()) return call.error();
  if (!is_device(device)) return Error::kInvalidDevice;
  *bytes = call->settings.bytes;
  return Error::kSuccess;
}

extern "C" Error FAKE_NAME(cuDeviceCanAccessPeer, hipDeviceCanAccessPeer)(int* can, Device device,
                                                                          Device peer) {
  Call call("cuDeviceCanAccessPeer");
  if (call.refused()) return call.error();
  if (!is_device(device) || !is_device(peer)) return Error::kInvalidDevice;
  *can = device != peer && fake_gpu::reaches(device, peer) ? 1 : 0;
  return Error::kSuccess;
}

}  // namespace weft::gpu::abi
