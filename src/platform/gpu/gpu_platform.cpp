#include "src/platform/gpu/gpu_platform.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <utility>
#include <vector>

#include "src/base/round_up.hpp"
#include "src/base/status.hpp"
#include "src/platform/cpu/owned.hpp"
#include "src/platform/cpu/available_memory.hpp"
#include "src/platform/gpu/adoption.hpp"
#include "src/platform/gpu/block.hpp"
#include "src/platform/gpu/chunk.hpp"
#include "src/platform/gpu/reservation.hpp"

namespace weft::gpu {
namespace {

using cpu::Owned;

// Through Owned, which is what share() takes the pointer for.
Memory hold(Range range, std::shared_ptr<Owned> owner) { return {range, std::move(owner)}; }

// The facts that a PE tells the others of its GPU.
struct Introduction {
  Identity gpu;
  Kind kind{};
  Way way{};
};

// Pages of the host that every GPU reaches at the host's own addresses: this process's own where
// the driver takes those, so that they outlive a reset of the GPU (cudaDeviceReset), which host
// threads that poll them do not hear of; else the driver's.
class HostBlock final : public Owned {
 public:
  static Result<std::shared_ptr<HostBlock>> create(const Device& device, std::size_t bytes) {
    if (void* const own = register_own(device, bytes); own != nullptr)
      return std::make_shared<HostBlock>(device, own, bytes);
    void* memory = nullptr;
    RETURN_IF_ERROR(device.check(device.driver().allocate_host(&memory, bytes),
                                 fmt::format("pin {} of host memory", cpu::show_bytes(bytes))));
    std::memset(memory, 0, bytes);
    return std::make_shared<HostBlock>(device, memory, 0);
  }
  // own_bytes 0: the driver's.
  HostBlock(const Device& device, void* memory, std::size_t own_bytes)
      : device_(device), memory_(memory), own_bytes_(own_bytes) {}
  ~HostBlock() override {
    if (const auto scope = Scope::to_release(device_)) {
      const Driver& driver = device_.driver();
      device_.warn(
          own_bytes_ != 0 ? driver.unregister_host(memory_) : device_.call().host_free(memory_),
          "free host memory");
    }
    if (own_bytes_ != 0) ::munmap(memory_, own_bytes_);
  }
  std::byte* memory() const { return static_cast<std::byte*>(memory_); }

 private:
  // Shared, since a fork() would give this process other pages than the GPU has. Null: not so.
  static void* register_own(const Device& device, std::size_t bytes) {
    const Driver& driver = device.driver();
    if (!driver.registers_host(device.ordinal())) return nullptr;
    void* const own =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (own == MAP_FAILED) return nullptr;
    if (driver.register_host(own, bytes).error == abi::Error::kSuccess) return own;
    ::munmap(own, bytes);
    return nullptr;
  }

  const Device& device_;
  void* const memory_;
  const std::size_t own_bytes_;
};

// Which GPU a peer has; an error if its memory does not reach this process as that of `mine` does.
Result<Identity> shared_alike(const Device& mine, const Blob& peer) {
  Introduction theirs;
  if (peer.size() == sizeof theirs) std::memcpy(&theirs, peer.data(), sizeof theirs);
  if (peer.size() != sizeof theirs || theirs.kind != mine.driver().kind()) {
    return Status::error(
        Code::kUnsupported,
        fmt::format("the peer's memory is not that of a GPU of {}; do all PEs run the same build "
                    "of Weft, on the same platform?",
                    mine.driver().words().vendor));
  }
  if (theirs.way != mine.way()) {
    return Status::error(
        Code::kUnsupported,
        fmt::format(
            "the peer shares its GPU's memory by {} and this PE by {}, since the system refuses "
            "one of them the other way; give all PEs of a host the same sandbox, container and "
            "driver",
            to_string(theirs.way), to_string(mine.way())));
  }
  RETURN_IF_ERROR(mine.driver().check_process());
  return theirs.gpu;
}

}  // namespace

Blob GpuPlatform::identity() const {
  const Introduction mine{device_->identity(), device_->driver().kind(), device_->way()};
  Blob blob(sizeof mine);
  std::memcpy(blob.data(), &mine, sizeof mine);
  return blob;
}

std::string GpuPlatform::why_not_mapped(const Blob& peer) const {
  const auto gpu = shared_alike(*device_, peer);
  return gpu ? device_->why_not_reached(*gpu) : std::string(gpu.status().text());
}

std::string GpuPlatform::why_not_owned(const Blob& peer) const {
  const auto gpu = shared_alike(*device_, peer);
  if (!gpu) return std::string(gpu.status().text());
  return std::string(device_->find(*gpu).status().text());
}

Result<Platform*> GpuPlatform::owner(const Blob& peer) {
  ASSIGN_OR_RETURN(const Identity gpu, shared_alike(*device_, peer));
  ASSIGN_OR_RETURN(const int ordinal, device_->find(gpu));
  return platform(library_, ordinal);
}

Result<Memory> GpuPlatform::reserve(std::size_t bytes) {
  if (!maps_where_told()) {
    ASSIGN_OR_RETURN(auto block, Block::create(*device_, bytes));
    return hold(block->range(), block);
  }
  ASSIGN_OR_RETURN(auto reservation, Reservation::create(*device_, bytes));
  return hold(reservation->range(), reservation);
}

Result<Memory> GpuPlatform::commit(Range where, const MemoryHints&) {
  if (!maps_where_told()) {
    ASSIGN_OR_RETURN(auto part, Part::commit(*device_, where));
    return hold(where, std::move(part));
  }
  ASSIGN_OR_RETURN(auto chunk, Chunk::commit(*device_, where));
  return hold(where, std::move(chunk));
}

bool GpuPlatform::is_device_memory(const void* address) const {
  const auto scope = Scope::enter(*device_);
  return scope && device_->driver().owner_of(address) >= 0;
}

Result<Memory> GpuPlatform::adopt(Range own, Range) {
  ASSIGN_OR_RETURN(auto adoption, Adoption::make(*device_, own));
  return hold(own, std::move(adoption));
}

bool GpuPlatform::is_current(const Memory& adopted) const {
  const auto* const adoption =
      dynamic_cast<const Adoption*>(static_cast<Owned*>(adopted.owner().get()));
  return adoption != nullptr && adoption->is_current();
}

Result<Blob> GpuPlatform::share(const Memory& memory) {
  auto* const shared = dynamic_cast<Shared*>(static_cast<Owned*>(memory.owner().get()));
  if (shared == nullptr) {
    return Status::error(Code::kInvalidArgument,
                         fmt::format("{} bytes at {} are not a committed chunk of a GPU, so they "
                                     "cannot be shared",
                                     memory.bytes(), fmt::ptr(memory.base())));
  }
  return shared->share();
}

Result<Memory> GpuPlatform::open(const Blob& blob, Range where) {
  if (Adoption::is_shared_by(blob)) return Adoption::open(*device_, blob, where.bytes);
  if (!maps_where_told()) return Part::open(*device_, blob, where.bytes);
  ASSIGN_OR_RETURN(auto chunk, Chunk::open(*device_, blob, where));
  return hold(where, std::move(chunk));
}

// Drivers export whole pages.
Result<Dmabuf> GpuPlatform::export_dmabuf(Range memory) const {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t skipped = reinterpret_cast<std::uintptr_t>(memory.base) % page;
  const Range pages{memory.base - skipped, round_up(memory.bytes + skipped, page)};
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(*device_));
  int file = -1;
  std::uint64_t offset = 0;
  RETURN_IF_ERROR(device_->driver().export_dmabuf(pages, file, offset));
  return Dmabuf{UniqueFd(file), offset + skipped};
}

