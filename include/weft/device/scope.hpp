// Scope: which threads call together. A parameter of device calls, not part of their names.
//
// All threads of a scope make the call with the same arguments; the work is split among them. The
// promises of a call on return hold for every thread of the scope.
#pragma once

#include <cstddef>
#include <cstdint>

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

// One of these, whose large puts and gets, and tiles of rows, go through shared memory by the GPU's
// engine for bulk copies (NVIDIA's TMA, sm_90 and later): a single thread keeps it busy, so a warp,
// or a thread, moves as much as a block does, and takes no registers for it. Where there is no
// engine, or bytes are few, no multiple of 16, or do not lie at one, it copies as `Scope` does.
//
// `stage`: shared memory at a multiple of 16, of this scope alone, which holds nothing while it
// calls. All that is under way at a time fits in there: a link between GPUs wants 64 KiB to be
// full.
template <class Scope>
class Bulk : public Scope {
 public:
  WEFT_DEVICE Bulk(Scope scope, std::byte* stage, unsigned bytes)
      : Scope(scope), stage_(stage), bytes_(bytes) {}

  // For Weft's own calls: the same of threads that know who they are; whether the engine copies
  // what lies there; and that it does, complete on return of the leader.
  template <class Known>
  WEFT_DEVICE Bulk<Known> with(Known scope) const {
    return {scope, stage_, bytes_};
  }
  WEFT_DEVICE_CALL bool takes(const std::byte* dst, const std::byte* src, std::size_t bytes) const;
  WEFT_DEVICE_CALL void copy(std::byte* dst, const std::byte* src, std::size_t bytes) const;
  // The same of rows; `alignment`: what all addresses and row_bytes are multiples of, or'ed.
  WEFT_DEVICE_CALL bool takes_rows(const std::byte* dst, const std::byte* src,
                                   std::size_t row_bytes, std::uint64_t alignment) const;
  WEFT_DEVICE_CALL void copy_rows(std::byte* dst, std::size_t dst_stride, const std::byte* src,
                                  std::size_t src_stride, std::size_t row_bytes,
                                  std::size_t rows) const;

 private:
  std::byte* stage_;
  unsigned bytes_;
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
