// Arena: symmetric memory that the operators of a model share, made once.
//
//   auto arena = weft::kernels::Arena::create(runtime, 64 << 20);
//   auto sum = weft::kernels::AllReduce::create(runtime, problem, {.arena = &*arena});
//
// An operator's slots tell by their rounds what is new, from call to call, so no two operators can
// have the same bytes: each gets a part of its own. They share the allocation, which each create()
// would make and wait for, and may run at once on several streams. An operator that needs more than
// is left makes the arena grow by one allocation. A part stays taken until all operators and the
// arena are gone, since its bytes would have to be cleared on all PEs first.
//
// All PEs make an arena alike, and give it to the same operators in the same order; create() of an
// operator compares. The arena may be destroyed before its operators.
#pragma once

#include <cstddef>
#include <memory>

#include <weft/result.hpp>
#include <weft/runtime.hpp>
#include <weft/target.hpp>

namespace weft::kernels {

class ArenaImpl;

class WEFT_API Arena {
 public:
  // Zeroed memory of so many bytes for kernels. Collective over the job, and a barrier.
  static Result<Arena> create(Runtime& runtime, std::size_t bytes);
  Arena(Arena&&) noexcept;
  Arena& operator=(Arena&&) noexcept;
  ~Arena();

  std::size_t bytes() const;       // of all allocations
  std::size_t used_bytes() const;  // that operators have taken

 private:
  friend class ArenaImpl;
  explicit Arena(std::shared_ptr<ArenaImpl> impl);
  std::shared_ptr<ArenaImpl> impl_;
};

}  // namespace weft::kernels
