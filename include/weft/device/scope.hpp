// Scope: which threads call together. A parameter of device calls, not part of their names.
//
// All threads of a scope make the call with the same arguments; the work is split among them. What
// a call promises on return holds for every thread of the scope.
#pragma once

#include <weft/target.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {

// Each has, for its threads to call together:
//   int rank() const           0 .. size() - 1; rank 0 leads
//   int size() const
//   void sync() const          a barrier that makes their earlier memory accesses visible to all
//   T broadcast(T value) const the leader's value (at most 16 bytes); orders memory as sync() does
//   bool all(bool mine) const  true when all gave true; orders memory as sync() does

// One thread.
struct Thread {
  WEFT_DEVICE int rank() const { return 0; }
  WEFT_DEVICE int size() const { return 1; }
  WEFT_DEVICE void sync() const {}
  template <class T>
  WEFT_DEVICE T broadcast(T value) const {
    return value;
  }
  WEFT_DEVICE bool all(bool mine) const { return mine; }
};

// warp_size() consecutive threads of a block: 32 on CUDA, 64 on gfx9, 4 on the CPU.
struct Warp {
  WEFT_DEVICE_CALL int rank() const;
  WEFT_DEVICE_CALL int size() const;
  WEFT_DEVICE_CALL void sync() const;
  template <class T>
  WEFT_DEVICE_CALL T broadcast(T value) const;
  WEFT_DEVICE_CALL bool all(bool mine) const;
};

// All threads of a block; block sizes that are no multiple of warp_size() are fine.
struct Block {
  WEFT_DEVICE_CALL int rank() const;
  WEFT_DEVICE_CALL int size() const;
  WEFT_DEVICE_CALL void sync() const;
  template <class T>
  WEFT_DEVICE_CALL T broadcast(T value) const;
  WEFT_DEVICE_CALL bool all(bool mine) const;
};

// Where the calling thread stands in its grid. A host thread outside any grid is a grid of its own.
WEFT_DEVICE_CALL unsigned thread_rank();  // in its block: 0 .. block_size() - 1
WEFT_DEVICE_CALL unsigned block_size();
WEFT_DEVICE_CALL unsigned block_rank();  // 0 .. grid_size() - 1
WEFT_DEVICE_CALL unsigned grid_size();   // blocks
WEFT_DEVICE_CALL unsigned warp_size();   // of a full warp

// The dynamic shared memory of my block, Grid::shared_bytes of it, not initialised.
template <class T>
WEFT_DEVICE_CALL T* shared();

}  // namespace WEFT_TARGET
}  // namespace weft::dev
