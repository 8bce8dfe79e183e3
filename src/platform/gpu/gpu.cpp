#include "src/platform/gpu/gpu.hpp"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "src/base/status.hpp"
#include "src/platform/gpu/gpu_platform.hpp"
#include "src/platform/gpu/driver.hpp"

namespace weft::gpu {
namespace {

Result<int> count_gpus(const Driver& driver) {
  int count = 0;
  RETURN_IF_ERROR(
      driver.check(driver.call().device_count(&count), "cuDeviceGetCount", "count GPUs"));
  return count;
}

Result<Gpu> describe(const Driver& driver, int ordinal) {
  const abi::Table& call = driver.call();
  ASSIGN_OR_RETURN(const Identity identity, identify(driver, ordinal));
  Gpu gpu;
  gpu.ordinal = ordinal;
  gpu.bus = identity.bus;
  char name[256] = {};
  RETURN_IF_ERROR(driver.check(call.device_name(name, sizeof name, ordinal), "cuDeviceGetName",
                               "ask for a GPU's name"));
  gpu.name = name;
  RETURN_IF_ERROR(driver.check(call.device_memory(&gpu.bytes, ordinal), "cuDeviceTotalMem",
                               "ask for a GPU's memory"));
  for (const auto& [attribute, value] : {std::pair(abi::Attribute::kComputeMajor, &gpu.major),
                                         std::pair(abi::Attribute::kComputeMinor, &gpu.minor)}) {
    RETURN_IF_ERROR(driver.check(call.device_attribute(value, attribute, ordinal),
                                 "cuDeviceGetAttribute", "ask what a GPU can do"));
  }
  return gpu;
}

// One per library and GPU. Never freed: memory and streams of theirs may live as long as the
// process.
Result<GpuPlatform*> find_or_open(const std::string& library, int ordinal) {
  static std::mutex mutex;
  static auto* const all = new std::map<std::pair<std::string, int>, std::unique_ptr<GpuPlatform>>;
  ASSIGN_OR_RETURN(const Driver* const driver, Driver::get(library));
  const std::lock_guard lock(mutex);
  auto& platform = (*all)[{library, ordinal}];
  if (platform == nullptr) {
    ASSIGN_OR_RETURN(const int count, count_gpus(*driver));
    if (ordinal < 0 || ordinal >= count) {
      return Status::error(Code::kOutOfRange,
                           fmt::format("there is no GPU {}: {} visible to this process, counted "
                                       "from 0; look at CUDA_VISIBLE_DEVICES",
                                       ordinal, count));
    }
    ASSIGN_OR_RETURN(auto device, Device::open(*driver, ordinal));
    platform = std::make_unique<GpuPlatform>(std::move(device));
  }
  return platform.get();
}

}  // namespace

Result<std::vector<Gpu>> gpus(const std::string& library) {
  ASSIGN_OR_RETURN(const Driver* const driver, Driver::get(library));
  ASSIGN_OR_RETURN(const int count, count_gpus(*driver));
  std::vector<Gpu> found;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    ASSIGN_OR_RETURN(Gpu gpu, describe(*driver, ordinal));
    found.push_back(std::move(gpu));
  }
  return found;
}

Result<int> current_gpu(const std::string& library) {
  ASSIGN_OR_RETURN(const Driver* const driver, Driver::get(library));
  abi::Device device = -1;
  const abi::Error error = driver->call().context_device(&device);
  if (error == abi::Error::kInvalidContext) return -1;  // none is current
  RETURN_IF_ERROR(driver->check(error, "cuCtxGetDevice", "find the current GPU"));
  return device;
}

Status make_current(const std::string& library, int ordinal) {
  ASSIGN_OR_RETURN(GpuPlatform* const found, find_or_open(library, ordinal));
  const Device& device = found->device();
  return device.check(device.call().context_set(device.context()), "cuCtxSetCurrent",
                      "make the context current");
}

Result<Platform*> platform(const std::string& library, int ordinal) {
  ASSIGN_OR_RETURN(GpuPlatform* const found, find_or_open(library, ordinal));
  return static_cast<Platform*>(found);
}

}  // namespace weft::gpu
