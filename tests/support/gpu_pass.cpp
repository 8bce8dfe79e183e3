#include "tests/support/gpu_pass.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <weft/weft.hpp>

#include "src/base/dynlib.hpp"
#include "src/base/status.hpp"
#include "src/platform/gpu/gpu.hpp"

namespace weft {
namespace {

constexpr std::uint64_t kCount = 10'000;
constexpr unsigned kThreads = 128;

// The driver's functions that load and launch a kernel; as cuda.h declares them.
struct Driver {
  int (*load)(void** module, const void* image);
  int (*function)(void** function, void* module, const char* name);
  int (*launch)(void* function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                unsigned shared_bytes, void* stream, void** arguments, void** extra);
  int (*create_stream)(void** stream, unsigned flags);
  int (*synchronize)(void* stream);
  int (*destroy_stream)(void* stream);

  static Result<Driver> open() {
    const std::string names[] = {"libcuda.so.1"};
    ASSIGN_OR_RETURN(const Dynlib library, Dynlib::open(names));
    Driver made;
    RETURN_IF_ERROR(library.find("cuModuleLoadData", made.load));
    RETURN_IF_ERROR(library.find("cuModuleGetFunction", made.function));
    RETURN_IF_ERROR(library.find("cuLaunchKernel", made.launch));
    RETURN_IF_ERROR(library.find("cuStreamCreate", made.create_stream));
    RETURN_IF_ERROR(library.find("cuStreamSynchronize", made.synchronize));
    RETURN_IF_ERROR(library.find("cuStreamDestroy_v2", made.destroy_stream));
    return made;
  }
};

Status check(int error, const char* what) {
  if (error == 0) return Status::ok();
  return Status::error(Code::kInternal, fmt::format("{}: CUDA error {}", what, error));
}

std::uint64_t mark(int pe, std::uint64_t i) {
  return (static_cast<std::uint64_t>(pe) + 1) << 32 | i;
}

Status run_one_pe(Runtime& rt, const Driver& driver, const std::string& image, ContextBy by) {
  ASSIGN_OR_RETURN(auto* data, rt.allocate_device<std::uint64_t>(2 * kCount));
  ASSIGN_OR_RETURN(auto* signal, rt.allocate_device<std::uint64_t>(1));
  ASSIGN_OR_RETURN(DeviceContext context, rt.context().device());
  ASSIGN_OR_RETURN(const DeviceContext* in_memory, rt.context().device_pointer());
  std::vector<std::uint64_t> words(2 * kCount);
  for (std::uint64_t i = 0; i < kCount; ++i) words[i] = mark(rt.pe(), i);
  const std::uint64_t zero = 0;
  RETURN_IF_ERROR(rt.context().put(data, words.data(), words.size(), rt.pe()));
  RETURN_IF_ERROR(rt.context().put(signal, &zero, 1, rt.pe()));

  // The runtime made its GPU current in this thread.
  void *module = nullptr, *function = nullptr, *stream = nullptr;
  RETURN_IF_ERROR(check(driver.load(&module, image.c_str()), "cuModuleLoadData"));
  RETURN_IF_ERROR(check(driver.function(&function, module, "pass"), "cuModuleGetFunction"));
  constexpr unsigned kNonBlocking = 1;
  RETURN_IF_ERROR(check(driver.create_stream(&stream, kNonBlocking), "cuStreamCreate"));
  RETURN_IF_ERROR(rt.barrier());  // everything is loaded before any kernel waits

  std::uint64_t count = kCount;
  void* const first =
      by == ContextBy::kValue ? static_cast<void*>(&context) : static_cast<void*>(&in_memory);
  void* arguments[] = {first, &data, &signal, &count};
  RETURN_IF_ERROR(
      check(driver.launch(function, 1, 1, 1, kThreads, 1, 1, 0, stream, arguments, nullptr),
            "cuLaunchKernel"));
  RETURN_IF_ERROR(check(driver.synchronize(stream), "cuStreamSynchronize"));
  RETURN_IF_ERROR(rt.health());

  RETURN_IF_ERROR(rt.context().get(words.data(), data, words.size(), rt.pe()));
  const int left = (rt.pe() + rt.npes() - 1) % rt.npes();
  for (std::uint64_t i = 0; i < kCount; ++i) {
    if (words[kCount + i] == mark(left, i)) continue;
    return Status::error(Code::kInternal, fmt::format("PE {}: word {} is {:#x}, not {:#x}", rt.pe(),
                                                      i, words[kCount + i], mark(left, i)));
  }
  RETURN_IF_ERROR(rt.barrier());
  return check(driver.destroy_stream(stream), "cuStreamDestroy");
}

}  // namespace

Status run_pass(const std::string& image, ContextBy by) {
  ASSIGN_OR_RETURN(const Driver driver, Driver::open());
  return run_local(2, [&](Runtime& rt) -> Status {
    if (rt.gpu() < 0) return Status::error(Code::kInternal, "the runtime took no GPU");
    return run_one_pe(rt, driver, image, by);
  });
}

int why_skipped() {
  // Kernels of PEs that share a GPU wait for each other: not one queue, nothing loaded late. The
  // driver reads both when it starts.
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  constexpr int kSkipped = 77;  // what ctest takes for a skipped test
  const auto gpus = gpu::gpus({gpu::Kind::kCuda, ""});
  if (gpus && !gpus->empty()) return 0;
  std::printf("skipped: %s\n",
              gpus ? "there is no GPU" : std::string(gpus.status().text()).c_str());
  return kSkipped;
}

}  // namespace weft
