// Symmetric memory that frees itself, unless the job has failed.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/result.hpp>
#include <weft/runtime.hpp>

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

  // Zeroed memory for kernels on every PE. Collective over the job, and a barrier; of 0 bytes
  // nothing at all.
  static Result<SymmetricMemory> create(Runtime& runtime, std::size_t bytes);

  template <class T>
  T* as() const {
    return static_cast<T*>(memory_);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  void swap(SymmetricMemory& other) noexcept;

  Runtime* runtime_ = nullptr;
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

// Places of this PE for words (weft/device/word.hpp) hold none; no peer sends yet.
Status empty_words(Runtime& runtime, std::uint64_t* words, std::size_t count);

}  // namespace weft::kernels
