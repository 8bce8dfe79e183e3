// Chunk: GPU memory behind a part of a reservation.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>

#include <weft/status.hpp>

#include "src/base/unique_fd.hpp"
#include "src/platform/cpu/fd_server.hpp"
#include "src/platform/cpu/owned.hpp"
#include "src/platform/gpu/device.hpp"
#include "src/platform/gpu/reservation.hpp"

namespace weft::gpu {

class Chunk final : public cpu::Owned {
 public:
  static Result<std::shared_ptr<Chunk>> commit(const Device& device, Range where);
  static Result<std::shared_ptr<Chunk>> open(const Device& device, const Blob& blob, Range where);
  ~Chunk() override;

  // The bytes with which open() works in another process; an opened chunk cannot be shared on.
  Result<Blob> share();

 private:
  Chunk(std::shared_ptr<Reservation> reservation, Range range, bool is_mine)
      : reservation_(std::move(reservation)), range_(range), is_mine_(is_mine) {}
  const Device& device() const { return reservation_->device(); }
  Status create();
  Status import(int fd);
  Status map();
  Status zero();
  Status export_file();

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
