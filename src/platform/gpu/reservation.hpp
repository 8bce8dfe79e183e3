// Reservation: a range of GPU address space, and which parts of it have memory.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>

#include <weft/result.hpp>

#include "src/platform/cpu/owned.hpp"
#include "src/platform/gpu/device.hpp"
#include "src/platform/platform.hpp"
#include "src/platform/reserved.hpp"

namespace weft::gpu {

class Reservation final : public cpu::Owned {
 public:
  // Alive until its last user has gone, those that hold a part of it included.
  static Result<std::shared_ptr<Reservation>> create(const Device& device, std::size_t bytes);

  Reservation(const Device& device, Range range) : device_(device), range_(range) {}
  ~Reservation() override;

  const Device& device() const { return device_; }
  Range range() const { return range_; }
  // Puts the memory behind `part`, reachable for the reservation's GPU.
  Status map(Range part, abi::Handle memory);
  // Makes `part`, as it was given to map(), bare address space again; in a Scope.
  void unmap(Range part);

 private:
  const Device& device_;
  Range range_;
  std::mutex mutex_;
  MappedParts mapped_;
};

}  // namespace weft::gpu
