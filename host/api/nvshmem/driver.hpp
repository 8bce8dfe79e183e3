// The part of NVIDIA's driver that NVSHMEM's names need: symbols of modules that the program has
// loaded through it, and the end of a stream's work. Found at run time; without CUDA's headers.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <weft/result.hpp>

#include "host/api/nvshmem/names.hpp"

namespace weft::nvshmem {

class Driver {
 public:
  using Pointer = unsigned long long;
  using Error = int;

  // `library` names the file; "": the system's.
  static Result<Driver> open(const std::string& library);

  Status module_symbol(CUmodule module, const char* name, Pointer* at, std::size_t* bytes) const;
  Status library_symbol(CUlibrary library, const char* name, Pointer* at, std::size_t* bytes) const;
  Status copy_in(Pointer dst, const void* src, std::size_t bytes) const;
  Status synchronize(cudaStream_t stream) const;

 private:
  explicit Driver(void* library) : library_(library) {}
  // "FUNCTION: CUDA_ERROR_NOT_FOUND".
  template <class... Parameters, class... Arguments>
  Status call(const char* function, Error (*)(Parameters...), Arguments... arguments) const;
  Status failure(const char* function, Error error) const;

  void* library_;
};

}  // namespace weft::nvshmem
