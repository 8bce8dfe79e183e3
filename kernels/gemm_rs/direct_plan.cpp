#include "kernels/gemm_rs/direct_plan.hpp"

#include <limits>

#include "kernels/gemm_rs/plan.hpp"

namespace weft::kernels::gemm_rs {
namespace {

// In us and bytes a us, of two H200 (docs/design/fused.md).
constexpr double kHop = 1.8;          // a word's way, and the look for it
constexpr double kLinkBytes = 300e3;  // that a member sends
constexpr double kReduceStart = 4.6;  // an AllReduce of next to nothing behind a product

double bytes_of_sum(const DirectShape& s) { return 2.0 * s.m * s.n; }

struct Sum {
  Way way;
  double us;  // behind the product
};
Sum sum_of(const DirectShape& s, int tiles) {
  const double all = (s.members - 1) * bytes_of_sum(s) / kLinkBytes, share = all / s.members;
  if (s.scatters) return {Way::kScatter, kHop + share};
  const double one = kHop + all, two = 2 * kHop + 2 * share;
  if (takes_two_shots(tiles, s.members) && two < one) return {Way::kTwoShots, two};
  return {Way::kOneShot, one};
}

}  // namespace

DirectPlan direct_plan(const DirectShape& s, const gemm::Machine& machine, int tile) {
  DirectPlan best;
  best.us = std::numeric_limits<double>::infinity();
  for (int i = 0; i < static_cast<int>(gemm::kTiles.size()); ++i) {
    const gemm::Tile& shape = gemm::kTiles[static_cast<std::size_t>(i)];
    if (!shape.splits || (tile >= 0 && tile != i)) continue;
    const gemm::Plan product = gemm::plan(s.m, s.n, s.k, machine, i);
    if (product.turns != 1 || machine.clusters[static_cast<std::size_t>(product.cluster)] == 0)
      continue;
    const Sum sum = sum_of(s, product.rows * product.columns);
    if (product.us + sum.us < best.us) best = {product, sum.way, product.us + sum.us};
  }
  return best;
}

double sequential_us(const DirectShape& s, const gemm::Machine& machine) {
  if (s.scatters)
    return sequential_us(Shape{s.members, gemm::ceil_div(s.m, s.members), s.n, s.k}, machine);
  const double sent = 4.0 * (s.members - 1) / s.members * bytes_of_sum(s);  // in packets
  return gemm::plan(s.m, s.n, s.k, machine).us + kReduceStart + sent / kLinkBytes;
}

}  // namespace weft::kernels::gemm_rs
