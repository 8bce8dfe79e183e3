#include "host/info/gpu.hpp"

#include <fmt/format.h>

#include "host/transport/ib/ib.hpp"
#include "src/base/status.hpp"
#include "src/platform/gpu/gpu.hpp"

namespace weft::info {
namespace {

// A PE's heap needs this of its GPU: address space, memory in it, a handle for other processes.
Status try_memory(const gpu::Library& driver, int ordinal) {
  ASSIGN_OR_RETURN(Platform* const gpu, gpu::platform(driver, ordinal));
  ASSIGN_OR_RETURN(const Memory range, gpu->reserve(gpu->granularity()));
  ASSIGN_OR_RETURN(const Memory chunk,
                   gpu->commit({range.base(), gpu->granularity()}, MemoryHints()));
  return gpu->share(chunk).status();
}

// NVIDIA's go by the architecture that compilers call sm_90; AMD's 9.4 is gfx942.
std::string describe(const gpu::Library& driver, const gpu::Gpu& gpu) {
  const std::string architecture = driver.kind == gpu::Kind::kHip
                                       ? fmt::format("gfx {}.{}", gpu.major, gpu.minor)
                                       : fmt::format("sm_{}{}", gpu.major, gpu.minor);
  return fmt::format("{} ({}, {} GiB, {})", gpu.name, architecture, gpu.bytes >> 30, gpu.bus);
}

// "; 0 and 1 do not reach each other: ...", for each such pair.
Result<std::string> pairs_apart(const gpu::Library& driver, int count) {
  std::string found;
  for (int a = 0; a < count; ++a) {
    ASSIGN_OR_RETURN(const Platform* const one, gpu::platform(driver, a));
    for (int b = a + 1; b < count; ++b) {
      ASSIGN_OR_RETURN(const Platform* const other, gpu::platform(driver, b));
      if (!one->why_not_mapped(other->identity()).empty())
        found += fmt::format(
            "; {} and {} do not reach each other: their data goes through host memory", a, b);
    }
  }
  return found;
}

Line gpus_of(const char* name, const gpu::Library& driver) {
  const auto gpus = gpu::gpus(driver);
  if (!gpus) return missing(name, std::string(gpus.status().text()));
  std::string found;
  for (const gpu::Gpu& gpu : *gpus) {
    const Status tried = try_memory(driver, gpu.ordinal);
    if (!tried.is_ok()) return missing(name, std::string(tried.text()));
    found += fmt::format("{}{}: {}", found.empty() ? "" : "; ", gpu.ordinal, describe(driver, gpu));
  }
  const auto apart = pairs_apart(driver, static_cast<int>(gpus->size()));
  if (!apart) return missing(name, std::string(apart.status().text()));
  return there(name, found + "; symmetric memory and its sharing tried on each" + *apart);
}

// The GPUs of the first driver that has one.
Result<Platform*> first_gpu(const Options& options) {
  Status refused;
  for (const gpu::Library& driver : {gpu::Library{gpu::Kind::kCuda, options.cuda_library},
                                     gpu::Library{gpu::Kind::kHip, options.hip_library}}) {
    auto found = gpu::platform(driver, 0);
    if (found.is_ok()) return found;
    if (refused.is_ok()) refused = found.status();
  }
  return refused;
}

}  // namespace

Line gpu_rdma(const Options& options) {
  constexpr const char* kName = "gpus by rdma";
  const auto gpu = first_gpu(options);
  if (!gpu) return missing(kName, std::string(gpu.status().text()));
  const auto way = ib_gpu_memory(options, **gpu);
  return way.is_ok() ? there(kName, *way) : missing(kName, std::string(way.status().text()));
}

Line cuda(const Options& options) {
  return gpus_of("cuda gpus", {gpu::Kind::kCuda, options.cuda_library});
}
Line hip(const Options& options) {
  return gpus_of("hip gpus", {gpu::Kind::kHip, options.hip_library});
}

}  // namespace weft::info
