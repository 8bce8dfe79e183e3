#include "kernels/core/memory.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <weft/device/lamport.hpp>

#include "kernels/core/status.hpp"

namespace weft::kernels {

Result<SymmetricMemory> SymmetricMemory::create(Runtime& runtime, std::size_t bytes) {
  SymmetricMemory made;
  if (bytes == 0) return made;
  // Heaps begin at multiples of more than that, so this moves all PEs' parts alike.
  ASSIGN_OR_RETURN(made.memory_,
                   runtime.callocate_bytes(bytes + kWorkspaceAlignment, 1, MemoryKind::kDevice));
  made.begin_ = align_up(reinterpret_cast<std::uintptr_t>(made.memory_), kWorkspaceAlignment);
  made.runtime_ = &runtime;
  made.bytes_ = bytes;
  return made;
}

SymmetricMemory::~SymmetricMemory() {
  // Where a wait has failed, members are out of step, and their kernels may still write here: it
  // stays until the runtime goes. One that cannot free says so itself, and a destructor has nobody
  // to tell.
  if (runtime_ != nullptr && runtime_->health().is_ok()) runtime_->free(memory_).ignore();
}

void SymmetricMemory::swap(SymmetricMemory& other) noexcept {
  std::swap(runtime_, other.runtime_);
  std::swap(memory_, other.memory_);
  std::swap(begin_, other.begin_);
  std::swap(bytes_, other.bytes_);
}

constexpr std::size_t kMostAtOnce = std::size_t{1} << 17;  // words: 1 MiB

Status empty_lamport_slots(Runtime& runtime, std::uint64_t* words, std::size_t count) {
  const std::vector<std::uint64_t> none(std::min(count, kMostAtOnce), dev::kLamportEmpty);
  for (std::size_t done = 0; done < count; done += none.size())
    RETURN_IF_ERROR(runtime.context().put(words + done, none.data(),
                                          std::min(none.size(), count - done), runtime.pe()));
  return runtime.context().quiet();
}

}  // namespace weft::kernels
