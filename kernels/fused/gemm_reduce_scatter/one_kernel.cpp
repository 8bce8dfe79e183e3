#include "kernels/fused/gemm_reduce_scatter/one_kernel.hpp"

#include <cmath>

#include <fmt/format.h>

#include "kernels/core/status.hpp"
#include "kernels/gemm/backend_table.hpp"

namespace weft::kernels::gemm_rs {

namespace {

constexpr auto kBackends = std::to_array<gemm::BackendRow<MakeOneKernel>>({
#define WEFT_GEMM_ONE_KERNEL(name, architectures, dtypes) \
  {#name, architectures, dtypes, &make_one_kernel_##name},
#include "kernels/gemm/backends.def.hpp"
});

using fused::part_of;
using fused::Setting;
using fused::Which;

// Which calls go in one kernel: up to how many rows.
class Choice {
 public:
  Choice(const Setting& setting, const DeviceModel& device, int tile, Which which, bool scatters)
      : s_(setting),
        device_(setting.shares_gpu() ? part_of(device, setting.agreement.gpu.sharers) : device),
        tile_(tile),
        which_(which),
        scatters_(scatters) {
    can_ = !s_.is_empty() && size() <= kMostMembers && s_.agreement.maps_all;
    if (s_.gpu)
      can_ = can_ && device.num_sms > 0 &&
             (tile < 0 || fits_one_kernel(gemm::tile_at(tile), scatters));
  }

  bool goes(std::int64_t rows) const {
    const bool are_few =
        s_.gpu && !scatters_ ? rows * s_.problem.n <= most_elements(size()) : rows <= kTileRows;
    return can_ && (which_ == Which::kAll || are_few) && (!s_.gpu || pays(rows)) &&
           (!takes_whole_tiles() || are_whole_tiles(rows));
  }
  // 0: none.
  std::int64_t most() const {
    std::int64_t rows = can_ && which_ != Which::kNone ? s_.problem.m : 0;
    while (rows > 0 && !goes(rows))
      rows = rows > kTileRows ? (rows - 1) / kTileRows * kTileRows : rows / 2;
    return rows;
  }
  bool takes_whole_tiles() const { return s_.gpu && size() > 2 && which_ == Which::kThatPay; }
  const DeviceModel& device() const { return device_; }

 private:
  int size() const { return s_.agreement.team_size; }
  bool pays(std::int64_t rows) const {
    const OneKernelShape shape{size(), static_cast<int>(rows), static_cast<int>(s_.problem.n),
                               static_cast<int>(s_.problem.k), scatters_};
    const OneKernelPlan plan = one_kernel_plan(shape, device_, tile_);
    return std::isfinite(plan.us) &&
           (which_ == Which::kAll || plan.us < other_strategies_us(shape, device_));
  }

  const Setting& s_;
  const DeviceModel device_;
  const int tile_;
  const Which which_;
  const bool scatters_;
  bool can_ = false;
};

Status refuse(const char* who, bool scatters) {
  return Status::error(
      Code::kUnsupported,
      fmt::format("{}: options.algorithm is kOneKernel, which needs up to {} members that map each "
                  "other, and on GPUs those of compute capability 9.0, kernels of Weft's own, and "
                  "a tile that splits k or is for few rows, and so few of them that all are "
                  "multiplied at once{}; leave it kAuto",
                  who, kMostMembers, scatters ? "" : ", or one of 128x80, 128x96 and 128x160"));
}

}  // namespace

Result<std::unique_ptr<OneKernel>> OneKernel::create(const Setting& setting,
                                                     const DeviceModel& device, Which which,
                                                     bool scatters) {
  int tile = -1;
  if (setting.gpu && setting.options.backend != GemmBackend::kCublas) {
    ASSIGN_OR_RETURN(tile, gemm::tile_named(setting.who, setting.options.tile, kOneKernelTiles));
  }
  const Choice choice(setting, device, tile, which, scatters);
  if (which == Which::kAll && !choice.goes(setting.problem.m) && !setting.is_empty())
    return refuse(setting.who, scatters);
  GemmProblem few = setting.problem;
  few.m = choice.most();
  std::unique_ptr<OneKernel> made;
  if (few.m == 0) return made;
  ASSIGN_OR_RETURN(
      std::unique_ptr<OneKernelTarget> target,
      gemm::make_by_first(setting.who, kBackends, setting.device, few.dtype, few,
                          setting.agreement.team_size, choice.device(), tile, scatters));
  made.reset(new OneKernel(setting, few.m, choice.takes_whole_tiles(), std::move(target)));
  return made;
}

OneKernelSpace OneKernel::space() const {
  OneKernelSpace space;
  space.members = size_;
  space.slot_words = target_->words();
  return space;
}

Status OneKernel::bind(Runtime& runtime, std::byte* workspace) {
  OneKernelSpace space = this->space();
  static_assert(sizeof(Record) <= kWorkspaceAlignment);
  space.record = reinterpret_cast<Record*>(workspace);
  space.words = reinterpret_cast<std::uint64_t*>(workspace + kWorkspaceAlignment);
  RETURN_IF_ERROR(empty_lamport_slots(runtime, space.words, space.all_words()));
  if (!team_.is_member()) return Status::ok();
  ASSIGN_OR_RETURN(members_, members_of(runtime, team_, space));
  return Status::ok();
}

std::string OneKernel::describe() const {
  return fmt::format("up to {} rows are multiplied and added up by one kernel: {}", most_,
                     target_->describe());
}

}  // namespace weft::kernels::gemm_rs
