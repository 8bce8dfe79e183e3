// What NVSHMEM's names need of NVIDIA's driver: symbols of modules that the program has loaded
// through it. Found at run time; without CUDA's headers.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <weft/status.hpp>

#include "host/api/nvshmem/names.hpp"

namespace weft::nvshmem {

class Driver {
 public:
  using Pointer = unsigned long long;
  using Error = int;

  // `library` names the file; "": the system's.
  static Result<Driver> get(const std::string& library);

  Error (*module_symbol)(Pointer*, std::size_t*, CUmodule, const char*) = nullptr;
  Error (*library_symbol)(Pointer*, std::size_t*, CUlibrary, const char*) = nullptr;
  Error (*copy_in)(Pointer, const void*, std::size_t) = nullptr;

  // "the module WHAT: CUDA_ERROR_NOT_FOUND".
  Status check(Error error, std::string_view what) const;

 private:
  Error (*error_name_)(Error, const char**) = nullptr;
};

}  // namespace weft::nvshmem
