// Chunk: GPU memory behind a part of a reservation.
#pragma once

#include <memory>

#include <weft/result.hpp>

#include "src/platform/gpu/device.hpp"
#include "src/platform/gpu/memory_blob.hpp"
#include "src/platform/gpu/physical.hpp"
#include "src/platform/gpu/reservation.hpp"
#include "src/platform/gpu/shared.hpp"

namespace weft::gpu {

class Chunk final : public Shared {
 public:
  static Result<std::shared_ptr<Chunk>> commit(const Device& device, Range where);
  static Result<std::shared_ptr<Chunk>> open(const Device& device, const Blob& blob, Range where);
  // The same of what has been parsed, whatever way it goes.
  static Result<std::shared_ptr<Chunk>> open(const Device& device, const MemoryBlob& peer,
                                             Range where);
  ~Chunk() override;

  Result<Blob> share() override;

 private:
  Chunk(std::shared_ptr<Reservation> reservation, Range range, std::unique_ptr<Physical> memory,
        bool is_mine)
      : reservation_(std::move(reservation)),
        range_(range),
        memory_(std::move(memory)),
        is_mine_(is_mine) {}
  const Device& device() const { return reservation_->device(); }
  Status map();

  std::shared_ptr<Reservation> reservation_;
  Range range_;
  std::unique_ptr<Physical> memory_;
  bool is_mine_;  // committed, not opened
  bool mapped_ = false;
};

}  // namespace weft::gpu
