// The Platform of one GPU.
#pragma once

#include <memory>

#include "src/platform/gpu/device.hpp"
#include "src/platform/gpu/gpu.hpp"
#include "src/platform/gpu/kernels.hpp"
#include "src/platform/platform.hpp"

namespace weft::gpu {

class GpuPlatform final : public Platform {
 public:
  // `library` is where platform() finds the other GPUs.
  GpuPlatform(std::unique_ptr<const Device> device, Library library)
      : device_(std::move(device)), library_(std::move(library)), kernels_(*device_) {}
  const Device& device() const { return *device_; }

  std::string_view name() const override { return device_->driver().words().platform; }
  std::string describe() const override { return device_->describe(); }
  bool is_host_accessible() const override { return false; }
  bool was_reset() const override { return device_->was_reset(); }
  bool maps_where_told() const override { return device_->way() != Way::kIpc; }
  Blob identity() const override;
  std::string why_not_mapped(const Blob& peer) const override;
  std::string why_not_owned(const Blob& peer) const override;
  Result<Platform*> owner(const Blob& peer) override;
  std::size_t granularity() const override { return device_->granularity(); }

  Result<Memory> reserve(std::size_t bytes) override;
  // The hints are about pages of host memory: a GPU has no choice of them.
  Result<Memory> commit(Range where, const MemoryHints& hints) override;
  bool is_device_memory(const void* address) const override;
  bool adopts_where_told() const override { return false; }
  Result<Memory> adopt(Range own, Range where) override;
  bool is_current(const Memory& adopted) const override;
  Result<Blob> share(const Memory& memory) override;
  Result<Memory> open(const Blob& blob, Range where) override;
  Result<Dmabuf> export_dmabuf(Range memory) const override;
  Result<Memory> host_visible(std::size_t bytes) override;

  Result<Stream> create_stream() override;
  Status destroy_stream(Stream stream) override;
  Status copy(void* dst, const void* src, std::size_t bytes, Stream stream) override;
  Status zero(Range where, Stream stream) override;
  Status synchronize(Stream stream) override;
  Status prepare(std::span<const Kernel* const> kernels, const Kernel& nothing) override;
  Status check_launch() const override { return kernels_.check(); }
  Status launch(const Kernel& kernel, unsigned blocks, unsigned threads, const void* argument,
                Stream stream) override;
  bool has_word_steps() const override { return device_->has_word_steps(); }
  Status word_steps(std::span<const WordStep> steps, Stream stream) override;
  Result<bool> is_capturing(Stream stream) override;

 private:
  const std::unique_ptr<const Device> device_;
  const Library library_;
  Kernels kernels_;
};

}  // namespace weft::gpu
