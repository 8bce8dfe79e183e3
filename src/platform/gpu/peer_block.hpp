// PeerBlock: an allocation of another process, which the driver maps where it likes, once for all
// who use a part of it.
#pragma once

#include <memory>

#include <weft/result.hpp>

#include "src/platform/cpu/owned.hpp"
#include "src/platform/gpu/device.hpp"

namespace weft::gpu {

class PeerBlock final : public cpu::Owned {
 public:
  static Result<std::shared_ptr<PeerBlock>> open(const Device& device, const abi::Token& token);
  PeerBlock(const Device& device, abi::Pointer memory) : device_(device), memory_(memory) {}
  ~PeerBlock() override;
  abi::Pointer memory() const { return memory_; }

 private:
  const Device& device_;
  abi::Pointer memory_;
};

}  // namespace weft::gpu
