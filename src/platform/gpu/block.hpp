// Block: one allocation of GPU memory, for drivers that cannot map memory where one likes or cannot
// share what they map. It is a reservation that has its memory from the beginning; a Part of it is
// what Chunk is of a Reservation. Peers open the whole block, and it lies where their driver maps
// it.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>

#include <weft/result.hpp>

#include "src/platform/cpu/owned.hpp"
#include "src/platform/gpu/device.hpp"
#include "src/platform/gpu/shared.hpp"
#include "src/platform/platform.hpp"
#include "src/platform/reserved.hpp"

namespace weft::gpu {

class Block final : public cpu::Owned {
 public:
  static Result<std::shared_ptr<Block>> create(const Device& device, std::size_t bytes);

  Block(const Device& device, abi::Pointer memory, Range range)
      : device_(device), memory_(memory), range_(range) {}
  ~Block() override;

  const Device& device() const { return device_; }
  abi::Pointer memory() const { return memory_; }  // as the driver gave it
  Range range() const { return range_; }           // in it, aligned
  Status take(Range part);
  void give_back(Range part);

 private:
  const Device& device_;
  abi::Pointer memory_;
  Range range_;
  std::mutex mutex_;
  MappedParts taken_;
};

class Part final : public Shared {
 public:
  static Result<std::shared_ptr<Part>> commit(const Device& device, Range where);
  // A peer's part of `bytes`, where it lies in my address space.
  static Result<Memory> open(const Device& device, const Blob& blob, std::size_t bytes);
  Part(std::shared_ptr<Block> block, Range range) : block_(std::move(block)), range_(range) {}
  ~Part() override { block_->give_back(range_); }

  Result<Blob> share() override;

 private:
  std::shared_ptr<Block> block_;
  Range range_;
};

}  // namespace weft::gpu
