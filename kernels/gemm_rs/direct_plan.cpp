#include "kernels/gemm_rs/direct_plan.hpp"

#include <limits>

namespace weft::kernels::gemm_rs {
namespace {

// In us and bytes a us, of two H200 (docs/design/fused.md).
constexpr double kHop = 1.8;          // a word's way, and the look for it
constexpr double kLinkBytes = 300e3;  // that a member sends
constexpr double kReduceStart = 4.6;  // an AllReduce of next to nothing behind a product

double bytes_of_sum(const DirectShape& s) { return 2.0 * s.m * s.n; }

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
    const double others = s.members - 1;
    const double one = kHop + others * bytes_of_sum(s) / kLinkBytes;
    const double two = 2 * kHop + 2 * others / s.members * bytes_of_sum(s) / kLinkBytes;
    const bool two_shots = takes_two_shots(product.rows * product.columns, s.members) && two < one;
    const double us = product.us + (two_shots ? two : one);
    if (us < best.us) best = {product, two_shots, us};
  }
  return best;
}

double sequential_us(const DirectShape& s, const gemm::Machine& machine) {
  const double sent = 4.0 * (s.members - 1) / s.members * bytes_of_sum(s);  // in packets
  return gemm::plan(s.m, s.n, s.k, machine).us + kReduceStart + sent / kLinkBytes;
}

}  // namespace weft::kernels::gemm_rs
