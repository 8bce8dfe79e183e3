// Streams, what is queued on them, and pinned memory of the host.
#include <cstdlib>
#include <cstring>
#include <new>

#include "tests/support/fake_cuda/state.hpp"

namespace weft::cuda::abi {

using fake_cuda::Call;
using fake_cuda::check_reach;

namespace {

constexpr std::size_t kHostPage = 4096;

void* address(Pointer at) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(at)); }

Error check_stream(const Call& call, Stream stream) {
  const bool known = stream == nullptr || call->streams.contains(stream);
  return known ? Error::kSuccess : Error::kInvalidHandle;
}

}  // namespace

extern "C" Error cuStreamCreate(Stream* stream, unsigned flags) {
  Call call("cuStreamCreate", Call::Needs::kContext);
  if (call.refused()) return call.error();
  if (flags > kNonBlocking) return Error::kInvalidValue;
  *stream = new char;
  call->streams.insert(*stream);
  return Error::kSuccess;
}

extern "C" Error cuStreamDestroy_v2(Stream stream) {
  Call call("cuStreamDestroy_v2");
  if (call.refused()) return call.error();
  if (call->streams.erase(stream) == 0) return Error::kInvalidHandle;
  delete static_cast<char*>(stream);
  return Error::kSuccess;
}

extern "C" Error cuStreamSynchronize(Stream stream) {
  Call call("cuStreamSynchronize", Call::Needs::kContext);
  if (call.refused()) return call.error();
  return check_stream(call, stream);
}

// The memory is touched outside the lock, so that the race detectors see who races with whom.
extern "C" Error cuMemcpyAsync(Pointer dst, Pointer src, std::size_t bytes, Stream stream) {
  {
    Call call("cuMemcpyAsync", Call::Needs::kContext);
    if (call.refused()) return call.error();
    for (const Error error :
         {check_stream(call, stream), check_reach(dst, bytes), check_reach(src, bytes)}) {
      if (error != Error::kSuccess) return error;
    }
  }
  std::memmove(address(dst), address(src), bytes);
  return Error::kSuccess;
}

extern "C" Error cuMemsetD8Async(Pointer dst, unsigned char value, std::size_t count,
                                 Stream stream) {
  {
    Call call("cuMemsetD8Async", Call::Needs::kContext);
    if (call.refused()) return call.error();
    for (const Error error : {check_stream(call, stream), check_reach(dst, count)}) {
      if (error != Error::kSuccess) return error;
    }
  }
  std::memset(address(dst), value, count);
  return Error::kSuccess;
}

extern "C" Error cuMemHostAlloc(void** memory, std::size_t bytes, unsigned flags) {
  Call call("cuMemHostAlloc", Call::Needs::kContext);
  if (call.refused()) return call.error();
  if (bytes == 0 || flags > (kHostPortable | kHostDeviceMapped)) return Error::kInvalidValue;
  if (bytes > call->settings.bytes) return Error::kOutOfMemory;
  void* const got = ::operator new (bytes, std::align_val_t{kHostPage}, std::nothrow);
  if (got == nullptr) return Error::kOutOfMemory;
  std::memset(got, 0xd1, bytes);  // whoever wants zeros must write them
  call->host_blocks[got] = bytes;
  *memory = got;
  return Error::kSuccess;
}

extern "C" Error cuMemFreeHost(void* memory) {
  Call call("cuMemFreeHost");
  if (call.refused()) return call.error();
  if (call->host_blocks.erase(memory) == 0) return Error::kInvalidValue;
  ::operator delete (memory, std::align_val_t{kHostPage});
  return Error::kSuccess;
}

}  // namespace weft::cuda::abi
