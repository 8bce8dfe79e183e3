// Bodies of weft/device/scope.hpp: which threads call together.
#pragma once

#include <weft/device/scope.hpp>

#include <weft/dev/platform.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {

WEFT_DEVICE int Warp::rank() const {
  return static_cast<int>(platform::thread_rank() % platform::kWarpSize);
}
WEFT_DEVICE int Warp::size() const {
  const unsigned first = platform::thread_rank() & ~(platform::kWarpSize - 1);
  const unsigned left = platform::block_size() - first;
  return static_cast<int>(left < platform::kWarpSize ? left : platform::kWarpSize);
}
WEFT_DEVICE void Warp::sync() const { platform::sync_warp(); }
template <class T>
WEFT_DEVICE T Warp::broadcast(T value) const {
  return platform::warp_shuffle(value, 0);
}
WEFT_DEVICE bool Warp::all(bool mine) const { return platform::warp_all(mine); }

WEFT_DEVICE int Block::rank() const { return static_cast<int>(platform::thread_rank()); }
WEFT_DEVICE int Block::size() const { return static_cast<int>(platform::block_size()); }
WEFT_DEVICE void Block::sync() const { platform::sync_block(); }
template <class T>
WEFT_DEVICE T Block::broadcast(T value) const {
  return platform::block_broadcast(value);
}
WEFT_DEVICE bool Block::all(bool mine) const { return platform::block_all(mine); }

// The first warp of a block, of which other threads are no part.
struct FirstWarp {
  int mine = Block{}.rank();
  int count = Warp{}.size();
  WEFT_DEVICE int rank() const { return mine; }
  WEFT_DEVICE int size() const { return count; }
  WEFT_DEVICE bool has_me() const { return mine < count; }
  WEFT_DEVICE void sync() const { Warp{}.sync(); }
};

// All of a block, or its first warp alone, as is decided when it runs: the code for both is one.
class PartOfBlock {
 public:
  WEFT_DEVICE explicit PartOfBlock(bool is_warp)
      : is_warp_(is_warp), mine_(Block{}.rank()), count_(Block{}.size()) {
    if (is_warp && count_ > static_cast<int>(platform::kWarpSize))
      count_ = static_cast<int>(platform::kWarpSize);
  }
  WEFT_DEVICE int rank() const { return mine_; }
  WEFT_DEVICE int size() const { return count_; }
  WEFT_DEVICE bool has_me() const { return mine_ < count_; }
  WEFT_DEVICE void sync() const {
    if (is_warp_)
      Warp{}.sync();
    else
      Block{}.sync();
  }

 private:
  bool is_warp_;
  int mine_, count_;
};

WEFT_DEVICE unsigned thread_rank() { return platform::thread_rank(); }
WEFT_DEVICE unsigned block_size() { return platform::block_size(); }
WEFT_DEVICE unsigned block_rank() { return platform::block_rank(); }
WEFT_DEVICE unsigned grid_size() { return platform::grid_size(); }
WEFT_DEVICE unsigned warp_size() { return platform::kWarpSize; }

template <class T>
WEFT_DEVICE T* shared() {
  static_assert(alignof(T) <= 64, "shared memory is aligned to 64 bytes");
  return reinterpret_cast<T*>(platform::shared_memory());
}

}  // namespace WEFT_TARGET
}  // namespace weft::dev
