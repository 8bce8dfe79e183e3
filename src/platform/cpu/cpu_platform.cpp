#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include <weft/device/cpu_grid.hpp>

#include "src/base/status.hpp"
#include "src/platform/cpu/chunk.hpp"
#include "src/platform/cpu/owned.hpp"
#include "src/platform/cpu/reservation.hpp"
#include "src/platform/cpu/available_memory.hpp"
#include "src/platform/platform.hpp"

namespace weft {
namespace {

using cpu::Owned;

// Pages of this process alone.
class HostPages final : public Owned {
 public:
  explicit HostPages(Range range) : range_(range) {}
  ~HostPages() override { ::munmap(range_.base, range_.bytes); }

 private:
  Range range_;
};

struct Copy {
  void* dst;
  const void* src;
  std::size_t bytes;
};

class CpuPlatform final : public Platform {
 public:
  std::string_view name() const override { return "cpu"; }
  bool is_host_accessible() const override { return true; }
  Blob identity() const override { return {}; }
  std::string why_not_mapped(const Blob&) const override { return ""; }
  std::size_t granularity() const override { return cpu::page_bytes(); }

  Result<Memory> reserve(std::size_t bytes) override {
    ASSIGN_OR_RETURN(auto reservation, cpu::Reservation::create(bytes));
    return hold(reservation->range(), reservation);
  }

  Result<Memory> commit(Range where, const MemoryHints& hints) override {
    ASSIGN_OR_RETURN(auto chunk, cpu::Chunk::commit(where, hints));
    return hold(where, std::move(chunk));
  }

  Result<Memory> adopt(Range own, Range where) override {
    ASSIGN_OR_RETURN(auto chunk, cpu::Chunk::adopt(own, where));
    return hold(where, std::move(chunk));
  }

  Result<Blob> share(const Memory& memory) override {
    auto* const chunk = dynamic_cast<cpu::Chunk*>(static_cast<Owned*>(memory.owner().get()));
    if (chunk == nullptr) {
      return Status::error(Code::kInvalidArgument,
                           fmt::format("{} bytes at {} are not a committed chunk, so they cannot "
                                       "be shared",
                                       memory.bytes(), fmt::ptr(memory.base())));
    }
    return chunk->share();
  }

  Result<Memory> open(const Blob& blob, Range where) override {
    ASSIGN_OR_RETURN(auto chunk, cpu::Chunk::open(blob, where));
    return hold(where, std::move(chunk));
  }

  Result<Memory> host_visible(std::size_t bytes) override {
    if (bytes == 0) return Status::error(Code::kInvalidArgument, "0 bytes of host-visible memory");
    void* const memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      return Status::error(Code::kOutOfMemory,
                           fmt::format("no {} of host-visible memory: {}", cpu::show_bytes(bytes),
                                       std::strerror(errno)));
    }
    const Range range{static_cast<std::byte*>(memory), bytes};
    return hold(range, std::make_shared<HostPages>(range));
  }

  Result<Stream> create_stream() override {
    Stream stream = nullptr;
    RETURN_IF_ERROR(cpu::create_stream(&stream));
    return stream;
  }
  Status destroy_stream(Stream stream) override { return cpu::destroy_stream(stream); }
  Status synchronize(Stream stream) override { return cpu::synchronize(stream); }

  Status copy(void* dst, const void* src, std::size_t bytes, Stream stream) override {
    if (bytes == 0) return Status::ok();
    if (dst == nullptr || src == nullptr) {
      return Status::error(Code::kInvalidArgument,
                           fmt::format("a copy of {} bytes from {} to {}", bytes, src, dst));
    }
    const auto run = [](const void* work, cpu::ThreadState&) {
      const auto& copy = *static_cast<const Copy*>(work);
      std::memmove(copy.dst, copy.src, copy.bytes);
    };
    return cpu::launch(1, 1, 0, run, std::make_shared<const Copy>(Copy{dst, src, bytes}), stream);
  }
  Status zero(Range where, Stream stream) override {
    if (where.bytes == 0) return Status::ok();
    const auto run = [](const void* work, cpu::ThreadState&) {
      const auto& range = *static_cast<const Range*>(work);
      std::memset(range.base, 0, range.bytes);
    };
    return cpu::launch(1, 1, 0, run, std::make_shared<const Range>(where), stream);
  }

  Status prepare(std::span<const Kernel* const>, const Kernel&) override { return Status::ok(); }
  Status launch(const Kernel& kernel, unsigned blocks, unsigned threads, const void* argument,
                Stream stream) override {
    // operator new aligns enough: every argument's alignment is at most what it gives.
    std::shared_ptr<std::byte[]> copy(new std::byte[kernel.argument_bytes]);
    std::memcpy(copy.get(), argument, kernel.argument_bytes);
    return cpu::launch(blocks, threads, 0, kernel.on_host,
                       std::shared_ptr<const void>(copy, copy.get()), stream);
  }
  bool has_word_steps() const override { return false; }
  Status word_steps(std::span<const WordStep>, Stream) override {
    return Status::error(Code::kUnsupported, "streams of host threads take kernels only");
  }
  Result<bool> is_capturing(Stream) override { return false; }

 private:
  // Through Owned, which is what share() takes the pointer for.
  static Memory hold(Range range, std::shared_ptr<Owned> owner) {
    return {range, std::move(owner)};
  }
};

}  // namespace

Platform& cpu_platform() {
  static auto* const platform = new CpuPlatform;  // outlives every static Runtime
  return *platform;
}

}  // namespace weft
