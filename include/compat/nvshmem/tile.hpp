// NVSHMEM's tile routines for kernels: nvshmemx.h has them under nvcc. On the CPU target they lie
// in weft::nvshmem::kernels::nvshmemx, as the other names do (device.hpp).
#pragma once

#include <cstdint>

#include "device.hpp"
#include "tensor.hpp"

#if WEFT_NVSHMEM_BODIES

#include "device/tile.hpp"

namespace weft::nvshmem {
inline namespace WEFT_TARGET {

struct ThreadTileCalls : Tiles<dev::Thread> {};
struct WarpTileCalls : Tiles<dev::Warp> {};
struct WarpgroupTileCalls : Tiles<Warpgroup> {};
struct BlockTileCalls : Tiles<dev::Block> {};

}  // namespace WEFT_TARGET
}  // namespace weft::nvshmem

#define WEFT_NVSHMEM_TILE_KIND WEFT_DEVICE
#define WEFT_NVSHMEM_CALLS(Scope) weft::nvshmem::Scope##TileCalls
#define WEFT_NVSHMEM_TILE_BODY(Scope, args, ...) \
  { return WEFT_NVSHMEM_CALLS(Scope)::__VA_ARGS__ args; }

#else  // the host's reading

#define WEFT_NVSHMEM_TILE_KIND __device__
#define WEFT_NVSHMEM_TILE_BODY(Scope, args, ...) ;

#endif

#define WEFT_NVSHMEM_TILE(algorithm, name, params, args, ...)                             \
  template <class src_tensor_t, class dst_tensor_t, class tuple_t, algorithm algo>        \
  WEFT_NVSHMEM_TILE_KIND int name params WEFT_NVSHMEM_TILE_BODY(WEFT_NVSHMEM_SCOPE, args, \
                                                                __VA_ARGS__)
#define WEFT_NVSHMEM_TILE_WAIT(name, params, args, body) \
  template <tile_coll_algo_t algo>                       \
  WEFT_NVSHMEM_TILE_KIND int name params WEFT_NVSHMEM_TILE_BODY(WEFT_NVSHMEM_SCOPE, args, body)

#if WEFT_TARGET_CPU
namespace weft::nvshmem::kernels {
#endif
namespace nvshmemx {

#define WEFT_NVSHMEM_SCOPE Thread
#define WEFT_NVSHMEM_SUFFIX(stem) stem
#include "device/tile.def.h"
#define WEFT_NVSHMEM_SCOPE Warp
#define WEFT_NVSHMEM_SUFFIX(stem) stem##_warp
#include "device/tile.def.h"
#define WEFT_NVSHMEM_SCOPE Warpgroup
#define WEFT_NVSHMEM_SUFFIX(stem) stem##_warpgroup
#include "device/tile.def.h"
#define WEFT_NVSHMEM_SCOPE Block
#define WEFT_NVSHMEM_SUFFIX(stem) stem##_block
#include "device/tile.def.h"

}  // namespace nvshmemx
#if WEFT_TARGET_CPU
}  // namespace weft::nvshmem::kernels
#endif

#undef WEFT_NVSHMEM_TILE
#undef WEFT_NVSHMEM_TILE_WAIT
#undef WEFT_NVSHMEM_TILE_BODY
#undef WEFT_NVSHMEM_TILE_KIND
#undef WEFT_NVSHMEM_CALLS
