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
struct Thread;  // one thread
struct Warp;    // kWarpSize consecutive threads of a block: 32 on CUDA, 64 on gfx9, 4 on the CPU
struct Block;   // all threads of a block; block sizes that are no multiple of kWarpSize are fine

// Where the calling thread stands in its grid. A host thread outside any grid is a grid of its own.
WEFT_DEVICE unsigned thread_rank();  // in its block: 0 .. block_size() - 1
WEFT_DEVICE unsigned block_size();
WEFT_DEVICE unsigned block_rank();  // 0 .. grid_size() - 1
WEFT_DEVICE unsigned grid_size();   // blocks
WEFT_DEVICE unsigned warp_size();   // of a full warp

// The dynamic shared memory of my block, Grid::shared_bytes of it, not initialised.
template <class T>
WEFT_DEVICE T* shared();

}  // namespace WEFT_TARGET
}  // namespace weft::dev
