// Primary contexts, and which is current in a thread.
#include "tests/support/fake_gpu/state.hpp"

namespace weft::gpu::abi {

using fake_gpu::Call;
using fake_gpu::contexts;

namespace {

// The GPU whose primary context that is, retained; -1: none.
int device_of(Context context) {
  for (const auto& [device, count] : fake_gpu::state().retained) {
    if (count > 0 && fake_gpu::context_of(device) == context) return device;
  }
  return -1;
}

}  // namespace

extern "C" Error cuDevicePrimaryCtxRetain(Context* context, Device device) {
  Call call("cuDevicePrimaryCtxRetain");
  if (call.refused()) return call.error();
  if (!fake_gpu::is_device(device)) return Error::kInvalidDevice;
  ++call->retained[device];
  *context = fake_gpu::context_of(device);
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
  Call call("cuCtxPopCurrent_v2", Call::Needs::kContext);
  if (call.refused()) return call.error();
  if (context != nullptr) *context = fake_gpu::context_of(contexts().back());
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
  Call call("cuCtxGetDevice", Call::Needs::kContext);
  if (call.refused()) return call.error();
  *device = contexts().back();
  return Error::kSuccess;
}

}  // namespace weft::gpu::abi
