// Adoption: memory that this process has already, moved into a file so that peers can map it, and
// mapped where it was.
#pragma once

#include <cstddef>
#include <utility>

#include <weft/result.hpp>

#include "src/platform/platform.hpp"

namespace weft::cpu {

class Adoption {
 public:
  // `alias` shows the file from `lead` on and is all zero. `file` must stay open meanwhile.
  static Result<Adoption> make(Range own, Range alias, int file, std::size_t lead);

  Adoption(Adoption&& other) noexcept;
  Adoption& operator=(Adoption&& other) noexcept {
    std::swap(own_, other.own_);
    return *this;
  }
  // The contents stay; what peers write from now on does not come here.
  ~Adoption();

 private:
  explicit Adoption(Range own) : own_(own) {}
  Range own_;
};

}  // namespace weft::cpu
