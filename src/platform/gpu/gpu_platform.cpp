#include "src/platform/gpu/gpu_platform.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>
#include <vector>

#include "src/base/log.hpp"
#include "src/base/status.hpp"
#include "src/platform/cpu/owned.hpp"
#include "src/platform/cpu/room.hpp"
#include "src/platform/gpu/chunk.hpp"
#include "src/platform/gpu/reservation.hpp"

namespace weft::gpu {
namespace {

using cpu::Owned;

// Through Owned, which is what share() takes the pointer for.
Memory hold(Range range, std::shared_ptr<Owned> owner) { return {range, std::move(owner)}; }

// Pages of the host that every GPU reaches at the host's own addresses.
class HostBlock final : public Owned {
 public:
  HostBlock(const Device& device, void* memory) : device_(device), memory_(memory) {}
  ~HostBlock() override {
    const auto scope = Scope::enter(device_);
    if (!scope) return;  // a child of fork(): it is the parent's
    const Status freed =
        device_.check(device_.call().host_free(memory_), "cuMemFreeHost", "free host memory");
    if (!freed.is_ok()) LOG(kWarn, "platform", "{}", freed.text());
  }

 private:
  const Device& device_;
  void* memory_;
};

}  // namespace

Blob GpuPlatform::identity() const {
  Blob blob(sizeof(Identity));
  std::memcpy(blob.data(), &device_->identity(), sizeof(Identity));
  return blob;
}

std::string GpuPlatform::why_not_mapped(const Blob& peer) const {
  if (peer.size() != sizeof(Identity)) {
    return "the peer's memory is not that of an NVIDIA GPU; do all PEs run the same build of Weft, "
           "on the same platform?";
  }
  Identity identity;
  std::memcpy(&identity, peer.data(), sizeof identity);
  if (const Status alive = device_->driver().check_process(); !alive.is_ok()) {
    return std::string(alive.text());
  }
  return device_->why_not_reached(identity);
}

Result<Memory> GpuPlatform::reserve(std::size_t bytes) {
  ASSIGN_OR_RETURN(auto reservation, Reservation::create(*device_, bytes));
  return hold(reservation->range(), reservation);
}

Result<Memory> GpuPlatform::commit(Range where, const MemoryHints&) {
  ASSIGN_OR_RETURN(auto chunk, Chunk::commit(*device_, where));
  return hold(where, std::move(chunk));
}

Result<Memory> GpuPlatform::adopt(Range own, Range) {
  return Status::error(
      Code::kUnsupported,
      fmt::format(
          "{} bytes at {} cannot become symmetric where they are: memory of a GPU cannot be "
          "adopted. Allocate it from the symmetric heap",
          own.bytes, fmt::ptr(own.base)));
}

Result<Blob> GpuPlatform::share(const Memory& memory) {
  auto* const chunk = dynamic_cast<Chunk*>(static_cast<Owned*>(memory.owner().get()));
  if (chunk == nullptr) {
    return Status::error(Code::kInvalidArgument,
                         fmt::format("{} bytes at {} are not a committed chunk of a GPU, so they "
                                     "cannot be shared",
                                     memory.bytes(), fmt::ptr(memory.base())));
  }
  return chunk->share();
}

Result<Memory> GpuPlatform::open(const Blob& blob, Range where) {
  ASSIGN_OR_RETURN(auto chunk, Chunk::open(*device_, blob, where));
  return hold(where, std::move(chunk));
}

Result<Memory> GpuPlatform::host_visible(std::size_t bytes) {
  if (bytes == 0) return Status::error(Code::kInvalidArgument, "0 bytes of host-visible memory");
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(*device_));
  void* memory = nullptr;
  RETURN_IF_ERROR(device_->check(
      device_->call().host_alloc(&memory, bytes, abi::kHostPortable | abi::kHostDeviceMapped),
      "cuMemHostAlloc", fmt::format("pin {} of host memory", cpu::show_bytes(bytes))));
  auto block = std::make_shared<HostBlock>(*device_, memory);
  std::memset(memory, 0, bytes);
  return hold({static_cast<std::byte*>(memory), bytes}, std::move(block));
}

Result<Stream> GpuPlatform::create_stream() {
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(*device_));
  Stream stream = nullptr;
  RETURN_IF_ERROR(device_->check(device_->call().stream_create(&stream, abi::kNonBlocking),
                                 "cuStreamCreate", "create a stream"));
  return stream;
}

Status GpuPlatform::destroy_stream(Stream stream) {
  if (stream == nullptr) {
    return Status::error(Code::kInvalidArgument,
                         "the default stream belongs to the GPU's context and cannot be destroyed");
  }
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(*device_));
  return device_->check(device_->call().stream_destroy(stream), "cuStreamDestroy",
                        "destroy a stream");
}

Status GpuPlatform::copy(void* dst, const void* src, std::size_t bytes, Stream stream) {
  if (bytes == 0) return Status::ok();
  if (dst == nullptr || src == nullptr) {
    return Status::error(Code::kInvalidArgument,
                         fmt::format("a copy of {} bytes from {} to {}", bytes, src, dst));
  }
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(*device_));
  return device_->check(device_->call().copy(abi::pointer(dst), abi::pointer(src), bytes, stream),
                        "cuMemcpyAsync", "queue a copy");
}

Status GpuPlatform::zero(Range where, Stream stream) {
  if (where.bytes == 0) return Status::ok();
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(*device_));
  return device_->check(device_->call().set_bytes(abi::pointer(where.base), 0, where.bytes, stream),
                        "cuMemsetD8Async", "queue the zeroing of memory");
}

Status GpuPlatform::synchronize(Stream stream) {
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(*device_));
  return device_->check(device_->call().stream_synchronize(stream), "cuStreamSynchronize",
                        "wait for a stream");
}

Status GpuPlatform::prepare(std::span<const Kernel* const> kernels) {
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(*device_));
  return kernels_.load(kernels);
}

Status GpuPlatform::launch(const Kernel& kernel, unsigned blocks, unsigned threads,
                           const void* argument, Stream stream) {
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(*device_));
  return kernels_.launch(kernel, blocks, threads, argument, stream);
}

Status GpuPlatform::word_steps(std::span<const WordStep> steps, Stream stream) {
  std::vector<abi::Step> all;
  for (const WordStep& step : steps) {
    const bool stores = step.kind == WordStep::Kind::kStore;
    abi::Step one{};
    one.type = stores ? abi::StepType::kWrite64 : abi::StepType::kWait64;
    one.word = abi::pointer(step.word);
    one.value = step.value;
    one.flags = step.kind == WordStep::Kind::kWaitEqual ? abi::kWaitEqual : abi::kWaitAtLeast;
    if (stores) one.flags = 0;
    all.push_back(one);
  }
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(*device_));
  return device_->check(
      device_->call().stream_steps(stream, static_cast<unsigned>(all.size()), all.data(), 0),
      "cuStreamBatchMemOp", "queue stores to and waits for words");
}

Result<bool> GpuPlatform::is_capturing(Stream stream) {
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(*device_));
  auto status = abi::CaptureStatus::kNone;
  RETURN_IF_ERROR(device_->check(device_->call().stream_capturing(stream, &status),
                                 "cuStreamIsCapturing", "ask whether a stream is captured"));
  return status != abi::CaptureStatus::kNone;
}

}  // namespace weft::gpu
