// Streams, what is queued on them, and pinned memory of the host.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/fake_gpu/state.hpp"

namespace weft::fake_gpu {

using gpu::abi::address;

namespace {

constexpr std::size_t kHostPage = 4096;
constexpr auto kSpoiled = static_cast<Error>(901), kImplicit = static_cast<Error>(906);

// A thread's own stream is the default one here.
Stream known_as(Stream stream) { return stream == gpu::abi::kPerThreadStream ? nullptr : stream; }

// Whether a capture takes the work, or refuses it: the default stream waits for all others, so its
// work is none that may run beside a capture.
bool is_for_capture(State& all, Stream stream, Error* error) {
  if (stream == nullptr && !all.captures.empty()) {
    for (auto& [captured, capture] : all.captures) capture.is_spoiled = true;
    *error = kImplicit;
    return true;
  }
  const auto found = all.captures.find(known_as(stream));
  if (found == all.captures.end()) return false;
  ++found->second.works;
  *error = found->second.is_spoiled ? kSpoiled : Error::kSuccess;
  return true;
}

}  // namespace

// Runs `work` behind what the stream has; at once on the default stream. Called without the state's
// lock: what a stream does may need it, and the race detectors shall see who races with whom.
Error queue(const char* function, Stream stream, std::function<void()> work,
            std::initializer_list<std::pair<Pointer, std::size_t>> ranges) {
  fake_gpu::Queue* where = nullptr;
  {
    Call call(function, Call::Needs::kCurrent);
    if (call.refused()) return call.error();
    for (const auto& [base, bytes] : ranges)
      if (const Error error = check_reach(base, bytes); error != Error::kSuccess) return error;
    Error of_capture = Error::kSuccess;
    if (is_for_capture(state(), stream, &of_capture)) return of_capture;
    stream = known_as(stream);
    const auto known = call->streams.find(stream);
    if (stream != nullptr && known == call->streams.end()) return Error::kInvalidHandle;
    if (stream != nullptr) where = known->second.get();
  }
  if (where == nullptr)
    work();
  else
    where->add(std::move(work));
  return Error::kSuccess;
}

namespace {

template <class Word>
bool move_word(void* dst, const void* src) {
  const auto at = reinterpret_cast<std::uintptr_t>(dst) | reinterpret_cast<std::uintptr_t>(src);
  if (at % sizeof(Word) != 0) return false;
  __atomic_store_n(static_cast<Word*>(dst),
                   __atomic_load_n(static_cast<const Word*>(src), __ATOMIC_ACQUIRE),
                   __ATOMIC_RELEASE);
  return true;
}

// A word is moved as one, since kernels may be waiting for it.
void move_bytes(void* dst, const void* src, std::size_t bytes) {
  const bool moved = (bytes == 8 && move_word<std::uint64_t>(dst, src)) ||
                     (bytes == 4 && move_word<std::uint32_t>(dst, src)) ||
                     (bytes == 2 && move_word<std::uint16_t>(dst, src)) ||
                     (bytes == 1 && move_word<std::uint8_t>(dst, src));
  if (!moved) std::memmove(dst, src, bytes);
}

}  // namespace

void free_host(void* memory) { ::operator delete (memory, std::align_val_t{kHostPage}); }

Error copy(Pointer dst, Pointer src, std::size_t bytes, Stream stream) {
  return queue("cuMemcpyAsync", stream, [=] { move_bytes(address(dst), address(src), bytes); },
               {{dst, bytes}, {src, bytes}});
}

}  // namespace weft::fake_gpu

// No code for a GPU runs here: Weft gives kernels to streams as functions of the host. The argument
// is released when the function has run, or never will: refused, or kept by a capture.
extern "C" __attribute__((visibility("default"))) weft::gpu::abi::Error weft_host_function(
    weft::Stream stream, void (*function)(void*), void* argument, void (*release)(void*)) {
  const std::shared_ptr<void> owned(argument, release);
  return weft::fake_gpu::queue("weft_host_function", stream, [=] { function(owned.get()); }, {});
}

