// Symmetric memory that frees itself, unless the job has failed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <weft/result.hpp>
#include <weft/runtime.hpp>

#include "kernels/core/math.hpp"

namespace weft::kernels {

class SymmetricMemory {
 public:
  SymmetricMemory() = default;
  SymmetricMemory(SymmetricMemory&& other) noexcept { swap(other); }
  SymmetricMemory& operator=(SymmetricMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~SymmetricMemory();

  // Zeroed memory for kernels on every PE, at a multiple of kWorkspaceAlignment. Collective over
  // the job, and a barrier; of 0 bytes nothing at all.
  static Result<SymmetricMemory> create(Runtime& runtime, std::size_t bytes);

  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(begin_);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  void swap(SymmetricMemory& other) noexcept;

  Runtime* runtime_ = nullptr;
  void* memory_ = nullptr;
  std::uintptr_t begin_ = 0;
  std::size_t bytes_ = 0;
};

inline constexpr std::size_t kWorkspaceAlignment = 512;

// Offsets of parts that lie in one allocation, each at a multiple of kWorkspaceAlignment.
class WorkspaceParts {
 public:
  std::size_t add(std::size_t bytes) {
    offsets_.push_back(bytes_);
    bytes_ = align_up(bytes_ + bytes, kWorkspaceAlignment);
    return offsets_.back();
  }
  std::size_t offset(std::size_t part) const { return offsets_[part]; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::vector<std::size_t> offsets_;
  std::size_t bytes_ = 0;
};

// Empties this PE's slots for Lamport words (weft/device/lamport.hpp), to which no peer sends yet.
Status empty_lamport_slots(Runtime& runtime, std::uint64_t* words, std::size_t count);

}  // namespace weft::kernels
