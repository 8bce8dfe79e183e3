// Uses the recipe gemm_tile: the planner finds the tile by its key and its name, and its tiles
// cover C, each element once. The tile's kernels are compiled by nvcc (run.py).
#include <cstdio>
#include <vector>

#include "kernels/gemm/plan.hpp"

namespace {

using namespace weft::kernels;

constexpr int kM = 200, kN = 300, kK = 640;

const char* check() {
  const int tile = gemm::tile_of(64, 112);
  if (tile < 0) return "no tile has the key 64x112";
  const auto named = gemm::tile_named("Gemm", "64x112");
  if (!named.is_ok() || *named != tile) return "no tile is named 64x112";
  const gemm::Plan plan = gemm::plan(kM, kN, kK, DeviceModel{}, tile);
  if (plan.tile != tile) return "a plan has another tile than it was told";
  std::printf("%s\n", gemm::describe(plan).c_str());

  const gemm::TileScheduler<false> scheduler{1,  0,   plan.rows, plan.columns, plan.group_rows,
                                             64, 112, 1,         kK / 64};
  std::vector<int> times(kM * kN);
  gemm::Work work;
  for (int index = 0; scheduler.work(index, 0, &work); ++index)
    for (int row = work.row; row < work.row + 64 && row < kM; ++row)
      for (int column = work.column; column < work.column + 112 && column < kN; ++column)
        ++times[static_cast<std::size_t>(row * kN + column)];
  for (const int count : times)
    if (count != 1) return "an element of C is not computed once";
  return nullptr;
}

}  // namespace

int main() {
  const char* const wrong = check();
  if (wrong != nullptr) std::fprintf(stderr, "%s\n", wrong);
  return wrong == nullptr ? 0 : 1;
}
