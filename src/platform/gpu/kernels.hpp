// Kernels: those that libweft brings along, on one GPU.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <span>

#include <weft/result.hpp>

#include "src/platform/gpu/device.hpp"
#include "src/platform/platform.hpp"

namespace weft::gpu {

class Kernels {
 public:
  explicit Kernels(const Device& device) : device_(device) {}

  // Whether there are any for this GPU.
  Status check() const;
  // Loads them all, in a Scope: what is loaded later could wait for kernels that run, or break the
  // capture of a stream. `nothing` is what begin() launches.
  Status load(std::span<const Kernel* const> kernels, const Kernel& nothing);
  // Once there are kernels, the stream has run its first one. In a Scope.
  Status begin(Stream stream);
  // In a Scope.
  Status launch(const Kernel& kernel, unsigned blocks, unsigned threads, const void* argument,
                Stream stream);

 private:
  Result<abi::Function> find(const Kernel& kernel);
  Status launch_on_host(const Kernel& kernel, unsigned blocks, unsigned threads,
                        const void* argument, Stream stream) const;

  const Device& device_;
  std::mutex mutex_;  // guards the two below
  abi::Module module_ = nullptr;
  std::map<const Kernel*, abi::Function> functions_;
  // Threads that share the GPU come with the same one, some while others begin streams already.
  std::atomic<const Kernel*> nothing_{nullptr};
};

}  // namespace weft::gpu