Result<Memory> GpuPlatform::host_visible(std::size_t bytes) {
  if (bytes == 0) return Status::error(Code::kInvalidArgument, "0 bytes of host-visible memory");
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(*device_));
  ASSIGN_OR_RETURN(auto block, HostBlock::create(*device_, bytes));
  const Range range{block->memory(), bytes};
  return hold(range, std::move(block));
}

Result<Stream> GpuPlatform::create_stream() {
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(*device_));
  Stream stream = nullptr;
  RETURN_IF_ERROR(
      device_->check(device_->call().stream_create(&stream, abi::kNonBlocking), "create a stream"));
  if (Status begun = kernels_.begin(stream); !begun.is_ok()) {
    device_->check(device_->call().stream_destroy(stream), "destroy a stream").ignore();
    return begun;
  }
  return stream;
}

Status GpuPlatform::destroy_stream(Stream stream) {
  if (stream == nullptr) {
    return Status::error(Code::kInvalidArgument,
                         "the default stream belongs to the GPU's context and cannot be destroyed");
  }
  RETURN_IF_ERROR(device_->driver().check_process());
  const auto scope = Scope::to_release(*device_);
  if (!scope) return Status::ok();  // it went with its context
  return device_->check(device_->call().stream_destroy(stream), "destroy a stream");
}

Status GpuPlatform::copy(void* dst, const void* src, std::size_t bytes, Stream stream) {
  if (bytes == 0) return Status::ok();
  if (dst == nullptr || src == nullptr) {
    return Status::error(Code::kInvalidArgument,
                         fmt::format("a copy of {} bytes from {} to {}", bytes, src, dst));
  }
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(*device_));
  return device_->check(device_->driver().copy(dst, src, bytes, stream), "queue a copy");
}

Status GpuPlatform::zero(Range where, Stream stream) {
  if (where.bytes == 0) return Status::ok();
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(*device_));
  return device_->check(device_->call().set_bytes(abi::pointer(where.base), 0, where.bytes, stream),
                        "queue the zeroing of memory");
}

Status GpuPlatform::synchronize(Stream stream) {
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(*device_));
  return device_->finish(stream, "wait for a stream");
}

Status GpuPlatform::prepare(std::span<const Kernel* const> kernels, const Kernel& nothing) {
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(*device_));
  RETURN_IF_ERROR(kernels_.load(kernels, nothing));
  ASSIGN_OR_RETURN(const bool captured, is_capturing(abi::kPerThreadStream));
  return captured ? Status::ok() : kernels_.begin(abi::kPerThreadStream);
}

Status GpuPlatform::launch(const Kernel& kernel, unsigned blocks, unsigned threads,
                           const void* argument, Stream stream) {
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(*device_));
  return kernels_.launch(kernel, blocks, threads, argument, stream);
}

Status GpuPlatform::word_steps(std::span<const WordStep> steps, Stream stream) {
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(*device_));
  return device_->check(device_->driver().word_steps(steps, stream),
                        "queue stores to and waits for words");
}

Result<bool> GpuPlatform::is_capturing(Stream stream) {
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(*device_));
  auto status = abi::CaptureStatus::kNone;
  RETURN_IF_ERROR(device_->check(device_->call().stream_capturing(stream, &status),
                                 "ask whether a stream is captured"));
  return status != abi::CaptureStatus::kNone;
}

}  // namespace weft::gpu
