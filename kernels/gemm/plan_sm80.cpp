#include "kernels/gemm/plan_sm80.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "kernels/core/status.hpp"

namespace weft::kernels::sm80 {
namespace {

using gemm::ceil_div;

constexpr const char* kPrefix = "sm80/";

Plan with(int index, int m, int n, const DeviceModel& device) {
  const Tile& tile = kTiles[index];
  Plan p;
  p.tile = index;
  p.rows = ceil_div(m, tile.m);
  p.columns = ceil_div(n, tile.n);
  const long long tiles = 1ll * p.rows * p.columns;
  p.blocks = static_cast<int>(std::min<long long>(tiles, std::max(1, device.blocks[index])));
  p.waves = static_cast<int>((tiles + p.blocks - 1) / p.blocks);
  // Raster groups so high that the tiles of a wave cover a patch of C nearly as high as wide, and
  // all alike.
  const double high = std::sqrt(static_cast<double>(p.blocks) * tile.n / tile.m);
  p.group_rows = ceil_div(p.rows, std::max(1, static_cast<int>(std::lround(p.rows / high))));
  return p;
}

// The work of the SM that has most to do: blocks that share one share its rate.
double cost(const Plan& p, const DeviceModel& device) {
  const Tile& tile = kTiles[p.tile];
  const long long tiles = 1ll * p.rows * p.columns;
  const long long most = (tiles + device.num_sms - 1) / device.num_sms;
  return static_cast<double>(most) * tile.m * tile.n * tile.cost;
}

}  // namespace

std::string name_of(const Tile& tile) { return fmt::format("{}{}x{}", kPrefix, tile.m, tile.n); }

bool is_name(const std::string& name) { return name.rfind(kPrefix, 0) == 0; }

Result<int> tile_named(const std::string& name) {
  if (name.empty()) return -1;
  std::string all;
  for (int i = 0; i < kTileCount; ++i) {
    if (name == name_of(kTiles[i])) return i;
    all += (i == 0 ? "" : ", ") + name_of(kTiles[i]);
  }
  return Status::error(Code::kInvalidArgument,
                       fmt::format("Gemm: options.tile is \"{}\"; of the kernels of sm_80 there "
                                   "are {}, or \"\" for the plan's",
                                   name, all));
}

Plan plan(int m, int n, const DeviceModel& device, int tile) {
  if (tile >= 0) return with(tile, m, n, device);
  Plan best = with(0, m, n, device);
  for (int i = 1; i < kTileCount; ++i) {
    const Plan p = with(i, m, n, device);
    if (cost(p, device) < cost(best, device)) best = p;
  }
  return best;
}

std::string describe(const Plan& plan) {
  const Tile& tile = kTiles[plan.tile];
  return fmt::format("tile {}, {} stages; {} x {} tiles in groups of {}, {} blocks, {} wave{}",
                     name_of(tile), tile.stages, plan.rows, plan.columns, plan.group_rows,
                     plan.blocks, plan.waves, plan.waves == 1 ? "" : "s");
}

}  // namespace weft::kernels::sm80
