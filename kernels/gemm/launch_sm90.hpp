// The kernels of sm_90a by shape and type: one translation unit a shape (tiles/), and what the host
// knows of each.
#pragma once

#include "kernels/gemm/consume_e4m3_sm90.hpp"
#include "kernels/gemm/epilogue_sm90.hpp"
#include "kernels/gemm/plan.hpp"

namespace weft::kernels::sm90 {

// One GEMM: matrices as the copy engine sees them, and C as it is.
struct Call {
  CUtensorMap a, b, c, gathered;  // boxes as Launch says; c: not looked at where k is split
  CUtensorMap last;               // of A: box of last_rows, where they are any
  void* data;
  long long stride;
  int m, n, k;  // m: rows of a segment
  int rows_a;   // of A's box
  int last_rows, last_first;
  int first;                   // segment to begin with
  PrologueWait prologue_wait;  // PrologueWait(): all of A is there
  gemm::Plan plan;
  bool constant_b;  // as GemmOptions has it
  cudaStream_t stream;
  Scales scales;  // of e4m3
};

// Columns that copies store, of n; and for the map of C, which has to have some.
constexpr int copied_columns(int n) { return n / 8 * 8; }

template <int kTile>
struct Launch {
  static constexpr gemm::Tile kShape = gemm::tile_at(kTile);
  template <class T>
  using ShapeOf =
      std::conditional_t<std::is_same_v<T, gemm::E4m3>,
                         E4m3Shape<kShape.m, kShape.n, kShape.stages, kShape.sharing>,
                         Shape<T, kShape.m, kShape.n, kShape.stages, kShape.sharing, kShape.depth>>;

  // Rows of B's box, columns of C's (64 rows).
  static constexpr int kBoxB = kShape.n / kShape.sharing;
  static constexpr int kBoxC = StoreEpilogue<ShapeOf<__half>>::kChunk;

  // Once before the first run(), on each GPU.
  template <class T>
  static cudaError_t prepare();
  // How many clusters of `size` blocks run at a time; after prepare().
  template <class T>
  static cudaError_t clusters(int size, int* count);
  template <class T>
  static cudaError_t run(const Call& call);

