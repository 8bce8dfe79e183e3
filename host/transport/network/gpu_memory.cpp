#include "host/transport/network/gpu_memory.hpp"

#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "host/transport/apply.hpp"
#include "src/base/status.hpp"

namespace weft::network {

namespace {

struct WayRow {
  GpuWay way;
  std::string_view name;  // of WEFT_GPU_RDMA
  std::string_view help;
};
constexpr std::array kWays = {
    WayRow{GpuWay::kDmabuf, "dmabuf", "a file that the GPU's driver exports (dmabuf)"},
    WayRow{GpuWay::kPeer, "peer", "peer memory, of which the network device's driver knows"},
    WayRow{GpuWay::kStaged, "staged", "memory of the host (staged)"},
};

}  // namespace

Result<std::unique_ptr<GpuMemory>> GpuMemory::open(const TransportEnv& env, Registrar registrar) {
  ASSIGN_OR_RETURN(Side own, Side::create(*env.platform));
  ASSIGN_OR_RETURN(Side served, Side::create(*env.platform));
  std::unique_ptr<GpuMemory> made(
      new GpuMemory(env, std::move(registrar), std::move(own), std::move(served)));
  RETURN_IF_ERROR(made->choose(env.options->gpu_rdma));
  return made;
}

// By a page that is like those of the heap, since the heap has none yet.
Status GpuMemory::choose(const std::string& wanted) {
  const std::size_t page = platform_.granularity();
  ASSIGN_OR_RETURN(const Memory place, platform_.reserve(page));
  ASSIGN_OR_RETURN(const Memory probe, platform_.commit({place.base(), page}, {}));
  for (const WayRow& row : kWays) {
    way_ = row.way;
    if (wanted != "auto" && wanted != row.name) continue;
    const auto tried = add_by(row.way, probe.range());
    if (tried.is_ok()) return Status::ok();
    if (wanted != "auto")
      return Status::error(
          tried.status().code(),
          fmt::format("WEFT_GPU_RDMA={} is not possible with {}: {}. WEFT_GPU_RDMA=auto takes "
                      "another way",
                      wanted, platform_.describe(), tried.status().text()));
    others_ += fmt::format("; not by {}: {}", row.name, tried.status().text());
  }
  return Status::error(Code::kInternal, "no way to register GPU memory is left");
}

std::string GpuMemory::describe() const {
  const auto way = static_cast<std::size_t>(way_);
  return fmt::format("memory of {} by {}{}", platform_.describe(), kWays[way].help, others_);
}

Result<Registered> GpuMemory::add_by(GpuWay way, Range memory) const {
  if (way == GpuWay::kStaged) return Registered{};
  if (way == GpuWay::kPeer) return registrar_.by_address(memory.base, memory.bytes);
  ASSIGN_OR_RETURN(const Dmabuf file, platform_.export_dmabuf(memory));
  return registrar_.by_file(file, memory);
}

Result<Registered> GpuMemory::add(Range chunk) const {
  auto added = add_by(way_, chunk);
  if (added.is_ok()) return added;
  return Status::error(added.status().code(),
                       fmt::format("{}; WEFT_GPU_RDMA=staged goes through memory of the host",
                                   added.status().text()));
}

bool GpuMemory::holds(const void* address) const {
  const auto* const at = static_cast<const std::byte*>(address);
  if (at >= heap_.base && at < heap_.base + heap_.bytes) return true;
  return platform_.is_device_memory(address);
}

Status GpuMemory::copy(void* dst, const void* src, std::size_t bytes) {
  const std::lock_guard lock(own_mutex_);
  return own_.copy(dst, src, bytes);
}

Status GpuMemory::execute(const Op& op, std::byte* target, std::byte* signal) {
  if (is_amo(op.kind) || op.notify == NotifyOp::kAdd) RETURN_IF_ERROR(platform_.check_launch());
  const std::lock_guard lock(served_mutex_);
  auto* const local = reinterpret_cast<std::byte*>(op.local);
  if (op.kind == OpKind::kGet) return served_.copy(local, target, op.bytes);
  if (op.kind == OpKind::kPut) {
    RETURN_IF_ERROR(served_.copy(target, local, op.bytes));
    return served_.notify(op, signal);
  }
  if (!is_amo(op.kind)) return Status::ok();
  ASSIGN_OR_RETURN(const std::uint64_t old, served_.amo(op, target));
  bring_result(op, old);
  return Status::ok();
}

}  // namespace weft::network
