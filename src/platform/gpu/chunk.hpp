// Chunk: GPU memory behind a part of a reservation.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>

#include <weft/result.hpp>

#include "src/base/unique_fd.hpp"
#include "src/platform/cpu/fd_server.hpp"
#include "src/platform/gpu/device.hpp"
#include "src/platform/gpu/memory_blob.hpp"
#include "src/platform/gpu/reservation.hpp"
#include "src/platform/gpu/shared.hpp"

namespace weft::gpu {

class Chunk final : public Shared {
 public:
  static Result<std::shared_ptr<Chunk>> commit(const Device& device, Range where);
  static Result<std::shared_ptr<Chunk>> open(const Device& device, const Blob& blob, Range where);
  ~Chunk() override;

  Result<Blob> share() override;

 private:
  Chunk(std::shared_ptr<Reservation> reservation, Range range, bool is_mine)
      : reservation_(std::move(reservation)), range_(range), is_mine_(is_mine) {}
  const Device& device() const { return reservation_->device(); }
  Status create();
  Status import(const MemoryBlob& peer);
  Status map();
  Status export_token(abi::Token& token);
  Status offer_file(abi::Token& token);

  std::shared_ptr<Reservation> reservation_;
  Range range_;
  bool is_mine_;  // committed, not opened
  std::optional<abi::Handle> memory_;
  bool mapped_ = false;

  std::mutex mutex_;
  UniqueFd file_;
  std::shared_ptr<cpu::FdServer> server_;  // once shared
  Uuid ticket_{};
};

}  // namespace weft::gpu
