#include "python/src/gpu.hpp"

#include <dlfcn.h>

#include <type_traits>

#include <fmt/format.h>

namespace weft::python {
namespace {

// The functions of the driver that are called here, as they have been since CUDA 10.
struct Driver {
  using Error = int;
  using Address = unsigned long long;
  Error (*init)(unsigned) = nullptr;
  Error (*device_get)(int*, int) = nullptr;
  Error (*primary_retain)(void**, int) = nullptr;
  Error (*get_current)(void**) = nullptr;
  Error (*set_current)(void*) = nullptr;
  Error (*push_current)(void*) = nullptr;
  Error (*pop_current)(void**) = nullptr;
  Error (*synchronize)() = nullptr;
  Error (*is_capturing)(void*, int*) = nullptr;
  Error (*allocate)(Address*, std::size_t) = nullptr;
  Error (*free)(Address) = nullptr;
  Error (*copy_to)(Address, const void*, std::size_t) = nullptr;
  Error (*error_string)(Error, const char**) = nullptr;
  Status loaded;

  Driver() {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      loaded = Status::error(
          Code::kUnsupported,
          fmt::format("NVIDIA's driver cannot be loaded: {}; it comes with the GPU's driver (in a "
                      "container: --gpus all), and without a GPU device=\"cpu\" serves",
                      dlerror()));
      return;
    }
    const auto find = [&](auto& function, const char* name) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      if (function == nullptr)
        loaded = Status::error(Code::kUnsupported,
                               fmt::format("libcuda.so.1 has no {}; its driver is too old", name));
    };
    find(init, "cuInit");
    find(device_get, "cuDeviceGet");
    find(primary_retain, "cuDevicePrimaryCtxRetain");
    find(get_current, "cuCtxGetCurrent");
    find(set_current, "cuCtxSetCurrent");
    find(push_current, "cuCtxPushCurrent_v2");
    find(pop_current, "cuCtxPopCurrent_v2");
    find(synchronize, "cuCtxSynchronize");
    find(is_capturing, "cuStreamIsCapturing");
    find(allocate, "cuMemAlloc_v2");
    find(free, "cuMemFree_v2");
    find(copy_to, "cuMemcpyHtoD_v2");
    find(error_string, "cuGetErrorString");
    if (loaded) loaded = status_of("cuInit", init(0));
  }

  Status status_of(const char* routine, Error error) const {
    if (error == 0) return Status::ok();
    const char* text = nullptr;
    if (error_string(error, &text) != 0 || text == nullptr) text = "unknown error";
    return Status::error(Code::kInternal, fmt::format("{}: {} ({})", routine, text, error));
  }
};

// Loaded at the first use, and for good.
const Driver& driver() {
  static const Driver loaded;
  return loaded;
}

}  // namespace

Status Gpu::load_driver() { return driver().loaded; }

bool Gpu::is_in_use() {
  void* const loaded = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (loaded == nullptr) return false;
  const auto count_of = reinterpret_cast<int (*)(int*)>(dlsym(loaded, "cuDeviceGetCount"));
  const auto state_of =
      reinterpret_cast<int (*)(int, unsigned*, int*)>(dlsym(loaded, "cuDevicePrimaryCtxGetState"));
  bool is_used = false;
  int devices = 0;
  // Fails where nobody has initialised the driver.
  if (count_of != nullptr && state_of != nullptr && count_of(&devices) == 0)
    for (int device = 0; device < devices; ++device) {
      unsigned flags = 0;
      int is_active = 0;
      is_used = is_used || (state_of(device, &flags, &is_active) == 0 && is_active != 0);
    }
  dlclose(loaded);
  return is_used;
}

Result<Gpu> Gpu::open(int ordinal) {
  const Driver& cuda = driver();
  if (!cuda.loaded) return cuda.loaded;
  int device = 0;
  void* context = nullptr;
  Status status = cuda.status_of("cuDeviceGet", cuda.device_get(&device, ordinal));
  if (status)
    status = cuda.status_of("cuDevicePrimaryCtxRetain", cuda.primary_retain(&context, device));
  if (!status) return status;
  return Gpu(ordinal, context);
}

Status Gpu::synchronize() const {
  const Current mine(this);
  return driver().status_of("cuCtxSynchronize", driver().synchronize());
}

Result<std::shared_ptr<void>> Gpu::copy_of(const void* source, std::size_t bytes) const {
  const Current mine(this);
  const Driver& cuda = driver();
  Driver::Address address = 0;
  if (Status status = cuda.status_of("cuMemAlloc", cuda.allocate(&address, bytes)); !status)
    return status;
  std::shared_ptr<void> copy(reinterpret_cast<void*>(address), [gpu = *this](void* memory) {
    const Current there(&gpu);
    driver().free(reinterpret_cast<Driver::Address>(memory));
  });
  if (Status status = cuda.status_of("cuMemcpyHtoD", cuda.copy_to(address, source, bytes)); !status)
    return status;
  return copy;
}

Status Gpu::check_not_captured(void* stream) {
  int captured = 0;  // none
  if (stream == nullptr || driver().is_capturing(stream, &captured) != 0 || captured == 0)
    return Status::ok();
  return Status::error(
      Code::kInvalidArgument,
      "a graph is captured on this stream, and a tensor or an operator is made, or given back, by "
      "all PEs' host threads together: do so before, as by a first call (warm up), and keep it");
}

Gpu::Current::Current(const Gpu* gpu) {
  void* now = nullptr;
  if (gpu == nullptr || driver().get_current(&now) != 0 || now == gpu->context_) return;
  if (now == nullptr)
    driver().set_current(gpu->context_);
  else
    pushed_ = driver().push_current(gpu->context_) == 0;
}

Gpu::Current::~Current() {
  void* mine = nullptr;
  if (pushed_) driver().pop_current(&mine);
}

}  // namespace weft::python
