#include "src/platform/gpu/kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include <weft/device/cpu_grid.hpp>

#include "src/base/log.hpp"
#include "src/base/status.hpp"
#include "src/platform/gpu/image.hpp"

namespace weft::gpu {
namespace {

// A grid of host threads that a stream of the driver starts.
struct HostGrid {
  const Kernel* kernel;
  unsigned blocks, threads;
  std::shared_ptr<std::vector<std::byte>> argument;

  Status run() const {
    const std::shared_ptr<const void> data(argument, argument->data());
    RETURN_IF_ERROR(cpu::launch(blocks, threads, 0, kernel->on_host, data, nullptr));
    return cpu::synchronize(nullptr);
  }
};

void run_host_grid(void* work) {
  const auto* const grid = static_cast<const HostGrid*>(work);
  if (const Status status = grid->run(); !status.is_ok())
    LOG(kError, "platform", "{}: {}", grid->kernel->name, status.text());
}

void release_host_grid(void* work) { delete static_cast<HostGrid*>(work); }

}  // namespace

Status Kernels::check() const {
  const Driver& driver = device_.driver();
  if (driver.on_host() != nullptr || !kernel_image(driver.kind()).empty()) return Status::ok();
  return Status::error(
      Code::kUnsupported,
      fmt::format("this libweft has no code for GPUs of {0}, since it was built without {1}'s "
                  "compiler; build it with -DWEFT_{1}=ON",
                  driver.words().vendor, driver.words().runtime));
}

Status Kernels::load(std::span<const Kernel* const> kernels, const Kernel& nothing) {
  if (!check().is_ok()) return Status::ok();  // whoever launches one is told
  if (device_.driver().on_host() == nullptr)
    for (const Kernel* kernel : kernels) RETURN_IF_ERROR(find(*kernel).status());
  nothing_.store(&nothing, std::memory_order_release);  // pairs with the acquire in begin
  return Status::ok();
}

Status Kernels::begin(Stream stream) {
  const Kernel* const nothing = nothing_.load(std::memory_order_acquire);
  if (nothing == nullptr) return Status::ok();
  const char argument = 0;  // of an empty kernel
  RETURN_IF_ERROR(launch(*nothing, 1, 1, &argument, stream));
  return device_.finish(stream, "wait for the first kernel of a stream");
}

Result<abi::Function> Kernels::find(const Kernel& kernel) {
  const std::lock_guard lock(mutex_);
  if (const auto known = functions_.find(&kernel); known != functions_.end()) return known->second;
  if (const Status there = check(); !there.is_ok())
    return Status::error(there.code(), fmt::format("{}: {}, or do the same in a kernel of yours",
                                                   kernel.name, there.text()));
  if (module_ == nullptr)
    RETURN_IF_ERROR(device_.check(
        device_.call().module_load(&module_, kernel_image(device_.driver().kind()).data()),
        "load Weft's kernels"));
  abi::Function function = nullptr;
  RETURN_IF_ERROR(device_.check(device_.call().module_function(&function, module_, kernel.name),
                                fmt::format("find {}", kernel.name)));
  functions_[&kernel] = function;
  return function;
}

Status Kernels::launch(const Kernel& kernel, unsigned blocks, unsigned threads,
                       const void* argument, Stream stream) {
  if (device_.driver().on_host() != nullptr)
    return launch_on_host(kernel, blocks, threads, argument, stream);
  ASSIGN_OR_RETURN(const abi::Function function, find(kernel));
  void* parameters[] = {const_cast<void*>(argument)};  // read only
  return device_.check(
      device_.call().launch(function, blocks, 1, 1, threads, 1, 1, 0, stream, parameters, nullptr),
      fmt::format("launch {}", kernel.name));
}

Status Kernels::launch_on_host(const Kernel& kernel, unsigned blocks, unsigned threads,
                               const void* argument, Stream stream) const {
  auto copy = std::make_shared<std::vector<std::byte>>(kernel.argument_bytes);
  std::memcpy(copy->data(), argument, kernel.argument_bytes);
  // Host threads are fewer; kernels share the work among as many as there are.
  auto grid = std::make_unique<HostGrid>(
      HostGrid{&kernel, std::min(blocks, 3u), std::min(threads, 8u), std::move(copy)});
  return device_.check(
      (*device_.driver().on_host())(stream, run_host_grid, grid.release(), release_host_grid),
      fmt::format("launch {}", kernel.name));
}

}  // namespace weft::gpu
