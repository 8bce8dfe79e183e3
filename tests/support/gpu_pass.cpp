#include "tests/support/gpu_pass.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <weft/weft.hpp>

#include "src/base/status.hpp"
#include "src/platform/gpu/driver.hpp"
#include "src/platform/gpu/gpu.hpp"

namespace weft {
namespace {

constexpr std::uint64_t kCount = 10'000;
constexpr unsigned kThreads = 128;

std::uint64_t mark(int pe, std::uint64_t i) {
  return (static_cast<std::uint64_t>(pe) + 1) << 32 | i;
}

Status run_one_pe(Runtime& rt, const std::string& image, ContextBy by) {
  ASSIGN_OR_RETURN(const gpu::Driver* const driver, gpu::Driver::get({gpu::Kind::kCuda, ""}));
  const gpu::abi::Table& call = driver->call();
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
  RETURN_IF_ERROR(driver->check(call.module_load(&module, image.c_str()), "load the kernel"));
  RETURN_IF_ERROR(driver->check(call.module_function(&function, module, "pass"), "find it"));
  RETURN_IF_ERROR(
      driver->check(call.stream_create(&stream, gpu::abi::kNonBlocking), "create a stream"));
  RETURN_IF_ERROR(rt.barrier());  // everything is loaded before any kernel waits

  std::uint64_t count = kCount;
  void* const first =
      by == ContextBy::kValue ? static_cast<void*>(&context) : static_cast<void*>(&in_memory);
  void* arguments[] = {first, &data, &signal, &count};
  RETURN_IF_ERROR(
      driver->check(call.launch(function, 1, 1, 1, kThreads, 1, 1, 0, stream, arguments, nullptr),
                    "launch the kernel"));
  RETURN_IF_ERROR(driver->check(call.stream_synchronize(stream), "wait for the kernel"));
  RETURN_IF_ERROR(rt.health());

  RETURN_IF_ERROR(rt.context().get(words.data(), data, words.size(), rt.pe()));
  const int left = (rt.pe() + rt.npes() - 1) % rt.npes();
  for (std::uint64_t i = 0; i < kCount; ++i) {
    if (words[kCount + i] == mark(left, i)) continue;
    return Status::error(Code::kInternal, fmt::format("PE {}: word {} is {:#x}, not {:#x}", rt.pe(),
                                                      i, words[kCount + i], mark(left, i)));
  }
  RETURN_IF_ERROR(rt.barrier());
  return driver->check(call.stream_destroy(stream), "destroy a stream");
}

}  // namespace

Status run_pass(const std::string& image, ContextBy by) {
  return run_local(2, [&](Runtime& rt) -> Status {
    if (rt.gpu() < 0) return Status::error(Code::kInternal, "the runtime took no GPU");
    return run_one_pe(rt, image, by);
  });
}

bool finds_gpu(gpu::Kind kind) {
  // Kernels that wait for each other must not wait for one that is loaded at its first launch, nor
  // for another in the same hardware queue. The driver reads both when it starts.
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  const auto gpus = gpu::count_gpus({kind, ""});
  if (gpus && *gpus > 0) return true;
  std::printf("skipped: %s\n",
              gpus ? "there is no GPU" : std::string(gpus.status().text()).c_str());
  return false;
}

}  // namespace weft
