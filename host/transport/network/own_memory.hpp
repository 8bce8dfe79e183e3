// OwnMemory: my own side of an op, as a lane takes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <weft/dev/op.hpp>

#include "host/transport/apply.hpp"
#include "host/transport/network/gpu_memory.hpp"
#include "host/transport/network/heaps.hpp"

namespace weft::network {

class OwnMemory {
 public:
  OwnMemory(const Heaps& heaps, GpuMemory* gpu) : heaps_(heaps), gpu_(gpu) {}

  // Whether the processor reads and writes at an address of mine.
  bool is_host(const void* address) const { return gpu_ == nullptr || !gpu_->holds(address); }
  // The key of what the device may read where it is, or write; nothing: it is to be staged. Memory
  // that stays where it is must not change meanwhile. A kernel that runs need not see what the
  // network's device writes to its GPU, so bytes of a get go there by the GPU's own copies.
  std::optional<std::uint64_t> key_of(const Op& op, std::size_t rail = 0) const {
    const bool gets = op.kind == OpKind::kGet;
    if (gets ? gpu_ != nullptr : (op.flags & kOpSourceStays) == 0) return std::nullopt;
    return heaps_.key_of(reinterpret_cast<const void*>(op.local), op.bytes, rail);
  }
  // Complete on return.
  Status copy(void* dst, const void* src, std::size_t bytes) const {
    if (!is_host(dst) || !is_host(src)) return gpu_->copy(dst, src, bytes);
    get_from(dst, src, bytes);
    return Status::ok();
  }

 private:
  const Heaps& heaps_;
  GpuMemory* const gpu_;
};

}  // namespace weft::network
