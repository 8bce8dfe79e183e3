// Adoption: GPU memory that a program has already, and how peers find it. It stays where it is;
// each peer's GPU maps the allocations that it lies in wherever there is room. Memory that was
// mapped by handles (cuMemCreate) goes as a heap's chunks do, each allocation by itself; allocated
// memory (cudaMalloc) goes by its IPC handle, or as it is between threads of one process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <weft/result.hpp>

#include "src/platform/gpu/device.hpp"
#include "src/platform/gpu/physical.hpp"
#include "src/platform/gpu/shared.hpp"
#include "src/platform/platform.hpp"

namespace weft::gpu {

class Adoption final : public Shared {
 public:
  // Words of up to 16 bytes lie alike in the memory of all PEs.
  static constexpr std::size_t kAlign = 16;

  static Result<std::shared_ptr<Adoption>> make(const Device& device, Range own);
  // Whether share() made that.
  static bool is_shared_by(const Blob& blob);
  // A peer's `bytes`, where they lie in my address space.
  static Result<Memory> open(const Device& device, const Blob& blob, std::size_t bytes);

  Adoption(const Device& device, Range own) : device_(device), own_(own) {}
  Result<Blob> share() override;
  // Whether all of it still lies where it was.
  bool is_current() const;

 private:
  struct Segment {
    Range allocation;
    std::uint64_t id = 0;              // Driver::buffer_id() of what was allocated
    std::unique_ptr<Physical> memory;  // null: goes by `token`
    Way way = Way::kIpc;
    abi::Token token{};
  };

  Status find_mapped();
  Status find_allocated();
  bool is_current(const Segment& segment) const;
  Result<Range> allocation_at(const std::byte* address) const;
  Status refuse(const std::string& why) const;

  const Device& device_;
  const Range own_;
  std::vector<Segment> segments_;  // in the order of their addresses, without gaps
};

}  // namespace weft::gpu
