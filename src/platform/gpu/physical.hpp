// Physical: GPU memory as the driver's handle names it, wherever it is mapped, and how a process
// hands it to others.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>

#include <weft/result.hpp>

#include "src/base/unique_fd.hpp"
#include "src/platform/cpu/fd_server.hpp"
#include "src/platform/gpu/device.hpp"
#include "src/platform/gpu/memory_blob.hpp"

namespace weft::gpu {

class Physical {
 public:
  // All in a Scope. New memory, which goes to others the device's way:
  static Result<std::unique_ptr<Physical>> create(const Device& device, std::size_t bytes);
  // The memory that somebody has mapped at `address`; kInvalidArgument if it has no handle.
  static Result<std::unique_ptr<Physical>> retain(const Device& device, std::byte* address);
  // The memory that a peer has shared.
  static Result<std::unique_ptr<Physical>> import(const Device& device, const MemoryBlob& peer);

  Physical(const Device& device, abi::Handle handle) : device_(device), handle_(handle) {}
  ~Physical();
  Physical(const Physical&) = delete;
  Physical& operator=(const Physical&) = delete;

  abi::Handle handle() const { return handle_; }
  // Whether it is what is mapped at `address`. In a Scope.
  bool is_at(std::byte* address) const;
  // For what did not say at its creation how it goes to others, and on which GPU it is.
  Result<abi::AllocationProperties> properties() const;
  // Fills in the way and its token.
  Status share(Way way, MemoryBlob& out);

 private:
  Status export_token(Way way, abi::Token& token);
  Status offer_file(abi::Token& token);

  const Device& device_;
  const abi::Handle handle_;
  std::mutex mutex_;  // guards the rest
  UniqueFd file_;
  std::shared_ptr<cpu::FdServer> server_;  // once shared by it
  Uuid ticket_{};
};

}  // namespace weft::gpu
