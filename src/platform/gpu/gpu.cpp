#include "src/platform/gpu/gpu.hpp"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/status.hpp"
#include "src/platform/cuda/driver.hpp"
#include "src/platform/gpu/chunk.hpp"
#include "src/platform/gpu/driver.hpp"
#include "src/platform/gpu/gpu_platform.hpp"
#include "src/platform/gpu/reservation.hpp"
#include "src/platform/hip/driver.hpp"

namespace weft::gpu {
namespace {

Result<Gpu> describe(const Driver& driver, int ordinal) {
  const abi::Table& call = driver.call();
  ASSIGN_OR_RETURN(const Identity identity, identify(driver, ordinal));
  Gpu gpu;
  gpu.ordinal = ordinal;
  gpu.bus = identity.bus;
  char name[256] = {};
  RETURN_IF_ERROR(
      driver.check(call.device_name(name, sizeof name, ordinal), "ask for a GPU's name"));
  gpu.name = name;
  RETURN_IF_ERROR(driver.check(call.device_memory(&gpu.bytes, ordinal), "ask for a GPU's memory"));
  RETURN_IF_ERROR(driver.version(ordinal, gpu.major, gpu.minor));
  return gpu;
}

// A heap's work in small: chunks of several sizes in one reservation, shared, and opened beside
// one another. Drivers and sandboxes that say yes to each question fail in this.
Status try_sharing(const Device& device) {
  const std::size_t unit = device.granularity();
  ASSIGN_OR_RETURN(const auto space, Reservation::create(device, 6 * unit));
  std::byte* const base = space->range().base;
  ASSIGN_OR_RETURN(const auto small, Chunk::commit(device, {base, unit}));
  ASSIGN_OR_RETURN(const auto large, Chunk::commit(device, {base + unit, 2 * unit}));
  ASSIGN_OR_RETURN(const Blob of_small, small->share());
  ASSIGN_OR_RETURN(const Blob of_large, large->share());
  RETURN_IF_ERROR(Chunk::open(device, of_small, {base + 3 * unit, unit}).status());
  return Chunk::open(device, of_large, {base + 4 * unit, 2 * unit}).status();
}

// The first way that works. A GPU that is full says nothing about ways.
Status choose_way(Device& device) {
  std::string refusals;
  for (const Way way : {Way::kFd, Way::kFabric}) {
    Status tried = device.share_by(way);
    if (tried.is_ok()) tried = try_sharing(device);
    if (tried.is(Code::kOutOfMemory)) return tried;
    if (tried.is_ok()) {
      LOG(kInfo, "platform", "memory of {} is shared by {}{}", device.describe(), to_string(way),
          refusals);
      return tried;
    }
    refusals += fmt::format("; not by {}: {}", to_string(way), tried.text());
  }
  LOG(kInfo, "platform", "memory of {} is shared by {}, in one block that does not grow{}",
      device.describe(), to_string(Way::kIpc), refusals);
  return device.share_by(Way::kIpc);
}

// One per library and GPU, and another one once that GPU was reset. Never freed: memory and streams
// of theirs may live as long as the process.
Result<GpuPlatform*> find_or_open(const Library& library, int ordinal) {
  using Key = std::tuple<Kind, std::string, int>;
  static std::mutex mutex;
  static auto* const all = new std::map<Key, std::unique_ptr<GpuPlatform>>;
  ASSIGN_OR_RETURN(const Driver* const driver, Driver::get(library));
  const std::lock_guard lock(mutex);
  auto& platform = (*all)[{library.kind, library.file, ordinal}];
  if (platform != nullptr && platform->was_reset()) platform.release();  // memory may refer to it
  if (platform == nullptr) {
    ASSIGN_OR_RETURN(const int count, driver->count());
    if (ordinal < 0 || ordinal >= count) {
      return Status::error(Code::kOutOfRange,
                           fmt::format("there is no GPU {}: {} visible to this process, counted "
                                       "from 0; look at {}",
                                       ordinal, count, driver->words().visible));
    }
    const RelaxedCapture relaxed(*driver);
    ASSIGN_OR_RETURN(auto device, Device::open(*driver, ordinal));
    RETURN_IF_ERROR(choose_way(*device));
    platform = std::make_unique<GpuPlatform>(std::move(device), library);
  }
  return platform.get();
}

}  // namespace

const char* to_string(Kind kind) { return kind == Kind::kHip ? "HIP" : "CUDA"; }

bool is_loaded(Kind kind) { return kind == Kind::kHip ? hip::is_loaded() : cuda::is_loaded(); }

Result<int> count_gpus(const Library& library) {
  ASSIGN_OR_RETURN(const Driver* const driver, Driver::get(library));
  return driver->count();
}

Result<std::vector<Gpu>> gpus(const Library& library) {
  ASSIGN_OR_RETURN(const Driver* const driver, Driver::get(library));
  ASSIGN_OR_RETURN(const int count, driver->count());
  std::vector<Gpu> found;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    ASSIGN_OR_RETURN(Gpu gpu, describe(*driver, ordinal));
    found.push_back(std::move(gpu));
  }
  return found;
}

Result<int> current_gpu(const Library& library) {
  ASSIGN_OR_RETURN(const Driver* const driver, Driver::get(library));
  return driver->current();
}

Status make_current(const Library& library, int ordinal) {
  ASSIGN_OR_RETURN(GpuPlatform* const found, find_or_open(library, ordinal));
  const Device& device = found->device();
  return device.check(device.driver().settle(device.home()), "make it the current one");
}

Result<Platform*> platform(const Library& library, int ordinal) {
  ASSIGN_OR_RETURN(GpuPlatform* const found, find_or_open(library, ordinal));
  return static_cast<Platform*>(found);
}

}  // namespace weft::gpu
