#include "kernels/gemm_rs/scatter_kernels_sm90.hpp"

#include <array>
#include <type_traits>
#include <utility>

#include "kernels/gemm/launch_sm90.hpp"
#include "kernels/gemm_rs/scatter_sink_sm90.hpp"

namespace weft::kernels::sm90 {
namespace {

template <class T, int kTile>
struct Scatter {
  using Launch = sm90::Launch<kTile>;
  // As Launch has it, but for the stages, of which there are what is left beside a whole tile.
  static constexpr gemm::Tile kShape = Launch::kShape;
  static constexpr int kRoom = 227 * 1024 - 2 * kShape.m * kShape.n - 512;
  static constexpr int kStages = kRoom / ((kShape.m + kShape.n) * kRowBytes);
  using S = Shape < T, kShape.m, kShape.n,
        kStages<kShape.stages ? kStages : kShape.stages, kShape.sharing>;
  using Sink = ScatterSink<S>;
  using Arguments = Params<S, gemm_rs::ScatterOrder, Sink>;
  static constexpr int kBytes = Layout<S, Sink>::kBytes;
  static_assert(kBytes <= 227 * 1024, "more shared memory than a block can have");

  static const void* entry() {
    return reinterpret_cast<const void*>(&gemm_kernel<S, gemm_rs::ScatterOrder, Sink>);
  }
  static cudaError_t prepare() {
    return cudaFuncSetAttribute(entry(), cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  }
  static cudaError_t pairs(int* count) {
    cudaLaunchAttribute attribute;
    const cudaLaunchConfig_t config = launch_config(2, 2, kBytes, &attribute);
    return cudaOccupancyMaxActiveClusters(count, entry(), &config);
  }
  static cudaError_t run(const ScatterCall& call) {
    const gemm::Plan& plan = call.plan.product;
    Arguments arguments{};
    arguments.a = call.a;
    arguments.b = call.b;
    arguments.rows_a = call.rows_a;
    arguments.order = gemm_rs::order_of(call.plan, call.k, call.members.team.rank);
    arguments.sink = {call.c, call.members, plan.columns};
    cudaLaunchAttribute attribute;
    cudaLaunchConfig_t config = launch_config(plan.blocks, plan.cluster, kBytes, &attribute);
    config.stream = call.stream;
    void* pointers[] = {&arguments};
    return cudaLaunchKernelExC(&config, entry(), pointers);
  }
};

template <class T, int kTile>
ScatterKernel kernel_of() {
  if constexpr (gemm_rs::scatters(gemm::kTiles[kTile])) {
    using S = Scatter<T, kTile>;
    return {
        &S::prepare,        &S::pairs, &S::run, S::Launch::kBoxB, StoreSink<typename S::S>::kChunk,
        S::Sink::kTileBytes};
  } else {
    return {};
  }
}

template <class T, int... kTile>
std::array<ScatterKernel, sizeof...(kTile)> kernels_of(std::integer_sequence<int, kTile...>) {
  return {{kernel_of<T, kTile>()...}};
}

}  // namespace

const ScatterKernel& scatter_kernel(DType dtype, int tile) {
  using Tiles = std::make_integer_sequence<int, static_cast<int>(gemm::kTiles.size())>;
  static const auto bfloat16 = kernels_of<__nv_bfloat16>(Tiles());
  static const auto float16 = kernels_of<__half>(Tiles());
  return (dtype == DType::kBfloat16 ? bfloat16 : float16)[static_cast<std::size_t>(tile)];
}

}  // namespace weft::kernels::sm90
