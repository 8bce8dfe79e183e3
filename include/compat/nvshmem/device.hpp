// NVSHMEM's names for kernels, stamped from the tables: thin calls of weft/device.hpp. Hosts have
// those of both sides from the library (host.h). On the CPU target (kernels on host threads) all
// lie in weft::nvshmem::kernels, since nothing there tells whose kernel a thread runs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../shmem/when.h"
#include "half.hpp"
#include "module_state.hpp"
#include "types.h"

#if WEFT_NVSHMEM_BODIES

#include "device/amo.hpp"
#include "device/collective.hpp"
#include "device/job.hpp"
#include "device/maxloc.hpp"
#include "device/rma.hpp"
#include "device/wait.hpp"
#include "device/warpgroup.hpp"

namespace weft::nvshmem {
inline namespace WEFT_TARGET {

// The calls of each scope: the bodies in the tables are members of these structs.
struct ThreadCalls : Job, Rma<dev::Thread>, Atomics, Waits, Collectives<dev::Thread> {};
struct WarpCalls : Rma<dev::Warp>, Collectives<dev::Warp> {};
struct WarpgroupCalls : Collectives<Warpgroup> {};
struct BlockCalls : Rma<dev::Block>, Collectives<dev::Block>, MaxLocs {};

}  // namespace WEFT_TARGET
}  // namespace weft::nvshmem

#define WEFT_BITS(B, memory) weft::nvshmem::as_bits<B>(memory)

// Names without a type are functions, whose address a program may take. Names of the families are
// templates without need for arguments: a name that is not called is not compiled.
#define WEFT_NVSHMEM_FUNCTION(R, name, params, body, args) \
  WEFT_HOST_DEVICE R name params { return weft::nvshmem::ThreadCalls::body args; }
#define WEFT_NVSHMEM_TEMPLATE(R, name, params, body, args) \
  template <class = void>                                  \
  WEFT_NVSHMEM_FUNCTION(R, name, params, body, args)
#define WEFT_NVSHMEM_KERNEL(R, name, Scope, params, body, args) \
  template <class = void>                                       \
  WEFT_DEVICE R name params {                                   \
    return weft::nvshmem::Scope##Calls::body args;              \
  }

#else  // the host's reading

// Declared by host.h.
#define WEFT_NVSHMEM_FUNCTION(R, name, params, body, args)
#define WEFT_NVSHMEM_TEMPLATE(R, name, params, body, args)
#define WEFT_NVSHMEM_KERNEL(R, name, Scope, params, body, args) __device__ R name params;

#endif

#define WEFT_NVSHMEM_GROUPS(R, stem, params, body, args)                   \
  WEFT_NVSHMEM_KERNEL(R, nvshmemx_##stem##_warp, Warp, params, body, args) \
  WEFT_NVSHMEM_KERNEL(R, nvshmemx_##stem##_block, Block, params, body, args)

#if WEFT_TARGET_CPU
namespace weft::nvshmem::kernels {
#endif

#define WEFT_NVSHMEM_BOTH WEFT_NVSHMEM_FUNCTION
#define WEFT_NVSHMEM_SCOPED(R, stem, params, body, args)       \
  WEFT_NVSHMEM_FUNCTION(R, nvshmem_##stem, params, body, args) \
  WEFT_NVSHMEM_GROUPS(R, stem, params, body, args)
#define WEFT_NVSHMEM_GROUP "untyped.def.h"
#include "host/routines.def.h"

#define WEFT_NVSHMEM_BOTH WEFT_NVSHMEM_TEMPLATE
#define WEFT_NVSHMEM_SCOPED(R, stem, params, body, args)       \
  WEFT_NVSHMEM_TEMPLATE(R, nvshmem_##stem, params, body, args) \
  WEFT_NVSHMEM_GROUPS(R, stem, params, body, args)
#define WEFT_NVSHMEM_GROUP "typed.def.h"
#include "host/routines.def.h"

#define WEFT_NVSHMEM_SCOPED(R, stem, params, body, args)             \
  WEFT_NVSHMEM_KERNEL(R, nvshmem_##stem, Thread, params, body, args) \
  WEFT_NVSHMEM_GROUPS(R, stem, params, body, args)
#include "device/kernel.def.h"

#if WEFT_TARGET_CPU
}
#endif

#undef WEFT_BITS
#undef WEFT_NVSHMEM_FUNCTION
#undef WEFT_NVSHMEM_TEMPLATE
#undef WEFT_NVSHMEM_KERNEL
#undef WEFT_NVSHMEM_GROUPS
