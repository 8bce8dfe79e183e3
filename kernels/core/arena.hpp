// Where an operator's symmetric memory comes from: an allocation of its own, or an arena's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <weft/kernels/arena.hpp>
#include <weft/result.hpp>
#include <weft/runtime.hpp>

#include "kernels/core/exchange.hpp"
#include "kernels/core/memory.hpp"

namespace weft::kernels {

class ArenaImpl {
 public:
  explicit ArenaImpl(Runtime& runtime) : runtime_(&runtime) {}
  static ArenaImpl& of(const Arena& arena) { return *arena.impl_; }
  static std::shared_ptr<ArenaImpl> share(const Arena& arena) { return arena.impl_; }

  Status grow(std::size_t bytes);
  // Memory that nobody has had, at a multiple of kWorkspaceAlignment. Collective where it grows.
  Result<std::byte*> take(const Runtime& runtime, std::size_t bytes);
  std::size_t bytes() const;
  std::size_t used_bytes() const { return used_before_ + used_; }

 private:
  Runtime* const runtime_;
  std::vector<SymmetricMemory> blocks_;
  std::size_t used_ = 0;         // of the last block
  std::size_t used_before_ = 0;  // of those before
};

// An operator's memory, which goes with it or with the last one of its arena.
class OperatorMemory {
 public:
  // `arena`: null for an allocation of its own. Collective over the job.
  static Result<OperatorMemory> create(Runtime& runtime, const Arena* arena, std::size_t bytes);
  std::byte* begin() const { return begin_; }
  std::size_t bytes() const { return bytes_; }

 private:
  SymmetricMemory own_;
  std::shared_ptr<ArenaImpl> arena_;
  std::byte* begin_ = nullptr;
  std::size_t bytes_ = 0;
};

// PEs that take parts of an arena in different orders would have them at different offsets.
Given given_of(const Arena* arena);

}  // namespace weft::kernels
