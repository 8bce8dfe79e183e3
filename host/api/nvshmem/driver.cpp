#include "host/api/nvshmem/driver.hpp"

#include <dlfcn.h>

#include <fmt/format.h>

namespace weft::nvshmem {
namespace {

// A driver of CUDA 11 has no libraries: what is missing is missed when it is called for.
template <class Function>
bool find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  return function != nullptr;
}

}  // namespace

Result<Driver> Driver::get(const std::string& library) {
  const std::string name = library.empty() ? "libcuda.so.1" : library;
  void* const opened = ::dlopen(name.c_str(), RTLD_LAZY);
  if (opened == nullptr)
    return Status::error(Code::kUnsupported,
                         fmt::format("there is no driver for GPUs: {}", ::dlerror()));
  Driver driver;
  if (!find(opened, "cuModuleGetGlobal_v2", driver.module_symbol) ||
      !find(opened, "cuLibraryGetGlobal", driver.library_symbol) ||
      !find(opened, "cuMemcpyHtoD_v2", driver.copy_in) ||
      !find(opened, "cuGetErrorName", driver.error_name_))
    return Status::error(Code::kUnsupported,
                         fmt::format("{} is a driver older than that of CUDA 12", name));
  return driver;
}

Status Driver::check(Error error, std::string_view what) const {
  if (error == 0) return Status::ok();
  const char* name = nullptr;
  if (error_name_(error, &name) != 0 || name == nullptr) name = "an unknown error";
  return Status::error(Code::kInvalidArgument, fmt::format("the module {}: {}", what, name));
}

}  // namespace weft::nvshmem
