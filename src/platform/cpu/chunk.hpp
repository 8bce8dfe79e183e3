// Chunk: memory (a memfd) behind a part of a reservation.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>

#include <weft/result.hpp>

#include "src/base/unique_fd.hpp"
#include "src/platform/cpu/adoption.hpp"
#include "src/platform/cpu/fd_server.hpp"
#include "src/platform/cpu/owned.hpp"
#include "src/platform/cpu/reservation.hpp"

namespace weft::cpu {

class Chunk final : public Owned {
 public:
  static Result<std::shared_ptr<Chunk>> commit(Range where, const MemoryHints& hints);
  static Result<std::shared_ptr<Chunk>> adopt(Range own, Range where);
  static Result<std::shared_ptr<Chunk>> open(const Blob& blob, Range where);
  ~Chunk() override;

  Range range() const { return range_; }
  // The bytes with which open() works in another process; an opened chunk cannot be shared on.
  Result<Blob> share();

 private:
  Chunk(std::shared_ptr<Reservation> reservation, Range range)
      : reservation_(std::move(reservation)), range_(range) {}
  Status make_file();
  Status map(int fd, std::size_t lead);

  std::shared_ptr<Reservation> reservation_;
  Range range_;
  bool mapped_ = false;
  UniqueFd file_;
  std::optional<Adoption> adoption_;
  std::size_t lead_ = 0;  // unused bytes before the chunk in its file
  bool huge_ = false;

  std::mutex mutex_;
  std::shared_ptr<FdServer> server_;  // once shared
  const Uuid ticket_ = random_uuid();
};

}  // namespace weft::cpu
