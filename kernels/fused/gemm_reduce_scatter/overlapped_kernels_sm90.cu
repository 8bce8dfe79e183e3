#include "kernels/fused/gemm_reduce_scatter/overlapped_kernels_sm90.hpp"

#include <algorithm>

#include "kernels/fused/gemm_reduce_scatter/overlapped_epilogue_sm90.hpp"
#include "kernels/gemm/launch_sm90.hpp"

namespace weft::kernels::sm90 {
namespace {

template <class T, int kTile>
struct ScatterLaunch {
  // As Gemm has it, but for the stages, of which there are what is left beside a whole tile and
  // rings of at least kLeastSlots; these are as long as there is room then, at most for a part.
  static constexpr gemm::Tile kShape = gemm::tile_at(kTile);
  static constexpr int kTileBytes = 2 * kShape.m * kShape.n, kLeastSlots = 4;
  static constexpr int kPieces = kTileBytes / kConsumers / kPieceBytes;  // of a part
  static constexpr int kStageBytes = (kShape.m + kShape.n) * kRowBytes + 2 * 8;
  // When there is work for tensor cores. With less power there are fewer; then a tile takes longer.
  static constexpr double kClocksOfUs = 1700;
  static constexpr int slots(int stages) {
    int slots = 1;
    while (slots < kPieces &&
           scatter_bytes(kTileBytes, slots + 1) + stages * kStageBytes <= kMostSharedBytes)
      ++slots;
    return slots;
  }
  static constexpr int stages() {
    int stages = kShape.stages;
    const int least = std::min(kLeastSlots, kPieces);
    while (scatter_bytes(kTileBytes, least) + stages * kStageBytes > kMostSharedBytes) --stages;
    return stages;
  }
  static constexpr int kStages = stages();
  using S = Shape<T, kShape.m, kShape.n, kStages, kShape.sharing>;
  using L = Launcher<S, gemm_rs::ScatterScheduler, ScatterEpilogue<S, slots(kStages)>>;

  static cudaError_t run(const ScatterCall& call) {
    const gemm::Plan& plan = call.plan.gemm;
    typename L::Arguments arguments = L::arguments_of(call.operands);
    arguments.scheduler = gemm_rs::scheduler_of(call.plan, call.k, call.members.team.rank);
    const auto pace = static_cast<int>(call.plan.send_us * kClocksOfUs / kPieces);
    arguments.epilogue = {call.c, call.members, plan.columns, pace};
    return L::launch(arguments, plan, call.stream);
  }
};

template <class T, int kTile>
struct ScatterOf {
  static constexpr bool kExists =
      kTile < gemm::kFirstFewRows && gemm_rs::scatters(gemm::tile_at(kTile));
  static KernelEntry<ScatterCall> entry() {
    using Kernel = ScatterLaunch<T, kTile>;
    using S = typename Kernel::S;
    return {&Kernel::L::prepare,
            &Kernel::L::clusters,
            &Kernel::run,
            S::kBoxB,
            StoreEpilogue<S>::kChunk,
            Kernel::L::Epilogue::kTileBytes};
  }
};

}  // namespace

const KernelEntry<ScatterCall>& scatter_entry(DType dtype, int tile) {
  return KernelTable<ScatterCall, ScatterOf>::of(dtype)[static_cast<std::size_t>(tile)];
}

}  // namespace weft::kernels::sm90
