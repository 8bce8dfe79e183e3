// Prints the plan of every problem that the reports measure: for two to eight members on H200's
// number of SMs. plans.txt has what it printed last; the test plans_are_recorded compares, so that
// a change of any plan is seen. After one that is meant:
//
//   build/cpu-release/bin/kernels_plans > tests/kernels/plans.txt
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include <fmt/format.h>

#include <weft/kernels/plan.hpp>

#include "kernels/fused/all_gather_gemm/plan.hpp"
#include "kernels/collectives/layout.hpp"
#include "kernels/collectives/limits.hpp"
#include "kernels/core/math.hpp"
#include "kernels/gemm/plan.hpp"
#include "kernels/gemm/plan_sm80.hpp"
#include "kernels/fused/gemm_reduce_scatter/one_kernel_plan.hpp"
#include "kernels/fused/gemm_reduce_scatter/plan.hpp"

namespace weft::kernels {
namespace {

constexpr int kNumSms = 132;

// --- collectives ---------------------------------------------------------------------------------

// The limits of an operator that is made for messages of exactly that size.
PlanLimits limits_for(Collective what, std::size_t bytes, int npes, bool symmetric, bool gpu) {
  const std::vector<PlanRow>& table = builtin_table(gpu);
  const unsigned blocks = most_blocks(what, bytes, npes, symmetric, table);
  const std::size_t busy = ceil_div(bytes, gpu ? 1024 : 16);
  PlanLimits limits;
  limits.symmetric = symmetric;
  limits.channels =
      static_cast<unsigned>(std::clamp<std::size_t>(busy, 1, std::clamp(blocks, 1u, kMostBlocks)));
  const Layout made = layout_of({what, bytes, 0, npes, limits.channels, gpu, true, gpu});
  limits.ll_bytes = made.ll_slot * dev::kLLPacketBytes;
  limits.simple_bytes = made.simple_slot;
  limits.lamport_bytes = made.lamport_bytes();
  return limits;
}

void print_collectives(bool gpu) {
  for (int what = 0; what <= static_cast<int>(Collective::kAllReduceNorm); ++what)
    for (int npes = 2; npes <= 8; ++npes)
      for (const bool symmetric : {false, true})
        for (std::size_t bytes = 256; bytes <= std::size_t{128} << 20; bytes *= 4) {
          const auto collective = static_cast<Collective>(what);
          const Result<Plan> made =
              plan(collective, bytes, npes, true,
                   limits_for(collective, bytes, npes, symmetric, gpu), builtin_table(gpu));
          fmt::print("{} {} {} PEs{}, {} B: {}\n", gpu ? "gpu" : "host", to_string(collective),
                     npes, symmetric ? ", symmetric" : "", bytes,
                     made ? to_string(*made) : made.status().to_string());
        }
}

// --- products ------------------------------------------------------------------------------------

struct Shape {
  int m, n, k;
};
constexpr Shape kGemms[] = {
    {8192, 3584, 8192}, {8192, 8192, 3584}, {8192, 6144, 12288}, {8192, 12288, 6144},
    {4096, 1280, 5120}, {8192, 1376, 4096}, {8192, 4096, 1376},  {8192, 1792, 4096},
    {8192, 4096, 1792}, {2048, 6400, 5120}, {4096, 6400, 5120},  {2048, 5120, 3200},
    {4096, 5120, 3200}, {4096, 5120, 1024}, {8192, 8192, 8192},  {1, 5120, 3200},
    {16, 5120, 3200},   {64, 5120, 3200},   {128, 5120, 3200},   {256, 5120, 3200},
    {512, 5120, 3200},  {1, 5120, 1024},    {16, 5120, 1024},    {64, 5120, 1024},
    {128, 5120, 1024},  {16, 6400, 5120},   {16, 1280, 5120},    {64, 1280, 5120},
    {128, 1280, 5120},  {64, 1024, 8192}};
constexpr Shape kE4m3Gemms[] = {{4096, 2112, 7168}, {4096, 24576, 1536}, {4096, 7168, 16384},
                                {4096, 4096, 7168}, {4096, 7168, 2048},  {8192, 8192, 8192},
                                {1, 7168, 2048},    {16, 4096, 7168},    {64, 2112, 7168},
                                {64, 7168, 16384},  {64, 4096, 7168},    {64, 7168, 2048},
                                {128, 4096, 7168},  {128, 7168, 2048},   {256, 7168, 2048}};
constexpr Shape kGathered[] = {{2048, 6400, 5120},  {4096, 6400, 5120}, {8192, 6400, 5120},
                               {4096, 1280, 5120},  {8192, 3584, 8192}, {8192, 3696, 8192},
                               {8192, 1376, 4096},  {8192, 1792, 4096}, {8192, 6144, 12288},
                               {8192, 6656, 16384}, {16, 6400, 5120},   {64, 6400, 5120},
                               {256, 6400, 5120},   {512, 6400, 5120},  {1024, 6400, 5120}};
constexpr Shape kSummed[] = {
    {8192, 8192, 3584},  {8192, 8192, 3696},  {8192, 4096, 1376}, {8192, 4096, 1792},
    {8192, 12288, 6144}, {8192, 16384, 6656}, {28000, 7168, 512}, {8192, 5120, 3200},
    {4096, 5120, 3200},  {2048, 5120, 3200},  {1024, 5120, 3200}, {512, 5120, 3200},
    {256, 5120, 3200},   {128, 5120, 3200},   {64, 5120, 3200},   {32, 5120, 3200},
    {16, 5120, 3200},    {8, 5120, 3200},     {1, 5120, 3200},    {4096, 5120, 1024},
    {2048, 5120, 1024},  {1024, 5120, 1024},  {512, 5120, 1024},  {256, 5120, 1024},
    {128, 5120, 1024},   {64, 5120, 1024},    {32, 5120, 1024},   {16, 5120, 1024},
    {8, 5120, 1024},     {1, 5120, 1024}};

// Rounded: what a compiler makes of the last digits is no plan.
std::string us(double expected) {
  return std::isfinite(expected) ? fmt::format("{:.4g} us", expected) : "never";
}
std::string text_of(const gemm::Plan& made) {
  return fmt::format("{}, cluster {}, {} x {} tiles, groups of {}, {} blocks, {} waves, {}",
                     name_of(gemm::tile_at(made.tile)), made.cluster, made.rows, made.columns,
                     made.group_rows, made.blocks, made.waves, us(made.us));
}

void print_gemms() {
  const DeviceModel gpu;
  for (const auto& [m, n, k] : kGemms) {
    fmt::print("gemm {} {} {}: {}\n", m, n, k,
               text_of(gemm::plan(m, n, k, gpu, -1, 1, gemm::kOfTwoBytes)));
    fmt::print("gemm sm80 {} {} {}: {}\n", m, n, k,
               describe(sm80::plan(m, n, sm80::DeviceModel{})));
  }
  for (const auto& [m, n, k] : kE4m3Gemms)
    fmt::print("gemm e4m3 {} {} {}: {}\n", m, n, k,
               text_of(gemm::plan(m, n, k / 2, gpu, -1, 1, gemm::kOfE4m3)));
}

void print_gathered(const Shape& s, int members) {
  const ag_gemm::Shape shape{members, s.m / members, s.n, s.k};
  const ag_gemm::Plan made = ag_gemm::plan(shape, {}, -1, 0, false);
  fmt::print("ag_gemm {} PEs {} {} {}: {} blocks push, from {} rows, groups of {}{}, {} or {}\n",
             members, shape.m, s.n, s.k, made.push_blocks, made.overlap_from, made.group_rows,
             made.is_ring ? ", ring" : "", us(ag_gemm::sequential_us(shape, {}, -1)),
             us(ag_gemm::overlapped_us(shape, {}, -1, made.push_blocks)));
}

void print_summed(const Shape& s, int members) {
  const DeviceModel gpu;
  if (s.m % members == 0) {
    const gemm_rs::Shape shape{members, s.m / members, s.n, s.k};
    const gemm_rs::Plan made = gemm_rs::overlapped_plan(shape, gpu);
    fmt::print("gemm_rs {} PEs {} {} {}: {}; margin {}{}, {}, or {}\n", members, s.m, s.n, s.k,
               text_of(made.gemm), made.margin, made.is_round_robin ? ", round robin" : "",
               us(made.us), us(gemm_rs::sequential_us(shape, gpu)));
  }
  for (const bool scatters : {false, true}) {
    const gemm_rs::OneKernelShape shape{members, s.m, s.n, s.k, scatters};
    const gemm_rs::OneKernelPlan made = gemm_rs::one_kernel_plan(shape, gpu);
    fmt::print("{} {} PEs {} {} {}: {}; {}, {}, or {}\n",
               scatters ? "one kernel gemm_rs" : "one kernel gemm_ar", members, s.m, s.n, s.k,
               std::isfinite(made.us) ? text_of(made.gemm) : "no tile", to_string(made.reduction),
               us(made.us), us(gemm_rs::other_strategies_us(shape, gpu)));
  }
}

}  // namespace
}  // namespace weft::kernels

int main() {
  using namespace weft::kernels;
  print_collectives(true);
  print_collectives(false);
  print_gemms();
  for (int members = 2; members <= 8; ++members) {
    for (const Shape& shape : kGathered) print_gathered(shape, members);
    for (const Shape& shape : kSummed) print_summed(shape, members);
  }
}
