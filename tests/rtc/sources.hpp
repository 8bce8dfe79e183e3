// Kernels as a program would hold them: text.
#pragma once

namespace weft {

// The kernel that docs/guide/run-time-compilation.md shows.
inline constexpr char kPass[] = R"(
#include <weft/device.hpp>

extern "C" __global__ void pass(weft::DeviceContext handle, std::uint64_t* data,
                                std::uint64_t* signal, std::uint64_t count) {
  weft::dev::Context ctx(handle);
  const weft::dev::Block block;
  const int next = (ctx.pe() + 1) % ctx.npes();
  ctx.put(block, data + count, data, count, next, weft::set(signal, 1));
  ctx.wait_until(block, signal, weft::Cmp::kEq, std::uint64_t{1});
}
)";

// The three scopes: SCOPE is defined by an option.
inline constexpr char kMoves[] = R"(
#include <weft/device.hpp>

using Scope = weft::dev::SCOPE;

extern "C" __global__ void moves(weft::DeviceContext handle, double* data, std::uint64_t* words,
                                 std::size_t count, int pe) {
  const weft::dev::Context ctx(handle);
  const Scope scope;
  ctx.put(scope, data, data + count, count, pe, weft::add(words, 1));
  ctx.put_nbi(scope, data, data + count, count, pe);
  ctx.iget(scope, data + 3 * count, data, 1, 2, count, pe);
  ctx.fence(scope);
  ctx.quiet(scope);
  ctx.wait_until(scope, words, weft::Cmp::kGe, std::uint64_t{2});
  ctx.wait_until_any(scope, words, 4, nullptr, weft::Cmp::kNe, std::uint64_t{0});
}
)";

inline constexpr char kWords[] = R"(
#include <weft/device.hpp>

extern "C" __global__ void words(weft::DeviceContext handle, int* narrow, std::uint64_t* wide,
                                 double* real, std::int8_t* byte, int pe) {
  const weft::dev::Context ctx(handle);
  narrow[1] = ctx.atomic_fetch_add(narrow, 1, pe) + ctx.atomic_compare_swap(narrow, 2, 3, pe);
  ctx.atomic_or(wide, std::uint64_t{8}, pe);
  wide[1] = ctx.atomic_swap(wide, std::uint64_t{5}, pe) + ctx.signal_fetch(wide);
  ctx.atomic_set(real, 0.5, pe);
  real[1] = ctx.g(real, pe);
  ctx.p(byte, std::int8_t{1}, pe);
  ctx.signal(weft::set(wide, 2), pe);
  if (ctx.test(byte, weft::Cmp::kLt, std::int8_t{0})) *weft::dev::shared<int>() = 1;
}
)";

inline constexpr char kCollectives[] = R"(
#include <weft/device.hpp>

extern "C" __global__ void collectives(weft::DeviceContext handle, weft::Team team, float* data,
                                       std::size_t count) {
  const weft::dev::Context ctx(handle);
  const weft::dev::Block block;
  weft::dev::reduce<weft::ReduceOp::kMax>(ctx, block, team, data, data + count, count);
  weft::dev::barrier(ctx, block, team);
}
)";

}  // namespace weft