  // The parts of the kernel, by whether k is split.
  template <class T>
  struct Parts {
    using S = ShapeOf<T>;
    using Epilogue = std::conditional_t<kShape.splits, ClusterReduceEpilogue<S>, StoreEpilogue<S>>;
    using Scheduler = std::conditional_t<kShape.splits, gemm::SplitKScheduler,
                                         gemm::TileScheduler<S::kHasSegments>>;
    using Arguments = Params<S, Scheduler, Epilogue>;
    static constexpr int kBytes = Layout<S, Epilogue>::kBytes;
    static_assert(kBytes <= 227 * 1024, "more shared memory than a block can have");
    static const void* entry() {
      return reinterpret_cast<const void*>(&gemm_kernel<S, Scheduler, Epilogue>);
    }
  };
};

// A grid of clusters: the attribute has to live as long. Blocks by themselves are clusters of one:
// without the attribute 16 rows of 5120 x 3200 took 20 us instead of 11.5.
inline cudaLaunchConfig_t launch_config(int blocks, int cluster, int shared_bytes,
                                        cudaLaunchAttribute* attribute,
                                        int consumers = kConsumers) {
  *attribute = {};
  attribute->id = cudaLaunchAttributeClusterDimension;
  attribute->val.clusterDim.x = static_cast<unsigned>(cluster);
  attribute->val.clusterDim.y = attribute->val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(static_cast<unsigned>((1 + consumers) * kGroupThreads));
  config.dynamicSmemBytes = static_cast<std::size_t>(shared_bytes);
  config.attrs = attribute;
  config.numAttrs = 1;
  return config;
}

// Before the kernel before it is over; `attributes`: two, those of launch_config().
inline void start_early(cudaLaunchConfig_t* config, cudaLaunchAttribute* attributes) {
  attributes[1] = {};
  attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[1].val.programmaticStreamSerializationAllowed = 1;
  config->numAttrs = 2;
}

template <int kTile>
template <class T>
cudaError_t Launch<kTile>::prepare() {
  return cudaFuncSetAttribute(Parts<T>::entry(), cudaFuncAttributeMaxDynamicSharedMemorySize,
                              Parts<T>::kBytes);
}

template <int kTile>
template <class T>
cudaError_t Launch<kTile>::clusters(int size, int* count) {
  cudaLaunchAttribute attribute;
  const cudaLaunchConfig_t config =
      launch_config(size, size, Parts<T>::kBytes, &attribute, Parts<T>::S::kConsumers);
  return cudaOccupancyMaxActiveClusters(count, Parts<T>::entry(), &config);
}

template <int kTile>
template <class T>
cudaError_t Launch<kTile>::run(const Call& call) {
  using P = Parts<T>;
  const gemm::Plan& plan = call.plan;
  const int k_blocks = gemm::ceil_div(call.k, kKBlock * kShape.depth);
  using Element = typename P::S::Element;
  const Matrix<Element> matrix{static_cast<Element*>(call.data), call.stride, call.m, call.n};
  typename P::Arguments arguments{};
  arguments.a = call.a;
  arguments.b = call.b;
  arguments.rows_a = call.rows_a;
  if constexpr (std::is_same_v<T, gemm::E4m3>) arguments.scales = call.scales;
  if constexpr (P::S::kHasSegments) {
    arguments.gathered = {call.gathered, call.prologue_wait};
  } else {
    arguments.last = {call.last, call.last_first, call.last_rows};
  }
  if constexpr (kShape.splits) {
    arguments.epilogue = matrix;
    arguments.scheduler = {plan.rows, plan.columns, kShape.m, kShape.n, plan.cluster, k_blocks};
  } else {
    arguments.epilogue = {call.c, matrix, copied_columns(call.n)};
    arguments.scheduler = {plan.segments, call.first, plan.rows,      plan.columns, plan.group_rows,
                           kShape.m,      kShape.n,   kShape.sharing, k_blocks};
  }
  cudaLaunchAttribute attributes[2];
  cudaLaunchConfig_t config =
      launch_config(plan.blocks, plan.cluster, P::kBytes, attributes, P::S::kConsumers);
  if (kMayStartEarly<typename P::S, typename P::Epilogue> && plan.starts_early) {
    arguments.loads_b_early = call.constant_b;
    start_early(&config, attributes);
  }
  config.stream = call.stream;
  void* pointers[] = {&arguments};
  return cudaLaunchKernelExC(&config, P::entry(), pointers);
}

// A file of tiles/ has this once. All others that use Launch must not instantiate these:
// WEFT_GEMM_LAUNCH(extern, ...).
#define WEFT_GEMM_LAUNCH(prefix, tile, T)                                                  \
  prefix template cudaError_t weft::kernels::sm90::Launch<(tile)>::prepare<T>();           \
  prefix template cudaError_t weft::kernels::sm90::Launch<(tile)>::clusters<T>(int, int*); \
  prefix template cudaError_t weft::kernels::sm90::Launch<(tile)>::run<T>(                 \
      const weft::kernels::sm90::Call&);
#define WEFT_GEMM_TILE(m, n, splits)                                            \
  WEFT_GEMM_LAUNCH(, weft::kernels::gemm::tile_of(m, n, splits), __nv_bfloat16) \
  WEFT_GEMM_LAUNCH(, weft::kernels::gemm::tile_of(m, n, splits), __half)
#define WEFT_GEMM_E4M3_TILE(m, n, splits)                                                      \
  WEFT_GEMM_LAUNCH(, weft::kernels::gemm::tile_of(m, n, splits, weft::kernels::gemm::kOfE4m3), \
                   weft::kernels::gemm::E4m3)

}  // namespace weft::kernels::sm90
