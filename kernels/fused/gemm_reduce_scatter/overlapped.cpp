#include "kernels/fused/gemm_reduce_scatter/overlapped.hpp"

#include <fmt/format.h>

#include "kernels/core/status.hpp"
#include "kernels/gemm/backend_table.hpp"

namespace weft::kernels::gemm_rs {

namespace {

constexpr auto kBackends = std::to_array<gemm::BackendRow<MakeOverlapped>>({
#define WEFT_GEMM_SCATTER(name, architectures, dtypes) \
  {#name, architectures, dtypes, &make_overlapped_##name},
#include "kernels/gemm/backends.def.hpp"
});

using fused::part_of;
using fused::Setting;
using fused::Which;

constexpr int kHostFrom = 16;   // rows of each
constexpr int kLeastRows = 64;  // of each, on a GPU: a tile has no fewer

bool can_overlap(const Setting& s, const DeviceModel& device, int tile) {
  const int size = s.agreement.team_size;
  const bool can =
      !s.is_empty() && size <= kMostMembers && s.problem.m >= size && s.agreement.maps_all;
  if (!can || !s.gpu) return can;
  return device.num_sms > 0 && s.problem.n % 8 == 0 && (tile < 0 || scatters(gemm::tile_at(tile)));
}

// A PE's part of what all have; its grid has as many blocks as there are SMs.
DeviceModel own_part(const Setting& s, const DeviceModel& device) {
  DeviceModel own = s.shares_gpu() ? part_of(device, s.agreement.gpu.sharers) : device;
  own.clusters[1] = own.num_sms;
  return own;
}

// From how many rows on calls overlap; more than there are: never.
std::int64_t first_rows(const Setting& s, const DeviceModel& device, int tile, Which which,
                        Pays pays) {
  const GemmProblem& p = s.problem;
  const int size = s.agreement.team_size;
  const auto do_pay = [&](std::int64_t rows) {
    if (!s.gpu) return rows >= kHostFrom;
    return rows >= kLeastRows &&
           pays({size, static_cast<int>(rows), static_cast<int>(p.n), static_cast<int>(p.k)},
                device, tile);
  };
  if (which == Which::kAll) return size;
  std::int64_t from = p.m + 1;
  for (std::int64_t rows = p.m / size; from > size && rows > 0 && do_pay(rows); rows /= 2)
    from = rows * size;
  return from;
}

Status refuse(const char* who) {
  return Status::error(
      Code::kUnsupported,
      fmt::format("{}: options.algorithm is kOverlapped, which needs a row for each member, up "
                  "to {} members that map each other, and on GPUs those of compute capability "
                  "9.0, kernels of Weft's own, n a multiple of 8 and a tile of at most 128 rows "
                  "that does not split k; leave it kAuto",
                  who, kMostMembers));
}

}  // namespace

Result<std::unique_ptr<Overlapped>> Overlapped::create(const Setting& setting,
                                                       const DeviceModel& device, Which which,
                                                       Pays pays) {
  int tile = -1;
  if (setting.gpu && setting.options.backend != GemmBackend::kCublas) {
    ASSIGN_OR_RETURN(tile, gemm::tile_named(setting.who, setting.options.tile, gemm::kOfTwoBytes));
  }
  const DeviceModel own = own_part(setting, device);
  const bool can =
      can_overlap(setting, device, tile) && (!setting.shares_gpu() || own.clusters[2] > 0);
  std::unique_ptr<Overlapped> made;
  if (which == Which::kAll && !can && !setting.is_empty()) return refuse(setting.who);
  if (!can || which == Which::kNone) return made;
  const std::int64_t from = first_rows(setting, own, tile, which, pays);
  if (from > setting.problem.m) return made;

  const int size = setting.agreement.team_size;
  GemmProblem each = setting.problem;
  each.m /= size;
  ASSIGN_OR_RETURN(std::unique_ptr<OverlappedTarget> target,
                   gemm::make_by_first(setting.who, kBackends, setting.device, each.dtype, each,
                                       size, own, tile));
  made.reset(new Overlapped(setting, from, std::move(target)));
  return made;
}

Status Overlapped::bind(Runtime& runtime, std::byte* workspace) {
  Space space;
  space.senders = size_ - 1;
  space.slot_bytes = slot_bytes();
  space.slot_flags = slot_flags();
  static_assert(sizeof(Record) <= kWorkspaceAlignment);
  space.record = reinterpret_cast<Record*>(workspace);
  space.staging = workspace + kWorkspaceAlignment;
  space.flags = reinterpret_cast<std::uint64_t*>(space.staging + staging_bytes());
  if (!team_.is_member()) return Status::ok();
  ASSIGN_OR_RETURN(members_, members_of(runtime, team_, space));
  return Status::ok();
}

std::string Overlapped::describe() const {
  return fmt::format("from {} rows on that all have a share of, tiles are sent as they come: {}",
                     from_, target_->describe());
}

}  // namespace weft::kernels::gemm_rs
