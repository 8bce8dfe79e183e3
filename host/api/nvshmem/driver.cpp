#include "host/api/nvshmem/driver.hpp"

#include <dlfcn.h>

#include <fmt/format.h>

namespace weft::nvshmem {

Result<Driver> Driver::open(const std::string& library) {
  const std::string name = library.empty() ? "libcuda.so.1" : library;
  if (void* const opened = ::dlopen(name.c_str(), RTLD_LAZY)) return Driver(opened);
  return Status::error(Code::kUnsupported,
                       fmt::format("there is no driver for GPUs: {}", ::dlerror()));
}

Status Driver::module_symbol(CUmodule module, const char* name, Pointer* at,
                             std::size_t* bytes) const {
  using Function = Error (*)(Pointer*, std::size_t*, CUmodule, const char*);
  return call("cuModuleGetGlobal_v2", Function{}, at, bytes, module, name);
}

Status Driver::library_symbol(CUlibrary library, const char* name, Pointer* at,
                              std::size_t* bytes) const {
  using Function = Error (*)(Pointer*, std::size_t*, CUlibrary, const char*);
  return call("cuLibraryGetGlobal", Function{}, at, bytes, library, name);
}

Status Driver::copy_in(Pointer dst, const void* src, std::size_t bytes) const {
  using Function = Error (*)(Pointer, const void*, std::size_t);
  return call("cuMemcpyHtoD_v2", Function{}, dst, src, bytes);
}

Status Driver::synchronize(cudaStream_t stream) const {
  using Function = Error (*)(cudaStream_t);
  return call("cuStreamSynchronize", Function{}, stream);
}

template <class... Parameters, class... Arguments>
Status Driver::call(const char* function, Error (*)(Parameters...), Arguments... arguments) const {
  const auto found = reinterpret_cast<Error (*)(Parameters...)>(::dlsym(library_, function));
  if (found == nullptr)
    return Status::error(Code::kUnsupported,
                         fmt::format("the driver has no {}; that of CUDA 12 has", function));
  const Error error = found(arguments...);
  return error == 0 ? Status::ok() : failure(function, error);
}

Status Driver::failure(const char* function, Error error) const {
  const auto name_of =
      reinterpret_cast<Error (*)(Error, const char**)>(::dlsym(library_, "cuGetErrorName"));
  const char* name = nullptr;
  if (name_of == nullptr || name_of(error, &name) != 0 || name == nullptr) name = "CUDA_ERROR";
  return Status::error(Code::kInvalidArgument, fmt::format("{}: {} ({})", function, name, error));
}

}  // namespace weft::nvshmem
