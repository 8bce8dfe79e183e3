#include "kernels/fused/gemm_reduce_scatter/scatter_kernels_sm90.hpp"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "kernels/fused/gemm_reduce_scatter/scatter_epilogue_sm90.hpp"
#include "kernels/gemm/launch_sm90.hpp"

namespace weft::kernels::sm90 {
namespace {

template <class T, int kTile>
struct Scatter {
  using Launch = sm90::Launch<kTile>;
  // As Launch has it, but for the stages, of which there are what is left beside a whole tile and
  // rings of at least kLeastSlots; these are as long as there is room then, at most for a part.
  static constexpr gemm::Tile kShape = Launch::kShape;
  static constexpr int kTileBytes = 2 * kShape.m * kShape.n, kLeastSlots = 4;
  static constexpr int kPieces = kTileBytes / kConsumers / kPieceBytes;  // of a part
  static constexpr int kStageBytes = (kShape.m + kShape.n) * kRowBytes + 2 * 8;
  static constexpr int kMostBytes = 227 * 1024;
  // When there is work for tensor cores. With less power there are fewer; then a tile takes longer.
  static constexpr double kClocksOfUs = 1700;
  static constexpr int slots(int stages) {
    int slots = 1;
    while (slots < kPieces &&
           scatter_bytes(kTileBytes, slots + 1) + stages * kStageBytes <= kMostBytes)
      ++slots;
    return slots;
  }
  static constexpr int stages() {
    int stages = kShape.stages;
    const int least = std::min(kLeastSlots, kPieces);
    while (scatter_bytes(kTileBytes, least) + stages * kStageBytes > kMostBytes) --stages;
    return stages;
  }
  static constexpr int kStages = stages();
  using S = Shape<T, kShape.m, kShape.n, kStages, kShape.sharing>;
  using Epilogue = ScatterEpilogue<S, slots(kStages)>;
  using Arguments = Params<S, gemm_rs::ScatterScheduler, Epilogue>;
  static constexpr int kBytes = Layout<S, Epilogue>::kBytes;
  static_assert(kBytes <= kMostBytes, "more shared memory than a block can have");

  static const void* entry() {
    return reinterpret_cast<const void*>(&gemm_kernel<S, gemm_rs::ScatterScheduler, Epilogue>);
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
    const gemm::Plan& plan = call.plan.gemm;
    Arguments arguments{};
    arguments.a = call.a;
    arguments.b = call.b;
    arguments.rows_a = call.rows_a;
    arguments.scheduler = gemm_rs::scheduler_of(call.plan, call.k, call.members.team.rank);
    const auto pace = static_cast<int>(call.plan.send_us * kClocksOfUs / kPieces);
    arguments.epilogue = {call.c, call.members, plan.columns, pace};
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
    return {&S::prepare,
            &S::pairs,
            &S::run,
            S::Launch::kBoxB,
            StoreEpilogue<typename S::S>::kChunk,
            S::Epilogue::kTileBytes};
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
