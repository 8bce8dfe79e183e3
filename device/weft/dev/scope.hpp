// Bodies of weft/device/scope.hpp: which threads call together.
#pragma once

#include <type_traits>

#include <weft/device/context.hpp>
#include <weft/device/scope.hpp>

#include <weft/dev/platform.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {

// Threads of the warp that `thread` is in.
WEFT_DEVICE int warp_size_of(unsigned thread) {
  const unsigned left = platform::block_size() - (thread & ~(platform::kWarpSize - 1));
  return static_cast<int>(left < platform::kWarpSize ? left : platform::kWarpSize);
}

WEFT_DEVICE int Warp::rank() const {
  return static_cast<int>(platform::thread_rank() % platform::kWarpSize);
}
WEFT_DEVICE int Warp::size() const { return warp_size_of(platform::thread_rank()); }
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

// The same scopes, whose threads know who they are: to ask takes a GPU longer than all else that a
// small call does.
struct KnownWarp : Warp {
  unsigned thread;
  WEFT_DEVICE explicit KnownWarp(unsigned me) : thread(me) {}
  WEFT_DEVICE int rank() const { return static_cast<int>(thread % platform::kWarpSize); }
  WEFT_DEVICE int size() const { return warp_size_of(thread); }
};
struct KnownBlock : Block {
  unsigned thread;
  WEFT_DEVICE explicit KnownBlock(unsigned me) : thread(me) {}
  WEFT_DEVICE int rank() const { return static_cast<int>(thread); }
};
template <class Scope>
inline constexpr bool is_bulk = false;
template <class Scope>
inline constexpr bool is_bulk<Bulk<Scope>> = true;
template <class Scope>
WEFT_DEVICE Scope as_scope(const Bulk<Scope>& bulk) {
  return static_cast<const Scope&>(bulk);
}
template <class Scope>
inline constexpr bool is_block = std::is_base_of_v<Block, Scope>;

// The first warp of a block, of which other threads are no part.
struct FirstWarp : KnownWarp {
  using KnownWarp::KnownWarp;
  WEFT_DEVICE bool has_me() const { return thread < platform::kWarpSize; }
};

WEFT_DEVICE Context::Context(const DeviceContext& handle)
    : h_(handle), thread_(platform::thread_rank()) {
  platform::settle(thread_);
}
template <class Scope>
WEFT_DEVICE auto Context::known(Scope scope) const {
  if constexpr (std::is_same_v<Scope, Block>)
    return KnownBlock(thread_);
  else if constexpr (std::is_same_v<Scope, Warp>)
    return KnownWarp(thread_);
  else if constexpr (is_bulk<Scope>)
    return scope.with(known(as_scope(scope)));
  else
    return scope;
}

WEFT_DEVICE unsigned thread_rank() { return platform::thread_rank(); }
WEFT_DEVICE unsigned block_size() { return platform::block_size(); }
WEFT_DEVICE unsigned block_rank() { return platform::block_rank(); }
WEFT_DEVICE unsigned grid_size() { return platform::grid_size(); }
WEFT_DEVICE unsigned warp_size() { return platform::kWarpSize; }

template <class T>
WEFT_DEVICE_CALL T* shared() {  // as it was declared: tests have nvcc's host read bodies
  static_assert(alignof(T) <= 64, "shared memory is aligned to 64 bytes");
  return reinterpret_cast<T*>(platform::shared_memory());
}

}  // namespace WEFT_TARGET
}  // namespace weft::dev
