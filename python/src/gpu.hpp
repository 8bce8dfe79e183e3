// The GPU of a job, by CUDA's driver alone: the package is linked with none of CUDA's libraries.
#pragma once

#include <cstddef>
#include <memory>

#include <weft/result.hpp>
#include <weft/status.hpp>

namespace weft::python {

class Gpu {
 public:
  // Loads the driver, so that the runtimes of this process look for GPUs; or why there is none.
  static Status load_driver();
  // Whether this process has a context on some GPU, which it made by itself.
  static bool is_in_use();
  // The GPU of that number, as CUDA counts in this process.
  static Result<Gpu> open(int ordinal);

  int ordinal() const { return ordinal_; }
  // All that any stream of this process has queued there has run. Not while one is captured, which
  // that would spoil.
  Status synchronize() const;
  // A copy of host memory for kernels to read; it lives as long as the result.
  Result<std::shared_ptr<void>> copy_of(const void* source, std::size_t bytes) const;
  // Fails, and says what to do, while that stream (CUDA's handle; null: a default stream, which is
  // never captured) is captured in a graph.
  static Status check_not_captured(void* stream);

  // The GPU is the calling thread's while it lives: kernels that are queued go there. A thread that
  // had none keeps it.
  class Current {
   public:
    explicit Current(const Gpu* gpu);  // null: nothing changes
    ~Current();
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

   private:
    bool pushed_ = false;
  };

 private:
  Gpu(int ordinal, void* context) : ordinal_(ordinal), context_(context) {}
  int ordinal_;
  void* context_;  // the one that CUDA's runtime has, too: as long as the process lives
};

}  // namespace weft::python
