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

// One of these, whose large puts and gets go through shared memory by the GPU's engine for bulk
// copies (NVIDIA's TMA, sm_90 and later): a single thread keeps it busy, so a warp, or a thread,
// moves as much as a block does, and takes no registers for it. Where there is no engine, or bytes
// are few, no multiple of 16, or do not lie at one, it copies as `Scope` does.
//   Bulk(Scope, std::byte* stage, unsigned bytes)
// `stage`: shared memory at a multiple of 16, of this scope alone, which holds nothing while it
// calls. What is under way at a time fits in there: a link between GPUs wants 64 KiB to be full.
template <class Scope>
class Bulk;

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
