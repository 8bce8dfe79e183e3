// Reservation: a range of address space, and which parts of it have memory.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>

#include <weft/result.hpp>

#include "src/platform/cpu/owned.hpp"
#include "src/platform/platform.hpp"
#include "src/platform/reserved.hpp"

namespace weft::cpu {

std::size_t page_bytes();

class Reservation final : public Owned {
 public:
  // Alive until its last user has gone, those that hold a part of it included.
  static Result<std::shared_ptr<Reservation>> create(std::size_t bytes);
  // The live reservation that `part` lies in; an error when there is none, or when `part` is empty
  // or not made of whole pages.
  static Result<std::shared_ptr<Reservation>> containing(Range part);

  explicit Reservation(Range range) : range_(range) {}
  ~Reservation() override;

  Range range() const { return range_; }
  // Puts the file's bytes [offset, offset + part.bytes) behind `part`, shared.
  Status map(Range part, int fd, std::size_t offset);
  // Makes `part`, as it was given to map(), bare address space again.
  void unmap(Range part);

 private:
  Range range_;
  std::mutex mutex_;
  MappedParts mapped_;
};

}  // namespace weft::cpu
