// The owner behind a Memory of any platform, by which share() can tell a chunk from the rest.
#pragma once

namespace weft::cpu {

class Owned {
 public:
  Owned() = default;
  virtual ~Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
};

}  // namespace weft::cpu