namespace weft::gpu::abi {

using fake_gpu::Call;

extern "C" Error FAKE_NAME(cuStreamCreate, hipStreamCreateWithFlags)(Stream* stream,
                                                                     unsigned flags) {
  Call call("cuStreamCreate", Call::Needs::kCurrent);
  if (call.refused()) return call.error();
  if (flags > kNonBlocking) return Error::kInvalidValue;
  auto made = std::make_unique<fake_gpu::Queue>();
  *stream = made.get();
  call->dead.erase(*stream);
  call->streams[*stream] = std::move(made);
  return Error::kSuccess;
}

extern "C" Error FAKE_NAME(cuStreamDestroy_v2, hipStreamDestroy)(Stream stream) {
  std::unique_ptr<fake_gpu::Queue> gone;  // outside the lock, which its work may need
  Call call("cuStreamDestroy_v2");
  if (call->dead.contains(stream)) std::abort();
  if (call.refused()) return call.error();
  const auto known = call->streams.find(stream);
  if (known == call->streams.end()) return Error::kInvalidHandle;
  gone = std::move(known->second);
  call->streams.erase(known);
  return Error::kSuccess;
}

// A stream that is captured cannot be waited for, whatever the mode.
Error refused_by_capture(fake_gpu::State& all, Stream stream) {
  const auto found = all.captures.find(stream);
  if (found == all.captures.end()) return Error::kSuccess;
  found->second.is_spoiled = true;
  return Error::kCaptureUnsupported;
}

// One that is made to fail has waited like any other: what it was to wait for does not go on in
// memory that the caller then gives back. A call that a capture forbids fails at once.
extern "C" Error FAKE_NAME(cuStreamSynchronize, hipStreamSynchronize)(Stream stream) {
  fake_gpu::Queue* where = nullptr;
  Error result = Error::kSuccess;
  {
    Call call("cuStreamSynchronize", Call::Needs::kCurrent);
    if (call.refused()) result = call.error();
    if (result == Error::kCaptureUnsupported) return result;
    stream = fake_gpu::known_as(stream);
    if (const Error no = refused_by_capture(*call.operator->(), stream); no != Error::kSuccess)
      return no;
    const auto known = call->streams.find(stream);
    if (known != call->streams.end()) where = known->second.get();
  }
  if (where != nullptr) {
    where->synchronize();
  } else if (stream != nullptr && result == Error::kSuccess) {
    result = Error::kInvalidHandle;
  }
  return result;
}

extern "C" Error FAKE_NAME(cuStreamQuery, hipStreamQuery)(Stream stream) {
  Call call("cuStreamQuery", Call::Needs::kCurrent);
  if (call.refused()) return call.error();
  stream = fake_gpu::known_as(stream);
  if (const Error no = refused_by_capture(*call.operator->(), stream); no != Error::kSuccess)
    return no;
  const auto known = call->streams.find(stream);
  if (known == call->streams.end())
    return stream == nullptr ? Error::kSuccess : Error::kInvalidHandle;
  return known->second->is_idle() ? Error::kSuccess : Error::kNotReady;
}

extern "C" Error FAKE_NAME(cuMemsetD8Async, hipMemsetD8Async)(Pointer dst, unsigned char value,
                                                              std::size_t count, Stream stream) {
  return fake_gpu::queue("cuMemsetD8Async", stream,
                         [=] { std::memset(address(dst), value, count); }, {{dst, count}});
}

extern "C" Error FAKE_NAME(cuStreamIsCapturing, hipStreamIsCapturing)(Stream stream,
                                                                      CaptureStatus* status) {
  Call call("cuStreamIsCapturing", Call::Needs::kCurrent);
  if (call.refused()) return call.error();
  const bool is_captured = call->captures.contains(fake_gpu::known_as(stream));
  *status = is_captured ? static_cast<CaptureStatus>(1) : CaptureStatus::kNone;
  return Error::kSuccess;
}

extern "C" Error FAKE_NAME(cuThreadExchangeStreamCaptureMode,
                           hipThreadExchangeStreamCaptureMode)(CaptureMode* mode) {
  Call call("cuThreadExchangeStreamCaptureMode");
  if (call.refused()) return call.error();
  if (*mode > CaptureMode::kRelaxed) return Error::kInvalidValue;
  std::swap(*mode, fake_gpu::capture_mode());
  return Error::kSuccess;
}

// For programs; Weft makes no captures. A graph is how much was kept.
#define FAKE_DRIVER extern "C" __attribute__((visibility("default")))

FAKE_DRIVER Error FAKE_NAME(cuStreamBeginCapture_v2, hipStreamBeginCapture)(Stream stream,
                                                                            CaptureMode mode) {
  Call call("cuStreamBeginCapture_v2", Call::Needs::kCurrent);
  if (call.refused()) return call.error();
  if (stream == nullptr) return Error::kCaptureUnsupported;
  call->captures[fake_gpu::known_as(stream)] = {mode, std::this_thread::get_id()};
  return Error::kSuccess;
}

FAKE_DRIVER Error FAKE_NAME(cuStreamEndCapture, hipStreamEndCapture)(Stream stream, void** graph) {
  Call call("cuStreamEndCapture", Call::Needs::kCurrent);
  if (call.refused()) return call.error();
  const auto found = call->captures.find(fake_gpu::known_as(stream));
  if (found == call->captures.end()) return Error::kInvalidValue;
  const fake_gpu::Capture made = found->second;
  call->captures.erase(found);
  *graph = nullptr;
  if (made.is_spoiled) return fake_gpu::kSpoiled;
  *graph = new std::size_t(made.works);
  return Error::kSuccess;
}

FAKE_DRIVER Error FAKE_NAME(cuGraphDestroy, hipGraphDestroy)(void* graph) {
  delete static_cast<std::size_t*>(graph);
  return Error::kSuccess;
}

#undef FAKE_DRIVER

extern "C" Error FAKE_NAME(cuMemHostAlloc, hipHostMalloc)(void** memory, std::size_t bytes,
                                                          unsigned flags) {
  Call call("cuMemHostAlloc", Call::Needs::kCurrent);
  if (call.refused()) return call.error();
  if (bytes == 0 || (flags & 3) != (kHostPortable | kHostDeviceMapped)) return Error::kInvalidValue;
  if (bytes > call->settings.bytes) return Error::kOutOfMemory;
  void* const got = ::operator new (bytes, std::align_val_t{fake_gpu::kHostPage}, std::nothrow);
  if (got == nullptr) return Error::kOutOfMemory;
  std::memset(got, 0xd1, bytes);  // whoever wants zeros must write them
  call->host_blocks[got] = bytes;
  *memory = got;
  return Error::kSuccess;
}

extern "C" Error FAKE_NAME(cuMemFreeHost, hipHostFree)(void* memory) {
  Call call("cuMemFreeHost");
  if (call.refused()) return call.error();
  if (call->host_blocks.erase(memory) == 0) return Error::kInvalidValue;
  fake_gpu::free_host(memory);
  return Error::kSuccess;
}

}  // namespace weft::gpu::abi
